/*
 * block_text.c - takes the text of a live block apart, line by line.
 */
#include "tui/block_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_OF_A_KIND = 16 };

/* What each kind can say. Kinds with a question take any other line as a part of it. */
static const struct kind {
    const char *name;
    bool asks, body;
    const char *fields[FIELDS_OF_A_KIND];
} kinds[BLOCK_KINDS] = {
    [BLOCK_RUN] = {"run", false, true, {"title", "command", "after", "shows", "note"}},
    [BLOCK_SIM] = {"sim",
                   false,
                   true,
                   {"title", "algos", "ranks", "bytes", "cluster", "topology", "bandwidth", "latency",
                    "after", "shows", "note"}},
    [BLOCK_PLOT] = {"plot",
                    false,
                    false,
                    {"title", "x", "y", "from", "to", "points", "log", "xlabel", "ylabel", "unit", "note"}},
    [BLOCK_PREDICT] = {"predict", true, false, {"scale", "unit", "measure", "answer"}},
    [BLOCK_QUIZ] = {"quiz", true, false, {NULL}},
    [BLOCK_FIGURE] = {"figure",
                      false,
                      false,
                      {"show", "title", "ranks", "chunks", "stages", "microbatches", "nodes", "gpus", "row",
                       "link", "flow", "note", "values"}},
};

const char *block_kind_name(enum block_kind kind)
{
    return kinds[kind].name;
}

bool block_info(const char *info, enum block_kind *kind)
{
    size_t length = info ? strcspn(info, " \t") : 0;
    for (int i = 0; i < BLOCK_KINDS && length; i++)
        if (strlen(kinds[i].name) == length && !strncmp(kinds[i].name, info, length)) {
            if (kind)
                *kind = (enum block_kind)i;
            return true;
        }
    return false;
}

/* Appends the words of a line to *text with a blank between; false where memory is short. */
static bool append(char **text, const char *line, size_t length)
{
    size_t before = *text ? strlen(*text) : 0;
    char *more = realloc(*text, before + length + 2);
    if (!more)
        return false;
    if (before)
        more[before++] = ' ';
    memcpy(more + before, line, length);
    more[before + length] = '\0';
    *text = more;
    return true;
}

static bool is_field(const struct kind *kind, const char *line, size_t length)
{
    for (int i = 0; i < FIELDS_OF_A_KIND && kind->fields[i]; i++)
        if (strlen(kind->fields[i]) == length && !strncmp(kind->fields[i], line, length))
            return true;
    return false;
}

static bool unknown_line(const struct block_text *b, int number, const char *line, int length,
                         struct error *e)
{
    char known[256] = "";
    const struct kind *kind = &kinds[b->kind];
    for (int i = 0; i < FIELDS_OF_A_KIND && kind->fields[i]; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", kind->fields[i]);
    }
    return error_set(e, ERROR_INPUT, "line %d: '%.*s' is no line of a %s block; it has: %s", number,
                     length > 40 ? 40 : length, line, kind->name, known);
}

/* One line that is not blank, without blanks at its end. `open` is where a line that goes on belongs to. */
static bool take_line(struct block_text *b, const char *line, size_t length, int number, char ***open,
                      struct error *e)
{
    const struct kind *kind = &kinds[b->kind];
    bool choices = kind->asks, ok = true;
    if (*open && length > 2 && line[0] == ' ' && line[1] == ' ') {
        while (length && *line == ' ')
            line++, length--;
        ok = append(*open, line, length);
    } else if (choices && length > 2 && (line[0] == '-' || line[0] == '+') && line[1] == ' ') {
        if (b->choice_count == BLOCK_MAX_CHOICES)
            return error_set(e, ERROR_INPUT, "line %d: more than %d choices", number, BLOCK_MAX_CHOICES);
        if (line[0] == '+' && b->right >= 0)
            return error_set(e, ERROR_INPUT, "line %d: a second choice is marked as right", number);
        if (line[0] == '+')
            b->right = b->choice_count;
        *open = &b->choices[b->choice_count++];
        ok = append(*open, line + 2, length - 2);
    } else if (choices && length > 2 && line[0] == '>' && line[1] == ' ') {
        *open = &b->because;
        ok = append(*open, line + 2, length - 2);
    } else {
        size_t key = 0;
        while (key < length && islower((unsigned char)line[key]))
            key++;
        bool field = key > 0 && key + 1 < length && line[key] == ':' && line[key + 1] == ' ';
        if (field && is_field(kind, line, key)) {
            if (b->field_count == BLOCK_MAX_FIELDS)
                return error_set(e, ERROR_INPUT, "line %d: more than %d fields", number, BLOCK_MAX_FIELDS);
            struct block_field *f = &b->fields[b->field_count++];
            const char *value = line + key + 2;
            while (*value == ' ')
                value++;
            f->line = number;
            f->key = strndup(line, key);
            *open = &f->value;
            ok = f->key && append(*open, value, (size_t)(line + length - value));
        } else if (kind->asks) {
            *open = &b->question;
            ok = append(*open, line, length);
        } else {
            return unknown_line(b, number, line, (int)length, e);
        }
    }
    return ok || error_set(e, ERROR_FAILED, "out of memory");
}

static bool take_name(struct block_text *b, const char *info, struct error *e)
{
    info += strcspn(info, " \t");
    info += strspn(info, " \t");
    size_t length = strspn(info, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (info[length] || length >= sizeof b->name)
        return error_set(e, ERROR_INPUT,
                         "line %d: a block's name is one word of small letters, digits and '-', not '%.60s'",
                         b->line, info);
    memcpy(b->name, info, length);
    return true;
}

static bool complete(struct block_text *b, struct error *e)
{
    char **texts[] = {&b->question, &b->because, &b->body};
    for (int i = 0; i < 3; i++)
        if (!*texts[i] && !(*texts[i] = strdup("")))
            return error_set(e, ERROR_FAILED, "out of memory");
    if (kinds[b->kind].asks && !*b->question)
        return error_set(e, ERROR_INPUT, "line %d: a %s block needs a question", b->line,
                         kinds[b->kind].name);
    if (b->kind == BLOCK_QUIZ && (b->choice_count < 2 || b->right < 0 || !*b->because))
        return error_set(
            e, ERROR_INPUT,
            "line %d: a quiz block needs two choices ('- ...'), the right one marked ('+ ...'), and an "
            "explanation ('> ...')",
            b->line);
    if (kinds[b->kind].asks && !*b->name)
        return error_set(e, ERROR_INPUT,
                         "line %d: a %s block needs a name behind its kind: answers are kept under it",
                         b->line, kinds[b->kind].name);
    return true;
}

bool block_text_parse(struct block_text *b, const char *info, const char *text, int line, struct error *e)
{
    *b = (struct block_text){.line = line, .right = -1};
    if (!block_info(info, &b->kind))
        return error_set(e, ERROR_INPUT, "line %d: '%.40s' is no kind of block", line, info ? info : "");
    char **open = NULL;
    bool ok = take_name(b, info, e);
    for (int number = line + 1; ok && *text; number++) {
        size_t length = strcspn(text, "\n"), kept = length;
        while (kept && isspace((unsigned char)text[kept - 1]))
            kept--;
        if (kept) {
            ok = take_line(b, text, kept, number, &open, e);
        } else if (kinds[b->kind].body) {
            b->body_line = number + 1;
            b->body = strdup(text + length + (text[length] == '\n'));
            break;
        } else {
            open = NULL;
        }
        text += length;
        text += *text == '\n';
    }
    if (ok && complete(b, e))
        return true;
    block_text_free(b);
    return false;
}

void block_text_free(struct block_text *b)
{
    for (int i = 0; i < b->field_count; i++) {
        free(b->fields[i].key);
        free(b->fields[i].value);
    }
    for (int i = 0; i < b->choice_count; i++)
        free(b->choices[i]);
    free(b->question);
    free(b->because);
    free(b->body);
    *b = (struct block_text){0};
}

static const struct block_field *find(const struct block_text *b, const char *key)
{
    for (int i = 0; i < b->field_count; i++)
        if (!strcmp(b->fields[i].key, key))
            return &b->fields[i];
    return NULL;
}

const char *block_text_get(const struct block_text *b, const char *key)
{
    const struct block_field *f = find(b, key);
    return f ? f->value : NULL;
}

int block_text_line(const struct block_text *b, const char *key)
{
    const struct block_field *f = find(b, key);
    return f ? f->line : b->line;
}

bool block_text_integer(const struct block_text *b, const char *key, int least, int most, int fallback,
                        int *value, struct error *e)
{
    const struct block_field *f = find(b, key);
    char *end;
    *value = fallback;
    if (!f)
        return true;
    long number = strtol(f->value, &end, 10);
    if (*end || end == f->value || number < least || number > most)
        return error_set(e, ERROR_INPUT, "line %d: %s: expected a whole number from %d to %d, got '%.40s'",
                         f->line, key, least, most, f->value);
    *value = (int)number;
    return true;
}
