/*
 * catalogue.c - reads and searches a catalogue.
 */
#include "tui/catalogue.h"

#include "engine/base/files.h"

#include "tui/canvas.h"
#include "tui/plural.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 28, SIZE_MOST = 16 << 20, FORMS_MOST = 8 };
static const uint32_t magic = 0x950412de;

struct pair {
    const char *original, *translation; /* each form ends in '\0'; the last one's is the text's end */
    size_t length;                      /* of the translation, with all its forms */
};

struct catalogue {
    char *bytes, *ascii;
    struct pair *pairs;
    uint32_t count;
    const char *rule; /* of the plural; NULL: as in English */
    int forms;
};

static uint32_t word_at(const char *bytes, size_t at, bool swapped)
{
    uint32_t value;
    memcpy(&value, bytes + at, sizeof value);
    return swapped ? __builtin_bswap32(value) : value;
}

/* The text that a table's entry describes; NULL: it is not within the file, or does not end. */
static const char *text_at(const char *bytes, size_t size, size_t table, uint32_t index, bool swapped,
                           size_t *length)
{
    size_t entry = table + (size_t)index * 8;
    if (table > size || entry + 8 > size)
        return NULL;
    size_t start = word_at(bytes, entry + 4, swapped);
    *length = word_at(bytes, entry, swapped);
    if (start >= size || *length >= size - start || bytes[start + *length])
        return NULL;
    return bytes + start;
}

/* A text as near ASCII, its forms parted as before. Returns the new length; `out` has room for twice the old one. */
static size_t to_ascii(const char *text, size_t length, char *out)
{
    static const struct {
        uint32_t glyph;
        char text[3];
    } two[] = {{0xe4, "ae"}, {0xf6, "oe"}, {0xfc, "ue"}, {0xc4, "Ae"},
               {0xd6, "Oe"}, {0xdc, "Ue"}, {0xdf, "ss"}};
    size_t used = 0;
    for (const char *end = text + length; text < end;) {
        uint32_t glyph = *text ? utf8_next(&text) : 0;
        if (!glyph) {
            out[used++] = *text++;
            continue;
        }
        size_t i = 0;
        while (i < sizeof two / sizeof *two && two[i].glyph != glyph)
            i++;
        if (i < sizeof two / sizeof *two) {
            out[used++] = two[i].text[0];
            out[used++] = two[i].text[1];
        } else {
            out[used++] = (char)glyph_ascii(glyph);
        }
    }
    out[used] = '\0';
    return used;
}

static bool make_ascii(struct catalogue *c)
{
    size_t room = 0, used = 0;
    for (uint32_t i = 0; i < c->count; i++)
        room += 2 * c->pairs[i].length + 1;
    if (!(c->ascii = malloc(room + 1)))
        return false;
    for (uint32_t i = 0; i < c->count; i++) {
        struct pair *p = &c->pairs[i];
        char *out = c->ascii + used;
        p->length = to_ascii(p->translation, p->length, out);
        p->translation = out;
        used += p->length + 1;
    }
    return true;
}

struct catalogue *catalogue_parse(const char *bytes, size_t size, bool ascii, struct error *e)
{
    struct catalogue *c = calloc(1, sizeof *c);
    uint32_t first = size >= HEADER_BYTES ? word_at(bytes, 0, false) : 0;
    bool swapped = first == __builtin_bswap32(magic), ok = c && (swapped || first == magic);
    if (ok) {
        c->count = word_at(bytes, 8, swapped);
        ok = c->count <= size / 16;
    }
    if (ok && (!(c->bytes = malloc(size)) || !(c->pairs = calloc(c->count + 1, sizeof *c->pairs))))
        ok = false;
    if (ok)
        memcpy(c->bytes, bytes, size);
    for (uint32_t i = 0; ok && i < c->count; i++) {
        struct pair *p = &c->pairs[i];
        size_t length;
        p->original = text_at(c->bytes, size, word_at(bytes, 12, swapped), i, swapped, &length);
        p->translation = text_at(c->bytes, size, word_at(bytes, 16, swapped), i, swapped, &p->length);
        ok = p->original && p->translation;
    }
    if (!ok || (ascii && !make_ascii(c))) {
        catalogue_free(c);
        error_set(e, ERROR_INPUT, "this is no whole catalogue of translations, as msgfmt makes them");
        return NULL;
    }
    const char *header = catalogue_find(c, "");
    unsigned long value;
    c->rule = header ? plural_rule(header, &c->forms) : NULL;
    if (c->rule && (c->forms < 1 || c->forms > FORMS_MOST || !plural_value(c->rule, 1, &value)))
        c->rule = NULL;
    return c;
}

struct catalogue *catalogue_open(const char *file, bool ascii, struct error *e)
{
    FILE *in = file_stream(file, SIZE_MOST, NULL);
    long size = in && fseek(in, 0, SEEK_END) == 0 ? ftell(in) : -1;
    char *bytes = size > 0 && size <= SIZE_MOST ? malloc((size_t)size) : NULL;
    struct catalogue *c = NULL;
    if (bytes && fseek(in, 0, SEEK_SET) == 0 && fread(bytes, (size_t)size, 1, in) == 1) {
        if (!(c = catalogue_parse(bytes, (size_t)size, ascii, e)))
            error_wrap(e, "%s", file);
    } else {
        error_errno(e, ERROR_MISSING, "the catalogue %s cannot be read", file);
    }
    if (in)
        fclose(in);
    free(bytes);
    return c;
}

void catalogue_free(struct catalogue *c)
{
    if (!c)
        return;
    free(c->bytes);
    free(c->ascii);
    free(c->pairs);
    free(c);
}

static const struct pair *find(const struct catalogue *c, const char *original)
{
    for (uint32_t low = 0, high = c->count; low < high;) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(original, c->pairs[middle].original);
        if (order == 0)
            return &c->pairs[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const char *catalogue_find(const struct catalogue *c, const char *original)
{
    const struct pair *p = find(c, original);
    return p && p->length ? p->translation : NULL;
}

const char *catalogue_find_plural(const struct catalogue *c, const char *one, unsigned long n)
{
    const struct pair *p = find(c, one);
    unsigned long form = n != 1;
    if (!p || !p->length ||
        (c->rule && (!plural_value(c->rule, n, &form) || form >= (unsigned long)c->forms)))
        return NULL;
    const char *text = p->translation, *end = text + p->length;
    for (; form > 0; form--) {
        text += strlen(text) + 1;
        if (text > end)
            return NULL;
    }
    return text;
}
