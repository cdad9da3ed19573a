/*
 * markdown.c - walks libcmark's tree and lays its blocks out as lines of cells.
 */
#include "tui/markdown.h"

#include "engine/base/files.h"

#include "tui/block_text.h"
#include "tui/highlight.h"
#include "tui/md_cells.h"
#include "tui/md_table.h"

#include <cmark.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX_MAX = 48, FILE_MAX = 4 << 20, LINKS_MAX = 200 };

struct layout {
    struct md_doc *doc;
    int width;
    struct cell prefix[PREFIX_MAX]; /* what each line begins with: indents and the bars of quotes */
    int prefix_count;
    struct cell marker[PREFIX_MAX]; /* of the next line alone: the bullet in place of the indent's end */
    int marker_count;
    bool gap; /* a blank line is due before the next block */
    bool tight;
    int source;
    const char *links[LINKS_MAX]; /* belong to the tree */
    int link_count;
    const struct md_live *live; /* may be NULL */
    int live_count;             /* of the live blocks that were laid out */
    bool failed;
};

static struct md_line *line_add(struct layout *l, const struct cell *cells, int count)
{
    struct md_doc *doc = l->doc;
    if (!cells)
        count = 0;
    int total = l->prefix_count + count;
    struct md_line *lines = realloc(doc->lines, (size_t)(doc->count + 1) * sizeof *lines);
    struct cell *row = malloc((size_t)(total ? total : 1) * sizeof *row);
    if (lines)
        doc->lines = lines;
    if (!lines || !row) {
        free(row);
        l->failed = true;
        return NULL;
    }
    memcpy(row, l->prefix, (size_t)l->prefix_count * sizeof *row);
    if (l->marker_count) {
        memcpy(row + l->prefix_count - l->marker_count, l->marker, (size_t)l->marker_count * sizeof *row);
        l->marker_count = 0;
    }
    if (cells)
        memcpy(row + l->prefix_count, cells, (size_t)count * sizeof *row);
    while (total > 0 && row[total - 1].glyph == ' ')
        total--;
    lines[doc->count] = (struct md_line){.cells = row, .count = total, .source = l->source, .live = -1};
    return &lines[doc->count++];
}

static void gap(struct layout *l)
{
    if (l->gap && l->doc->count)
        line_add(l, NULL, 0);
    l->gap = false;
}

static int room(const struct layout *l)
{
    int left = l->width - l->prefix_count;
    return left > 8 ? left : 8;
}

static void add_wrapped(struct layout *l, const struct md_cells *cells)
{
    for (int at = 0, from, count; md_wrap(cells, room(l), &at, &from, &count);)
        line_add(l, cells->cells + from, count);
}

/* --- inlines ------------------------------------------------------------------------------------------------ */

static void collect(struct layout *l, cmark_node *parent, struct md_cells *out, enum role role,
                    int attributes);

static void collect_link(struct layout *l, cmark_node *node, struct md_cells *out)
{
    const char *url = cmark_node_get_url(node);
    cmark_node *first = cmark_node_first_child(node);
    bool itself = first && cmark_node_get_type(first) == CMARK_NODE_TEXT && !cmark_node_next(first) &&
                  !strcmp(cmark_node_get_literal(first), url);
    collect(l, node, out, ROLE_ACCENT, ATTR_UNDERLINE);
    /* A link to another lesson needs no address: its name is what the learner can use. */
    if (itself || !strstr(url, ":") || l->link_count == LINKS_MAX)
        return;
    char number[16];
    l->links[l->link_count++] = url;
    snprintf(number, sizeof number, " [%d]", l->link_count);
    md_cells_text(out, number, ROLE_MUTED, 0);
}

static void collect(struct layout *l, cmark_node *parent, struct md_cells *out, enum role role,
                    int attributes)
{
    for (cmark_node *n = cmark_node_first_child(parent); n; n = cmark_node_next(n)) {
        switch (cmark_node_get_type(n)) {
        case CMARK_NODE_TEXT: md_cells_text(out, cmark_node_get_literal(n), role, attributes); break;
        case CMARK_NODE_CODE: md_cells_text(out, cmark_node_get_literal(n), ROLE_CODE, attributes); break;
        case CMARK_NODE_SOFTBREAK: md_cells_text(out, " ", role, attributes); break;
        case CMARK_NODE_LINEBREAK: md_cells_add(out, '\n', role, attributes); break;
        case CMARK_NODE_EMPH: collect(l, n, out, role, attributes | ATTR_ITALIC); break;
        case CMARK_NODE_STRONG: collect(l, n, out, role, attributes | ATTR_BOLD); break;
        case CMARK_NODE_LINK: collect_link(l, n, out); break;
        case CMARK_NODE_IMAGE: collect(l, n, out, ROLE_MUTED, ATTR_ITALIC); break;
        default: break;
        }
    }
    l->failed |= out->failed;
}

/* --- blocks ------------------------------------------------------------------------------------------------- */

static void blocks(struct layout *l, cmark_node *parent);

static void add_heading(struct layout *l, cmark_node *node)
{
    int level = cmark_node_get_heading_level(node);
    struct md_cells cells = {0};
    enum role role = level == 1 ? ROLE_TITLE : level == 2 ? ROLE_ACCENT : ROLE_TEXT;
    collect(l, node, &cells, role, ATTR_BOLD);
    char *text = md_cells_utf8(&cells);
    struct md_doc *doc = l->doc;
    struct md_heading *headings = realloc(doc->headings, (size_t)(doc->heading_count + 1) * sizeof *headings);
    if (headings)
        doc->headings = headings;
    if (headings && text)
        headings[doc->heading_count++] =
            (struct md_heading){.text = text, .level = level, .line = doc->count};
    else
        free(text);
    add_wrapped(l, &cells);
    if (level == 1) {
        struct md_cells rule = {0};
        for (int i = 0; i < room(l); i++)
            md_cells_add(&rule, 0x2500, ROLE_BORDER, 0);
        line_add(l, rule.cells, rule.count);
        md_cells_free(&rule);
    }
    md_cells_free(&cells);
}

static void prefix_add(struct layout *l, uint32_t glyph, enum role role)
{
    if (l->prefix_count < PREFIX_MAX)
        l->prefix[l->prefix_count++] = (struct cell){.glyph = glyph, .role = (uint8_t)role};
}

static void add_code(struct layout *l, cmark_node *node)
{
    const char *text = cmark_node_get_literal(node), *info = cmark_node_get_fence_info(node);
    bool lua = info && !strncmp(info, "lua", 3) && !isalnum((unsigned char)info[3]);
    int state = 0, before = l->prefix_count;
    prefix_add(l, 0x2502, ROLE_BORDER);
    prefix_add(l, ' ', ROLE_TEXT);
    while (*text) {
        struct md_cells cells = {0};
        int length = (int)strcspn(text, "\n");
        md_cells_text_n(&cells, text, length, ROLE_CODE, 0);
        if (lua && cells.count)
            state = highlight_lua(cells.cells, cells.count, state);
        int at = 0;
        do {
            int count = cells.count - at < room(l) ? cells.count - at : room(l);
            if (at + count < cells.count && cells.cells[at + count].glyph == 0)
                count--; /* never through a wide character */
            line_add(l, cells.cells + at, count);
            at += count > 0 ? count : 1;
        } while (at < cells.count);
        l->failed |= cells.failed;
        md_cells_free(&cells);
        text += length;
        text += *text == '\n';
    }
    l->prefix_count = before;
}

static void add_table(struct layout *l, cmark_node *node)
{
    struct md_table table;
    if (!md_table_layout(&table, cmark_node_get_literal(node), room(l))) {
        l->failed = true;
        return;
    }
    for (int i = 0; i < table.count; i++)
        line_add(l, table.lines[i].cells, table.lines[i].count);
    md_table_free(&table);
}

/* The rows of a live block, as they are now. */
static void add_live(struct layout *l)
{
    struct canvas c = {0};
    int n = l->live_count++;
    if (!l->live->draw(l->live->self, n, room(l), l->live->utf8, &c)) {
        l->failed = true;
        return;
    }
    for (int i = 0; i < c.rows; i++) {
        struct md_line *line =
            line_add(l, c.cells + (size_t)i * (size_t)c.cols, c.cols < room(l) ? c.cols : room(l));
        if (line) {
            line->live = n;
            line->row = i;
        }
    }
    canvas_free(&c);
}

static void add_list(struct layout *l, cmark_node *list)
{
    bool ordered = cmark_node_get_list_type(list) == CMARK_ORDERED_LIST, outer_tight = l->tight;
    bool tight = cmark_node_get_list_tight(list);
    int number = cmark_node_get_list_start(list), before = l->prefix_count;
    for (cmark_node *item = cmark_node_first_child(list); item; item = cmark_node_next(item), number++) {
        struct md_cells marker = {0};
        char text[24];
        snprintf(text, sizeof text, ordered ? "%2d. " : "  \u2022 ", number);
        md_cells_text(&marker, text, ROLE_ACCENT, 0);
        gap(l);
        for (int i = 0; i < marker.count; i++)
            prefix_add(l, ' ', ROLE_TEXT);
        int count = l->prefix_count - before < marker.count ? 0 : marker.count;
        if (count)
            memcpy(l->marker, marker.cells, (size_t)count * sizeof *l->marker);
        l->marker_count = count;
        l->tight = tight;
        blocks(l, item);
        if (l->marker_count) /* an empty item */
            line_add(l, NULL, 0);
        l->gap = !tight;
        l->prefix_count = before;
        md_cells_free(&marker);
    }
    l->tight = outer_tight;
}

static void block(struct layout *l, cmark_node *node)
{
    struct md_cells cells = {0};
    const char *info;
    switch (cmark_node_get_type(node)) {
    case CMARK_NODE_HEADING: add_heading(l, node); break;
    case CMARK_NODE_PARAGRAPH:
        collect(l, node, &cells, ROLE_TEXT, 0);
        add_wrapped(l, &cells);
        break;
    case CMARK_NODE_CODE_BLOCK:
        info = cmark_node_get_fence_info(node);
        if (info && !strncmp(info, "table", 5) && (!info[5] || info[5] == ' '))
            add_table(l, node);
        else if (l->live && block_info(info, NULL))
            add_live(l);
        else
            add_code(l, node);
        break;
    case CMARK_NODE_BLOCK_QUOTE: {
        int before = l->prefix_count;
        prefix_add(l, 0x258c, ROLE_ACCENT);
        prefix_add(l, ' ', ROLE_TEXT);
        blocks(l, node);
        l->prefix_count = before;
        break;
    }
    case CMARK_NODE_LIST: add_list(l, node); break;
    case CMARK_NODE_THEMATIC_BREAK:
        for (int i = 0; i < room(l); i++)
            md_cells_add(&cells, 0x2500, ROLE_BORDER, 0);
        line_add(l, cells.cells, cells.count);
        break;
    default: break;
    }
    l->failed |= cells.failed;
    md_cells_free(&cells);
}

bool markdown_hidden(const char *info)
{
    size_t word = info ? strcspn(info, " ") : 0;
    return word == 5 && (!strncmp(info, "notes", 5) || !strncmp(info, "slide", 5));
}

static void blocks(struct layout *l, cmark_node *parent)
{
    for (cmark_node *node = cmark_node_first_child(parent); node; node = cmark_node_next(node)) {
        cmark_node_type type = cmark_node_get_type(node);
        if (type == CMARK_NODE_HTML_BLOCK ||
            (type == CMARK_NODE_CODE_BLOCK && markdown_hidden(cmark_node_get_fence_info(node))))
            continue;
        l->source = cmark_node_get_start_line(node);
        if (type != CMARK_NODE_LIST || !l->marker_count)
            gap(l);
        block(l, node);
        l->gap = !l->tight;
    }
}

static void add_links(struct layout *l)
{
    if (!l->link_count)
        return;
    line_add(l, NULL, 0);
    for (int i = 0; i < l->link_count; i++) {
        struct md_cells cells = {0};
        char number[16];
        snprintf(number, sizeof number, "[%d] ", i + 1);
        md_cells_text(&cells, number, ROLE_MUTED, 0);
        md_cells_text(&cells, l->links[i], ROLE_ACCENT, ATTR_UNDERLINE);
        add_wrapped(l, &cells);
        l->failed |= cells.failed;
        md_cells_free(&cells);
    }
}

bool markdown_render(struct md_doc *doc, const char *text, int width, struct error *e)
{
    return markdown_render_live(doc, text, width, NULL, e);
}

bool markdown_render_live(struct md_doc *doc, const char *text, int width, const struct md_live *live,
                          struct error *e)
{
    *doc = (struct md_doc){0};
    struct layout *l = calloc(1, sizeof *l);
    cmark_node *root = cmark_parse_document(text, strlen(text), CMARK_OPT_DEFAULT | CMARK_OPT_VALIDATE_UTF8);
    bool ok = l && root;
    if (ok) {
        l->doc = doc;
        l->live = live;
        l->width = width > MD_LEAST_WIDTH ? width : MD_LEAST_WIDTH;
        blocks(l, root);
        add_links(l);
        ok = !l->failed;
    }
    if (root)
        cmark_node_free(root);
    free(l);
    if (!ok) {
        markdown_free(doc);
        return error_set(e, ERROR_FAILED, "out of memory");
    }
    return true;
}

void markdown_free(struct md_doc *doc)
{
    for (int i = 0; i < doc->count; i++)
        free(doc->lines[i].cells);
    for (int i = 0; i < doc->heading_count; i++)
        free(doc->headings[i].text);
    free(doc->lines);
    free(doc->headings);
    *doc = (struct md_doc){0};
}

void markdown_draw(struct canvas *c, int row, int col, int width, const struct md_line *line)
{
    for (int i = 0; i < line->count && i < width; i++) {
        const struct cell *cell = &line->cells[i];
        if (!cell->glyph)
            continue;
        canvas_put(c, row, col + i, cell->glyph, (enum role)cell->role, cell->attributes);
        if (cell->combining && c->utf8 && row >= 0 && row < c->rows && col + i >= 0 && col + i < c->cols)
            c->cells[(size_t)row * (size_t)c->cols + (size_t)(col + i)].combining = cell->combining;
    }
}

static uint32_t folded(uint32_t glyph)
{
    return glyph >= 'A' && glyph <= 'Z' ? glyph + 32 : glyph;
}

int markdown_find(const struct md_line *line, const char *text, int from)
{
    for (int i = from; i < line->count; i++) {
        const char *rest = text;
        uint32_t glyph = 0;
        int k = i;
        while ((glyph = utf8_next(&rest)) && k < line->count &&
               folded(line->cells[k].glyph) == folded(glyph)) {
            k++;
            while (k < line->count && !line->cells[k].glyph)
                k++;
        }
        if (!glyph && k > i)
            return i;
    }
    return -1;
}

char *markdown_read(const char *file, struct error *e)
{
    FILE *in = file_stream(file, FILE_MAX, e);
    char *text = NULL;
    size_t size = 0, n;
    if (!in)
        return NULL;
    do {
        char *more = realloc(text, size + 65537);
        if (!more)
            break;
        text = more;
        n = fread(text + size, 1, 65536, in);
        size += n;
        text[size] = '\0';
    } while (n > 0 && size <= FILE_MAX);
    bool ok = text && !ferror(in) && size <= FILE_MAX;
    fclose(in);
    if (!ok) {
        free(text);
        error_set(e, ERROR_INPUT, "%s cannot be read, or is larger than 4 MiB", file);
        return NULL;
    }
    return text;
}
