#include "engine/data/corpus.h"

#include "engine/data/gz.h"

#include <stdlib.h>
#include <string.h>

#define CORPUS_MAX_BYTES ((size_t)256 << 20)
enum { TEST_SHARE = 10, NAME_MAX_LENGTH = 100 };

/* FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo, The FNV non-cryptographic hash algorithm, RFC 9923). */
static uint64_t hash_name(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return h;
}

/* at: just behind the form feed. Ends the name with a 0; *text is what comes behind it. */
static bool read_name(char *at, const char *end, const char *path, struct corpus_page *p, char **text,
                      struct error *e)
{
    char *line_end = memchr(at, '\n', (size_t)(end - at));
    size_t length = line_end ? (size_t)(line_end - at) : 0;
    if (length == 0 || length > NAME_MAX_LENGTH)
        return error_set(e, ERROR_INPUT, "%s: a form feed is not followed by a page's name on a line", path);
    *line_end = 0;
    p->name = at;
    const char *dot = strrchr(at, '.');
    if (!dot || dot[1] < '0' || dot[1] > '9')
        return error_set(e, ERROR_INPUT,
                         "%s: page \"%s\" does not end with a dot and its section's digit, as \"open.2\" does",
                         path, at);
    p->section = dot[1] - '0';
    p->part = hash_name(p->name) % TEST_SHARE == 0 ? DATASET_TEST : DATASET_TRAIN;
    *text = line_end + 1;
    return true;
}

static bool check_text(const struct corpus_page *p, const char *path, struct error *e)
{
    for (size_t i = 0; i < p->bytes; i++) {
        unsigned char c = (unsigned char)p->text[i];
        if (c != '\n' && c != '\t' && (c < ' ' || c > '~'))
            return error_set(e, ERROR_INPUT,
                             "%s: page \"%s\" has the byte 0x%02x, expected plain ASCII text", path, p->name,
                             c);
    }
    return true;
}

static bool split(struct corpus *c, size_t bytes, const char *path, struct error *e)
{
    char *end = c->text + bytes;
    int room = 0, of_part[2] = {0};
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
        char *text, *next;
        if (!read_name(at + 1, end, path, p, &text, e))
            return false;
        next = memchr(text, '\f', (size_t)(end - text));
        at = next ? next : end;
        p->text = text;
        p->bytes = (size_t)(at - text);
        if (!check_text(p, path, e))
            return false;
        of_part[p->part]++;
    }
    if (!of_part[DATASET_TRAIN] || !of_part[DATASET_TEST])
        return error_set(e, ERROR_INPUT,
                         "%s: %d pages are for training and %d for testing (a page in ten, by its name's "
                         "hash); each needs at least one: more pages are needed",
                         path, of_part[DATASET_TRAIN], of_part[DATASET_TEST]);
    return true;
}

bool corpus_read(const char *path, struct corpus *c, struct error *e)
{
    memset(c, 0, sizeof *c);
    uint8_t *data;
    size_t bytes;
    if (!gz_read(path, CORPUS_MAX_BYTES, &data, &bytes, e))
        return false;
    c->text = (char *)data;
    if (split(c, bytes, path, e))
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
