/*
 * plain_ask.h - what the parts of plain mode share: asking, printing, and running a command of ours.
 *
 * plain_app.c is the outline of the course, plain_lesson.c a lesson with its live blocks, plain_exercise.c its
 * exercise, plain_runs.c the runs, plain_ring.c an operation message by message, plain_cluster.c queues and links,
 * plain_settings.c the settings.
 *
 * Output only grows, a sentence or a table at a time; nothing depends on where on a screen it stands, no line is
 * made of drawing characters. The end of the input counts as q, everywhere.
 */
#ifndef RINGSIDE_TUI_PLAIN_ASK_H
#define RINGSIDE_TUI_PLAIN_ASK_H

#include "engine/base/error.h"

#include <limits.h>
#include <stdio.h>

enum { PLAIN_MEASURE = 78, PLAIN_LINE = 1024 };

struct course;
struct course_lesson;
struct plain_choice;
struct progress;

struct plain {
    FILE *in;
    bool utf8, ended;
    const struct course_lesson *lesson; /* the one that is being read */
    bool skipped;                       /* its reader wants the exercise before its end */
    const struct plain_choice *shown;   /* the choices that were listed last */
    struct course *course;
    struct progress *progress;
};

/* One choice of a menu: what is typed for it, and what it does (marked by N_). */
struct plain_choice {
    const char *key, *text;
};

/*
 * Prints the choices, a line each, and reads one line without blanks at its ends. Where the same were listed last, their
 * keys alone are named; ? lists them again. A list ends with a key of NULL.
 */
void plain_ask(struct plain *p, const struct plain_choice *choices, char answer[PLAIN_LINE]);
/* Asks with one line: "QUESTION > ". */
void plain_ask_line(struct plain *p, const char *question, char answer[PLAIN_LINE]);
/* Reads one line as it is; false: the input is at its end. */
bool plain_read(struct plain *p, char line[PLAIN_LINE]);
/* Says that an answer is none of the choices, unless it is empty, or goes back or away. */
void plain_not_understood(const char *answer);
/* A whole number that the answer consists of, or -1. */
long plain_number(const char *answer);

/* Lays out Markdown and prints it; false and *e: no memory. */
bool plain_markdown(const struct plain *p, const char *text, struct error *e);
/* A paragraph, or a line each of several, broken at blanks. */
void plain_paragraph(const struct plain *p, const char *text);
/* "error: ..." on standard output: plain mode has one stream to be read. */
void plain_error(const struct error *e);
/* Runs a command of ours, its name and words; the list ends with NULL. Returns its exit code. */
int plain_command(int (*run)(int argc, char **argv), const char *const *words);

struct run_model;
/* All that a run has told so far; NULL: it has been said why not. run_model_free() and free() it. */
struct run_model *plain_read_run(const char *dir);

void plain_lesson(struct plain *p, int index);
void plain_exercise(struct plain *p, const char *name);
void plain_runs(struct plain *p);
/* The sampled operations of a run; dir NULL: any collective by its schedule. */
void plain_ring(struct plain *p, const char *dir);
void plain_cluster(struct plain *p);
void plain_settings(struct plain *p);

#endif
