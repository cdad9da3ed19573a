#include "engine/data/corpus.h"

#include "engine/data/gz.h"
#include "engine/data/hash.h"

#include <stdlib.h>
#include <string.h>

#define CORPUS_MAX_BYTES ((size_t)256 << 20)
enum { TEST_SHARE = 10, NAME_MAX_LENGTH = 100 };

/* at: just behind the form feed. Ends the name with a 0; the page's text comes back, or NULL. */
static char *read_name(char *at, const char *end, const char *path, struct corpus_page *p, struct error *e)
{
    char *line_end = memchr(at, '\n', (size_t)(end - at));
    size_t length = line_end ? (size_t)(line_end - at) : 0;
    if (!line_end || length == 0 || length > NAME_MAX_LENGTH) {
        error_set(e, ERROR_INPUT, "%s: a form feed is not followed by a page's name on a line", path);
        return NULL;
    }
    *line_end = 0;
    p->name = at;
    const char *dot = strrchr(at, '.');
    if (!dot || dot[1] < '0' || dot[1] > '9') {
        error_set(e, ERROR_INPUT,
                  "%s: page \"%s\" does not end with a dot and its section's digit, as \"open.2\" does", path,
                  at);
        return NULL;
    }
    p->calls = dot[1] == '2' || dot[1] == '3';
    p->hash = hash_text(p->name);
    return line_end + 1;
}

static bool check_text(const struct corpus_page *p, const char *path, struct error *e)
{
    for (size_t i = 0; i < p->bytes; i++) {
        unsigned char c = (unsigned char)p->text[i];
        if (c != '\n' && c != '\t' && (c < ' ' || c > '~'))
            return error_set(e, ERROR_INPUT, "%s: page \"%s\" has the byte 0x%02x, expected plain ASCII text",
                             path, p->name, c);
    }
    return true;
}

static bool split(struct corpus *c, size_t bytes, const char *path, struct error *e)
{
    char *end = c->text + bytes;
    int room = 0;
    if (bytes == 0 || c->text[0] != '\f')
        return error_set(e, ERROR_INPUT,
                         "%s is no corpus: expected a form feed and the first page's name, \"\\fopen.2\"",
                         path);
    for (char *at = c->text; at < end;) {
        if (c->page_count == room) {
            room = room ? 2 * room : 512;
            struct corpus_page *grown = realloc(c->pages, (size_t)room * sizeof *grown);
            if (!grown)
                return error_set(e, ERROR_FAILED, "%s: not enough memory for its pages", path);
            c->pages = grown;
        }
        struct corpus_page *p = &c->pages[c->page_count++];
        memset(p, 0, sizeof *p); /* for training */
        char *text = read_name(at + 1, end, path, p, e);
        if (!text)
            return false;
        char *next = memchr(text, '\f', (size_t)(end - text));
        at = next ? next : end;
        p->text = text;
        p->bytes = (size_t)(at - text);
        if (!check_text(p, path, e))
            return false;
    }
    return true;
}

static int by_hash(const void *a, const void *b)
{
    const struct corpus_page *x = *(struct corpus_page *const *)a, *y = *(struct corpus_page *const *)b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool part(struct corpus *c, const char *path, struct error *e)
{
    struct corpus_page **order = malloc((size_t)c->page_count * sizeof *order);
    if (!order)
        return error_set(e, ERROR_FAILED, "%s: not enough memory for its pages", path);
    size_t room[2] = {0};
    int tests = 0;
    for (int i = 0; i < c->page_count; i++) {
        order[i] = &c->pages[i];
        room[order[i]->calls] += order[i]->bytes;
    }
    for (int kind = 0; kind < 2; kind++)
        room[kind] /= TEST_SHARE;
    qsort(order, (size_t)c->page_count, sizeof *order, by_hash);
    for (int i = 0; i < c->page_count; i++) {
        size_t *left = &room[order[i]->calls];
        if (order[i]->bytes > *left)
            continue;
        *left -= order[i]->bytes;
        order[i]->part = DATASET_TEST;
        tests++;
    }
    free(order);
    return tests > 0 ||
           error_set(e, ERROR_INPUT,
                     "%s: of its %d pages none fits into the tenth that is for testing; it needs "
                     "more, or shorter, pages",
                     path, c->page_count);
}

bool corpus_read(const char *path, struct corpus *c, struct error *e)
{
    memset(c, 0, sizeof *c);
    uint8_t *data;
    size_t bytes;
    if (!gz_read(path, CORPUS_MAX_BYTES, &data, &bytes, e))
        return false;
    c->text = (char *)data;
    if (split(c, bytes, path, e) && part(c, path, e))
        return true;
    corpus_free(c);
    return false;
}

void corpus_free(struct corpus *c)
{
    free(c->text);
    free(c->pages);
    memset(c, 0, sizeof *c);
}
