/*
 * course.h - the course as lessons/course.lua describes it: which lessons there are, in which order.
 *
 * The file is a Lua chunk that returns { title=, lessons={ {name=, title=, question=, minutes=, track=,
 * requires={...}, tiers={...}, exercise=}, ... } }. It is read in a bare Lua state (no libraries, no
 * bytecode, bounded instructions and memory), so a broken or hostile course file costs an error message.
 */
#ifndef RINGSIDE_TUI_COURSE_H
#define RINGSIDE_TUI_COURSE_H

#include "engine/base/error.h"

#include <limits.h>

enum { COURSE_LIST_MAX = 8 };

struct course_lesson {
    char *name;                      /* "04-ring-allreduce": lessons/LANG/NAME.md */
    char *title;                     /* "Ring-allreduce" */
    char *question;                  /* what the learner can answer afterwards; "" where there is none */
    char *track;                     /* "core", ... */
    char *exercise;                  /* name of its exercise; "" where there is none */
    int minutes;                     /* 0: unknown */
    char *requires[COURSE_LIST_MAX]; /* names of lessons; ends with NULL or is full */
    char *tiers[COURSE_LIST_MAX];    /* "simulated", "cpu", "cluster" */
};

struct course {
    char *title;
    struct course_lesson *lessons;
    int count;
};

/* Reads lessons/course.lua of the data directory. NULL and *e where it is missing or wrong. */
struct course *course_load(struct error *e);
/* The same from any file. */
struct course *course_load_file(const char *file, struct error *e);
void course_free(struct course *course);

/* A lesson's number in the course: the one its name begins with, or its place. */
int course_number(const struct course_lesson *lesson, int index);
/* Index of the lesson of a name, of a number ("4" is 04-...) or of a part of a name that only one has; -1. */
int course_find(const struct course *course, const char *name);
/* Index of the lesson that an exercise belongs to, or -1. */
int course_find_exercise(const struct course *course, const char *exercise);

/*
 * The file of a lesson in a language ("en" where it is NULL or not translated): lessons/LANG/NAME.md. False
 * where even English is missing.
 */
bool course_lesson_file(const char *name, const char *lang, char path[PATH_MAX], struct error *e);

#endif
