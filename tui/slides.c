/*
 * slides.c - walks libcmark's tree and cuts it into slides.
 */
#include "tui/slides.h"

#include "tui/block_text.h"
#include "tui/markdown.h"
#include "tui/slide_text.h"

#include <cmark.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADING_LEVELS = 3, BESIDE_PICTURE = 2, PARAGRAPHS_MAX = 5, FORMULA_LINES = 3, NODES_MAX = 256 };

/* What has been read of the slide that is being made. */
struct making {
    struct slides *slides;
    const char *source;
    char *heading;
    int level, line, first; /* first: index of the section's first slide */
    cmark_node *nodes[NODES_MAX];
    int count;
    cmark_node *own_text, *own_notes; /* the slide and notes blocks */
    bool failed;
};

static bool info_is(const char *info, const char *word)
{
    size_t length = strlen(word);
    return info && !strncmp(info, word, length) && (!info[length] || info[length] == ' ');
}

static bool is_code(cmark_node *node)
{
    return cmark_node_get_type(node) == CMARK_NODE_CODE_BLOCK;
}

/* An indented block of a few lines: a formula within the text. */
static bool is_formula(const struct making *m, cmark_node *node)
{
    const char *line = slide_line(m->source, cmark_node_get_start_line(node));
    int lines = 0;
    if (!is_code(node))
        return false;
    for (const char *text = cmark_node_get_literal(node); *text; text++)
        lines += *text == '\n';
    return *line != '`' && *line != '~' && lines <= FORMULA_LINES;
}

static bool is_picture(const struct making *m, cmark_node *node)
{
    return is_code(node) && !markdown_hidden(cmark_node_get_fence_info(node)) && !is_formula(m, node);
}

static char *copy(struct making *m, const char *text)
{
    char *made = strdup(text ? text : "");
    m->failed |= !made;
    return made;
}

/* --- what a slide says --------------------------------------------------------------------------------------- */

static int kind_count(const struct making *m, cmark_node_type kind)
{
    int count = 0;
    for (int i = 0; i < m->count; i++)
        count += cmark_node_get_type(m->nodes[i]) == kind;
    return count;
}

static bool in_brackets(cmark_node *paragraph)
{
    cmark_node *first = cmark_node_first_child(paragraph);
    return first && cmark_node_get_type(first) == CMARK_NODE_TEXT && *cmark_node_get_literal(first) == '(';
}

/* The rule of slides.h; picture: whether one follows. */
static void say(struct making *m, struct slide_text *out, bool picture)
{
    int lists = kind_count(m, CMARK_NODE_LIST), paragraphs = kind_count(m, CMARK_NODE_PARAGRAPH);
    int most = picture ? BESIDE_PICTURE : lists ? 1 : PARAGRAPHS_MAX;
    /* Beside a picture the paragraphs that lead to it; elsewhere those that open the section. */
    int skip = picture && paragraphs > most ? paragraphs - most : 0, said = 0;
    for (int i = 0; i < m->count; i++) {
        cmark_node *node = m->nodes[i];
        switch (cmark_node_get_type(node)) {
        case CMARK_NODE_PARAGRAPH:
            if (skip > 0)
                skip--;
            else if (said < most && !in_brackets(node))
                said++, slide_text_sentence(out, node, !picture && !lists);
            break;
        case CMARK_NODE_LIST: slide_text_list(out, node); break;
        case CMARK_NODE_BLOCK_QUOTE:
            if (cmark_node_first_child(node))
                slide_text_sentence(out, cmark_node_first_child(node), false);
            break;
        case CMARK_NODE_CODE_BLOCK: slide_text_whole(out, node); break;
        default: break;
        }
    }
}

static void title(struct making *m, struct slide_text *out)
{
    for (int i = 0; i < m->count; i++)
        if (cmark_node_get_type(m->nodes[i]) == CMARK_NODE_PARAGRAPH) {
            slide_text_whole(out, m->nodes[i]);
            return;
        }
}

/* The block's words; a heading in its first line goes to *heading. */
static char *own_words(struct making *m, char **heading)
{
    const char *text = cmark_node_get_literal(m->own_text);
    if (*text == '#') {
        text += strspn(text, "#");
        text += strspn(text, " ");
        size_t length = strcspn(text, "\n");
        free(*heading);
        *heading = strndup(text, length);
        m->failed |= !*heading;
        text += length;
        text += strspn(text, "\n");
    }
    return copy(m, text);
}

/* --- slides --------------------------------------------------------------------------------------------------- */

static void forget(struct making *m)
{
    m->count = 0;
    m->own_text = m->own_notes = NULL;
}

/* The section's text as it stands between two lines, without the blocks that are not for readers. */
static char *notes_of(struct making *m, cmark_node *picture)
{
    struct slide_text out = {0};
    if (m->own_notes)
        return copy(m, cmark_node_get_literal(m->own_notes));
    for (int i = 0; i < m->count; i++)
        slide_text_source(&out, m->source, m->nodes[i]);
    if (picture && block_info(cmark_node_get_fence_info(picture), NULL))
        slide_text_block(&out, cmark_node_get_literal(picture));
    else if (picture)
        slide_text_source(&out, m->source, picture);
    m->failed |= out.failed;
    return out.text ? out.text : copy(m, "");
}

static void slide_clear(struct slide *s)
{
    free(s->heading);
    free(s->text);
    free(s->info);
    free(s->picture);
    free(s->notes);
}

/* Behind "slide replay "; NULL: it is another slide. */
static const char *recording_of(const char *info)
{
    static const char words[] = "slide replay ";
    return strncmp(info, words, sizeof words - 1) == 0 ? info + sizeof words - 1 : NULL;
}

/* What was collected becomes a slide; picture may be NULL. */
static void finish(struct making *m, cmark_node *picture)
{
    struct slide_text text = {0};
    const char *info = m->own_text ? cmark_node_get_fence_info(m->own_text) : NULL;
    bool skipped = info && strstr(info, "skip");
    bool first = m->slides->count == m->first;
    if (!m->heading || skipped) {
        forget(m);
        return;
    }
    struct slide s = {.level = m->level, .source = m->line, .heading = copy(m, m->heading)};
    if (m->own_text) {
        s.text = own_words(m, &s.heading);
    } else if (m->level == 1 && first) {
        title(m, &text);
    } else {
        say(m, &text, picture != NULL);
    }
    /* After the last picture only a list or the author's words are worth a slide of their own. */
    bool worth = first || picture || m->own_text || kind_count(m, CMARK_NODE_LIST) > 0;
    if (!worth) {
        free(s.heading);
        free(text.text);
        if (m->own_notes) { /* they were meant for what stands before */
            struct slide *last = &m->slides->slides[m->slides->count - 1];
            free(last->notes);
            last->notes = notes_of(m, NULL);
        }
        forget(m);
        return;
    }
    if (!s.text)
        s.text = text.text ? text.text : copy(m, "");
    m->failed |= text.failed;
    s.notes = notes_of(m, picture);
    const char *recording = info ? recording_of(info) : NULL;
    if (recording) {
        s.info = copy(m, "replay");
        s.picture = copy(m, recording);
        s.picture_line = cmark_node_get_start_line(m->own_text);
    } else if (picture) {
        s.info = copy(m, cmark_node_get_fence_info(picture));
        s.picture = copy(m, cmark_node_get_literal(picture));
        s.picture_line = cmark_node_get_start_line(picture);
    }
    struct slide *slides = realloc(m->slides->slides, (size_t)(m->slides->count + 1) * sizeof *slides);
    if (slides) {
        m->slides->slides = slides;
        slides[m->slides->count++] = s;
    } else {
        m->failed = true;
        slide_clear(&s);
    }
    forget(m);
}

static void section_end(struct making *m)
{
    finish(m, NULL);
    int parts = m->slides->count - m->first;
    for (int i = 0; i < parts; i++) {
        m->slides->slides[m->first + i].part = i + 1;
        m->slides->slides[m->first + i].parts = parts;
    }
    m->first = m->slides->count;
}

static void take(struct making *m, cmark_node *node)
{
    const char *info = is_code(node) ? cmark_node_get_fence_info(node) : NULL;
    if (cmark_node_get_type(node) == CMARK_NODE_HEADING &&
        cmark_node_get_heading_level(node) <= HEADING_LEVELS) {
        section_end(m);
        free(m->heading);
        m->heading = slide_text_plain(node);
        m->failed |= !m->heading;
        m->level = cmark_node_get_heading_level(node);
        m->line = cmark_node_get_start_line(node);
    } else if (info_is(info, "notes")) {
        m->own_notes = node;
    } else if (info_is(info, "slide")) {
        bool recording = recording_of(info) != NULL;
        if (recording && m->own_text)
            finish(m, NULL);
        m->own_text = node;
        if (recording)
            finish(m, NULL);
    } else if (is_picture(m, node)) {
        finish(m, node);
        m->line = cmark_node_get_end_line(node) + 1;
    } else if (m->count < NODES_MAX && cmark_node_get_type(node) != CMARK_NODE_HTML_BLOCK) {
        m->nodes[m->count++] = node;
    }
}

bool slides_read(struct slides *s, const char *markdown, struct error *e)
{
    *s = (struct slides){0};
    struct making *m = calloc(1, sizeof *m);
    cmark_node *root =
        cmark_parse_document(markdown, strlen(markdown), CMARK_OPT_DEFAULT | CMARK_OPT_VALIDATE_UTF8);
    bool ok = m && root;
    if (ok) {
        m->slides = s;
        m->source = markdown;
        cmark_node *first = cmark_node_first_child(root);
        if (!first || cmark_node_get_type(first) != CMARK_NODE_HEADING)
            m->heading = copy(m, ""), m->level = 2, m->line = 1; /* a text without a heading */
        for (cmark_node *node = first, *next; node; node = next) {
            next = cmark_node_next(node);
            take(m, node);
        }
        section_end(m);
        ok = !m->failed;
        free(m->heading);
    }
    free(m);
    if (root)
        cmark_node_free(root);
    if (ok)
        return true;
    slides_free(s);
    return error_set(e, ERROR_FAILED, "out of memory");
}

char *slide_picture(const struct slide *s)
{
    size_t size = s->picture ? strlen(s->info) + strlen(s->picture) + 16 : 0;
    char *text = size ? malloc(size) : NULL;
    if (text)
        snprintf(text, size, "~~~~~%s\n%s~~~~~\n", s->info, s->picture);
    return text;
}

void slides_free(struct slides *s)
{
    for (int i = 0; i < s->count; i++)
        slide_clear(&s->slides[i]);
    free(s->slides);
    *s = (struct slides){0};
}
