/*
 * slide_text.c - finds where a first sentence or clause ends, and cuts the tree there.
 */
#include "tui/slide_text.h"

#include "tui/canvas.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAVES_MAX = 256, SENTENCE_COLUMNS = 110, CLAUSE_COLUMNS = 72, CLAUSE_LEAST = 20 };

static void add_n(struct slide_text *out, const char *text, size_t length)
{
    char *grown = out->failed ? NULL : realloc(out->text, out->length + length + 1);
    if (!grown) {
        out->failed = true;
        return;
    }
    memcpy(grown + out->length, text, length);
    grown[out->length += length] = '\0';
    out->text = grown;
}

static void add(struct slide_text *out, const char *text)
{
    add_n(out, text, strlen(text));
}

/* --- a paragraph as its leaves ------------------------------------------------------------------------------- */

struct leaf {
    cmark_node *node;
    size_t from, to; /* bytes of the flat text */
    bool strong;
};

struct flat {
    struct leaf leaves[LEAVES_MAX];
    int count;
    struct slide_text text; /* without marks */
    bool broken;            /* by a forced line break: a question and its answers */
};

static bool within_strong(cmark_node *node, cmark_node *paragraph)
{
    for (; node && node != paragraph; node = cmark_node_parent(node))
        if (cmark_node_get_type(node) == CMARK_NODE_STRONG)
            return true;
    return false;
}

static void flatten(struct flat *flat, cmark_node *paragraph)
{
    cmark_iter *iter = cmark_iter_new(paragraph);
    while (iter && flat->count < LEAVES_MAX && cmark_iter_next(iter) != CMARK_EVENT_DONE) {
        cmark_node *node = cmark_iter_get_node(iter);
        struct leaf leaf = {
            .node = node, .from = flat->text.length, .strong = within_strong(node, paragraph)};
        switch (cmark_node_get_type(node)) {
        case CMARK_NODE_TEXT:
        case CMARK_NODE_CODE: add(&flat->text, cmark_node_get_literal(node)); break;
        case CMARK_NODE_SOFTBREAK: add(&flat->text, " "); break;
        case CMARK_NODE_LINEBREAK:
            flat->broken = true;
            add(&flat->text, "\n");
            break;
        default: continue;
        }
        leaf.to = flat->text.length;
        flat->leaves[flat->count++] = leaf;
    }
    cmark_iter_free(iter);
}

static bool in_code(const struct flat *flat, size_t at)
{
    for (int i = 0; i < flat->count; i++)
        if (at >= flat->leaves[i].from && at < flat->leaves[i].to)
            return cmark_node_get_type(flat->leaves[i].node) == CMARK_NODE_CODE;
    return false;
}

/* Whether the full stop at `at` ends an abbreviation ("e.g.", an initial) and no sentence. */
static bool abbreviates(const char *text, size_t at)
{
    size_t from = at;
    while (from > 0 && (isalnum((unsigned char)text[from - 1]) || text[from - 1] == '.'))
        from--;
    size_t length = at - from;
    return (length == 1 && isupper((unsigned char)text[from])) || (length == 3 && text[from + 1] == '.') ||
           (length > 0 && length <= 2 && from == 0 && isdigit((unsigned char)text[from]));
}

/* Behind the first sentence that begins at `from`. */
static size_t sentence_end(const struct flat *flat, size_t from)
{
    const char *text = flat->text.text;
    for (size_t i = from; i < flat->text.length; i++) {
        bool last = i + 1 == flat->text.length || text[i + 1] == ' ';
        if (strchr(".?!", text[i]) && last && !in_code(flat, i) && !(text[i] == '.' && abbreviates(text, i)))
            return i + 1;
    }
    return flat->text.length;
}

/* Columns of the first `length` bytes. */
static int columns(const char *text, size_t length)
{
    int used = 0;
    for (const char *at = text; at < text + length;)
        used += glyph_columns(utf8_next(&at));
    return used;
}

/* The last end of a clause that leaves at most `most` columns; `end` where there is none. */
static size_t clause_end(const struct flat *flat, size_t end, int most)
{
    const char *text = flat->text.text;
    size_t best = end;
    int brackets = 0;
    if (columns(text, end) <= most)
        return end;
    for (size_t i = 0; i + 1 < end && columns(text, i) <= most; i++) {
        bool mark = (strchr(",;:", text[i]) && text[i + 1] == ' ') || (text[i] == ' ' && text[i + 1] == '(');
        if (mark && !brackets && !in_code(flat, i) && columns(text, i) >= CLAUSE_LEAST)
            best = i;
        brackets += (text[i] == '(') - (text[i] == ')');
    }
    return best;
}

static void drop(cmark_node *node, cmark_node *paragraph)
{
    cmark_node *parent = cmark_node_parent(node);
    cmark_node_unlink(node);
    cmark_node_free(node);
    if (parent && parent != paragraph && !cmark_node_first_child(parent))
        drop(parent, paragraph);
}

/* Takes out what stands behind `cut`. */
static void cut_tree(struct flat *flat, cmark_node *paragraph, size_t cut)
{
    for (int i = 0; i < flat->count; i++) {
        struct leaf *leaf = &flat->leaves[i];
        if (leaf->to <= cut)
            continue;
        if (leaf->from >= cut) {
            drop(leaf->node, paragraph);
            continue;
        }
        char *kept = strndup(cmark_node_get_literal(leaf->node), cut - leaf->from);
        if (!kept || !cmark_node_set_literal(leaf->node, kept))
            flat->text.failed = true;
        free(kept);
    }
}

/* Shortens a paragraph to its first sentence and, where that is long, to its clauses of at most `most` columns. */
static void shorten(struct slide_text *out, cmark_node *paragraph, int most, bool item)
{
    struct flat *flat = calloc(1, sizeof *flat);
    if (!flat) {
        out->failed = true;
        return;
    }
    flatten(flat, paragraph);
    if (flat->text.length > 0 && !flat->broken) {
        const char *text = flat->text.text;
        size_t end = sentence_end(flat, 0);
        size_t lead = 0;
        for (int i = 0; i < flat->count && flat->leaves[i].strong; i++)
            lead = flat->leaves[i].to;
        if (end <= lead && lead < flat->text.length) /* "A ring. The ranks sit ...": the lead is but a name */
            end = sentence_end(flat, end);
        size_t cut = clause_end(flat, end, most);
        while (cut > 0 && strchr(item || cut < end ? " ,;:." : " ", text[cut - 1]))
            cut--;
        if (cut < flat->text.length && cut > 0)
            cut_tree(flat, paragraph, cut);
    }
    out->failed |= flat->text.failed;
    free(flat->text.text);
    free(flat);
}

static void add_rendered(struct slide_text *out, cmark_node *node)
{
    char *text = cmark_render_commonmark(node, CMARK_OPT_NOBREAKS, 0);
    if (text)
        add(out, text);
    out->failed |= !text;
    free(text);
}

/* --- what slides.c asks for ----------------------------------------------------------------------------------- */

void slide_text_sentence(struct slide_text *out, cmark_node *paragraph, bool item)
{
    if (cmark_node_get_type(paragraph) != CMARK_NODE_PARAGRAPH)
        return;
    shorten(out, paragraph, SENTENCE_COLUMNS, item);
    if (item)
        add(out, "- ");
    add_rendered(out, paragraph);
    add(out, "\n");
}

void slide_text_list(struct slide_text *out, cmark_node *list)
{
    bool ordered = cmark_node_get_list_type(list) == CMARK_ORDERED_LIST;
    int number = cmark_node_get_list_start(list);
    for (cmark_node *item = cmark_node_first_child(list); item; item = cmark_node_next(item), number++) {
        cmark_node *paragraph = cmark_node_first_child(item);
        char marker[24];
        if (!paragraph || cmark_node_get_type(paragraph) != CMARK_NODE_PARAGRAPH)
            continue;
        shorten(out, paragraph, CLAUSE_COLUMNS, true);
        snprintf(marker, sizeof marker, ordered ? "%d. " : "- ", number);
        add(out, marker);
        add_rendered(out, paragraph);
        add(out, "\n");
    }
}

void slide_text_whole(struct slide_text *out, cmark_node *block)
{
    add_rendered(out, block);
    add(out, "\n");
}

const char *slide_line(const char *source, int line)
{
    for (; line > 1 && *source; line--) {
        source += strcspn(source, "\n");
        source += *source == '\n';
    }
    return source;
}

void slide_text_source(struct slide_text *out, const char *source, cmark_node *block)
{
    const char *from = slide_line(source, cmark_node_get_start_line(block));
    const char *to = slide_line(source, cmark_node_get_end_line(block) + 1);
    add_n(out, from, (size_t)(to - from));
    add(out, "\n");
}

/* Whether the line is a field of a block that says something to people. */
static bool tells(const char *line)
{
    static const char *const fields[] = {"title:", "command:", "answer:", "unit:", "note:", NULL};
    for (int i = 0; fields[i]; i++)
        if (!strncmp(line, fields[i], strlen(fields[i])))
            return true;
    return false;
}

static bool is_field(const char *line)
{
    size_t word = strspn(line, "abcdefghijklmnopqrstuvwxyz");
    return word > 0 && line[word] == ':' && (line[word + 1] == ' ' || line[word + 1] == '\n');
}

void slide_text_block(struct slide_text *out, const char *text)
{
    bool kept = false; /* whether what goes on belongs to something that was kept */
    while (*text && *text != '\n') {
        size_t length = strcspn(text, "\n");
        bool goes_on = text[0] == ' ', right = text[0] == '+';
        if (!goes_on)
            kept = !is_field(text) || tells(text);
        if (kept && right) {
            add(out, "- **");
            add_n(out, text + 2, length > 2 ? length - 2 : 0);
            add(out, "** ✓\n");
        } else if (kept) {
            add(out, text[0] == '>' || (is_field(text) && !goes_on) ? "\n" : "");
            add_n(out, text, length);
            add(out, "\n");
        }
        text += length;
        text += *text == '\n';
    }
    add(out, "\n");
}

char *slide_text_plain(cmark_node *node)
{
    struct flat *flat = calloc(1, sizeof *flat);
    if (!flat)
        return NULL;
    flatten(flat, node);
    char *text = flat->text.failed ? NULL : flat->text.text ? flat->text.text : strdup("");
    if (flat->text.failed)
        free(flat->text.text);
    free(flat);
    return text;
}
