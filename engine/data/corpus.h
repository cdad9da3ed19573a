/*
 * corpus.h - pages of text: exercises/data/text/corpus.gz, made by make_corpus beside it, or a file of the
 * same form.
 *
 * ASCII text, gzipped or not: each page begins with a form feed and its name on a line of its own,
 * "\fopen.2", whose digit after the last dot is its section. The split is by whole pages, so that no
 * sentence is in both parts, and by kind (sections 2 and 3, the others): of each kind, in the order of the
 * FNV-1a hashes of their names, those pages are for testing that still fit into a tenth of the kind's
 * bytes. Errors are ERROR_INPUT and name the file and the page.
 */
#ifndef RINGSIDE_DATA_CORPUS_H
#define RINGSIDE_DATA_CORPUS_H

#include "engine/data/dataset.h"

struct corpus_page {
    const char *name; /* ends with a 0 */
    const char *text; /* does not */
    size_t bytes;
    bool calls; /* of section 2 or 3 */
    uint64_t hash;
    enum dataset_part part;
};

struct corpus {
    char *text; /* owned: the file */
    struct corpus_page *pages;
    int page_count;
};

/* Fails too where either part would have no page. Nothing to free then. */
bool corpus_read(const char *path, struct corpus *c, struct error *e);
void corpus_free(struct corpus *c);

#endif
