/*
 * slide_text.h - a lesson's sentences made short enough for a slide, as Markdown again.
 *
 * The functions that shorten do so in libcmark's tree: whoever needs the text in full takes it from the source before
 * or after, by its lines.
 */
#ifndef RINGSIDE_TUI_SLIDE_TEXT_H
#define RINGSIDE_TUI_SLIDE_TEXT_H

#include <cmark.h>
#include <stdbool.h>
#include <stddef.h>

/* Grows; begins as {0}. The one who made it frees the text. */
struct slide_text {
    char *text;
    size_t length;
    bool failed; /* out of memory; what was added before is whole */
};

/* The first sentence of a paragraph (two where the first is only a bold lead), as a paragraph or an item of a list. */
void slide_text_sentence(struct slide_text *out, cmark_node *paragraph, bool item);
/* Each item's first clause; one with a forced line break (a question and its answers) stays as it is. */
void slide_text_list(struct slide_text *out, cmark_node *list);
/* A block as it is. */
void slide_text_whole(struct slide_text *out, cmark_node *block);
/* The lines of the source that a block was read from. */
void slide_text_source(struct slide_text *out, const char *source, cmark_node *block);
/* What an instructor wants of a live block (block_text.h): its question, the right choice in bold, what explains it. */
void slide_text_block(struct slide_text *out, const char *text);
/* A node's words without marks; free() it. NULL: out of memory. */
char *slide_text_plain(cmark_node *node);

/* Where a line of the source begins, counted from 1. */
const char *slide_line(const char *source, int line);

#endif
