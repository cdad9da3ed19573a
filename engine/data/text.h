/*
 * text.h - three tasks on a corpus of pages (corpus.h), each a dataset of int32 tokens.
 *
 *     text-classes   which kind of page are these 100 words from: sections 2 and 3 (calls, class 1) or the others
 *                    (class 0)? A sample begins every 25 words of a page; a page of 20 to 99 words is one,
 *                    padded in front.
 *     text-words     which word follows these 50? A sample begins every 3 words of a page; those whose next word has no
 *                    number are left out.
 *     text-chars     which character follows, at each of 64 steps? A sample begins every 64 characters of a page.
 *
 * Words have 10 000 numbers, found in the training pages; characters have 65 (vocabulary.h). "text-
 * words:FILE" takes another corpus than the embedded one.
 */
#ifndef RINGSIDE_DATA_TEXT_H
#define RINGSIDE_DATA_TEXT_H

#include "engine/data/dataset.h"

enum {
    TEXT_VOCABULARY = 10000,
    TEXT_CLASSES_LENGTH = 100,
    TEXT_WORDS_LENGTH = 50,
    TEXT_CHARS_LENGTH = 64,
};

bool text_known(const char *name); /* "text-words" and so on, alone or with ":FILE" */
bool text_read(const char *name, enum dataset_part part, struct dataset *d, struct error *e);

#endif
