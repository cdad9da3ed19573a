/*
 * plain_ask.c - asks, prints, runs commands.
 */
#include "tui/plain_ask.h"

#include "tui/markdown.h"
#include "tui/md_cells.h"
#include "tui/plain.h"
#include "tui/run_model.h"
#include "tui/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 8, EVENTS_A_POLL = 100000 };

bool plain_read(struct plain *p, char line[PLAIN_LINE])
{
    fflush(stdout);
    if (p->ended || !fgets(line, PLAIN_LINE, p->in)) {
        p->ended = true;
        *line = '\0';
        return false;
    }
    return true;
}

static void read_answer(struct plain *p, char answer[PLAIN_LINE])
{
    if (!plain_read(p, answer))
        snprintf(answer, PLAIN_LINE, "q");
    char *start = answer + strspn(answer, " \t\r\n");
    memmove(answer, start, strlen(start) + 1);
    for (size_t n = strlen(answer); n > 0 && strchr(" \t\r\n", answer[n - 1]); n--)
        answer[n - 1] = '\0';
    /* What comes through a pipe is not echoed: end the line for it. */
    if (!isatty(fileno(p->in)))
        puts(answer);
    puts("");
    if (!strcmp(answer, "q"))
        p->ended = true;
}

static void list(struct plain *p, const struct plain_choice *choices)
{
    for (p->shown = choices; choices->key; choices++) {
        printf("  %s  ", choices->key);
        plain_print_text(_(choices->text), 0, p->utf8, stdout);
        puts("");
    }
    printf("%s > ", _("your choice"));
}

static void remind(const struct plain_choice *choices)
{
    printf("%s (", _("your choice"));
    for (const struct plain_choice *c = choices; c->key; c++)
        printf("%s ", c->key);
    printf("?) > ");
}

void plain_ask(struct plain *p, const struct plain_choice *choices, char answer[PLAIN_LINE])
{
    do {
        puts("");
        if (p->shown == choices)
            remind(choices);
        else
            list(p, choices);
        read_answer(p, answer);
        if (!strcmp(answer, "?"))
            p->shown = NULL;
    } while (!strcmp(answer, "?"));
}

void plain_ask_line(struct plain *p, const char *question, char answer[PLAIN_LINE])
{
    puts("");
    plain_print_text(question, 0, p->utf8, stdout);
    printf(" > ");
    read_answer(p, answer);
}

void plain_not_understood(const char *answer)
{
    if (*answer && strcmp(answer, "q") != 0 && strcmp(answer, "b") != 0)
        printf(_("'%s' is none of the choices.\n"), answer);
}

long plain_number(const char *answer)
{
    char *end;
    long number = strtol(answer, &end, 10);
    return *answer >= '0' && *answer <= '9' && !*end ? number : -1;
}

bool plain_markdown(const struct plain *p, const char *text, struct error *e)
{
    struct md_doc doc = {0};
    bool ok = markdown_render(&doc, text, PLAIN_MEASURE, e);
    plain_print_doc(&doc, p->utf8, stdout);
    markdown_free(&doc);
    return ok;
}

void plain_paragraph(const struct plain *p, const char *text)
{
    while (*text) {
        struct md_cells cells = {0};
        int length = (int)strcspn(text, "\n");
        md_cells_text_n(&cells, text, length, ROLE_TEXT, 0);
        for (int at = 0, from, count; md_wrap(&cells, PLAIN_MEASURE, &at, &from, &count);)
            plain_print_cells(cells.cells + from, count, p->utf8, stdout);
        md_cells_free(&cells);
        text += length;
        text += *text == '\n';
    }
}

void plain_error(const struct error *e)
{
    printf(_("error: %s\n"), e->text);
}

int plain_command(int (*run)(int argc, char **argv), const char *const *words)
{
    char *argv[WORDS_MAX + 1] = {NULL};
    int argc = 0;
    for (; words[argc] && argc < WORDS_MAX; argc++)
        argv[argc] = strdup(words[argc]);
    char *given[WORDS_MAX + 1];
    memcpy(given, argv, sizeof given);
    fflush(stdout);
    int code = run(argc, argv);
    fflush(stdout);
    for (int i = 0; i < argc; i++)
        free(given[i]);
    return code;
}

struct run_model *plain_read_run(const char *dir)
{
    struct error e = {0};
    struct run_model *m = calloc(1, sizeof *m);
    double share;
    if (!m || !run_model_open(m, dir, &e)) {
        if (!m)
            error_set(&e, ERROR_FAILED, "out of memory");
        plain_error(&e);
        free(m);
        return NULL;
    }
    do
        run_model_poll(m, EVENTS_A_POLL);
    while (run_model_reading(m, &share));
    return m;
}
