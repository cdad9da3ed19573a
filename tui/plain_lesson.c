/*
 * plain_lesson.c - a lesson as text that stops at each live block: to predict, to answer, to start what it offers.
 */
#include "engine/base/timing.h"
#include "tui/block.h"
#include "tui/course.h"
#include "tui/follow.h"
#include "tui/markdown.h"
#include "tui/plain.h"
#include "tui/plain_ask.h"
#include "tui/progress.h"
#include "tui/slide_text.h"
#include "tui/text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How long a block may take to say what came out, after its run has ended. */
#define RESULT_S 5.0

/* Asks at a live block; "e" leaves the lesson for its exercise. */
static void ask_in_lesson(struct plain *p, const char *question, char answer[PLAIN_LINE])
{
    plain_ask_line(p, question, answer);
    p->skipped = *p->lesson->exercise && !strcmp(answer, "e");
}

/* --- live blocks ----------------------------------------------------------------------------------------------- */

static void print_result(struct plain *p, struct block_set *set, int i)
{
    char *result = block_result(set, i);
    if (result && *result)
        plain_paragraph(p, result);
    free(result);
}

static void choose(struct plain *p, struct block_set *set, int i)
{
    char answer[PLAIN_LINE], question[96];
    int choices = block_choices(set, i);
    snprintf(question, sizeof question, _("your choice, 1 to %d; Enter: later"), choices);
    while (!p->ended && block_chosen(set, i) < 0) {
        ask_in_lesson(p, question, answer);
        long number = plain_number(answer);
        if (!*answer || p->skipped)
            return;
        if (number >= 1 && number <= choices)
            block_choose(set, i, (int)number - 1);
        else
            plain_not_understood(answer);
    }
    if (!p->ended)
        print_result(p, set, i);
}

static double wall_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Lets the block take in what its run has written. */
static void await_result(struct block_set *set, int i)
{
    for (double end = timing_now() + RESULT_S; timing_now() < end;) {
        block_tick(set, wall_clock());
        char *result = block_result(set, i);
        bool there = result && *result;
        free(result);
        if (there)
            return;
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    }
}

static void start(struct plain *p, struct block_set *set, int i)
{
    struct error e = {0};
    int wanted;
    if (block_waits(set, i, &wanted)) {
        puts(_("First the prediction that this waits for:"));
        plain_print_block(set, wanted, p->utf8, stdout);
        choose(p, set, wanted);
        if (block_waits(set, i, &wanted))
            return;
    }
    if (!block_start(set, i, &e)) {
        plain_error(&e);
        return;
    }
    const char *run = block_run(set, i);
    if (run)
        follow_run(run, &(struct follow){.watch = true});
    await_result(set, i);
    plain_print_block(set, i, p->utf8, stdout);
    print_result(p, set, i);
}

static void live(struct plain *p, struct block_set *set, int i)
{
    char answer[PLAIN_LINE] = "";
    const char *wrong = block_error(set, i);
    puts("");
    if (wrong) {
        printf(_("error: %s\n"), wrong);
        return;
    }
    plain_print_block(set, i, p->utf8, stdout);
    switch (block_kind_of(set, i)) {
    case BLOCK_PREDICT:
    case BLOCK_QUIZ: choose(p, set, i); break;
    case BLOCK_RUN:
    case BLOCK_SIM:
        while (!p->ended && !p->skipped) {
            ask_in_lesson(p, _("s: start it; Enter: go on"), answer);
            if (strcmp(answer, "s") != 0)
                break;
            start(p, set, i);
        }
        if (!p->skipped)
            plain_not_understood(answer);
        break;
    case BLOCK_PLOT:
    case BLOCK_FIGURE:
    case BLOCK_KINDS: break;
    }
    puts("");
}

/* --- the lesson ------------------------------------------------------------------------------------------------ */

/* The line behind the fenced block that begins at `line`. */
static int block_end(const char *text, int line)
{
    const char *at = slide_line(text, line);
    char fence = *at == '~' ? '~' : '`';
    for (line++; *(at = slide_line(text, line)); line++)
        if (at[0] == fence && at[1] == fence && at[2] == fence)
            return line + 1;
    return line;
}

/* The lines from `from` to before `to`. */
static bool print_lines(const struct plain *p, const char *text, int from, int to, struct error *e)
{
    const char *begin = slide_line(text, from), *end = slide_line(text, to);
    char *part = strndup(begin, (size_t)(end - begin));
    bool ok = part ? plain_markdown(p, part, e) : error_set(e, ERROR_FAILED, "out of memory");
    free(part);
    return ok;
}

static bool read_aloud(struct plain *p, const char *name, const char *text, struct error *e)
{
    struct block_set *set = block_set_new(name, text, p->progress, e);
    int at = 1;
    bool ok = set != NULL;
    for (int i = 0; ok && !p->ended && !p->skipped && i < block_count(set); i++) {
        ok = print_lines(p, text, at, block_line(set, i), e);
        live(p, set, i);
        at = block_end(text, block_line(set, i));
    }
    if (ok && !p->ended && !p->skipped)
        ok = print_lines(p, text, at, INT_MAX, e);
    block_set_free(set);
    return ok;
}

/* The lesson's text to its end, or to where the reader left it for the exercise. */
static void recite(struct plain *p, const struct course_lesson *l)
{
    const char *name = l->name;
    char file[PATH_MAX];
    struct error e = {0};
    p->lesson = l;
    p->skipped = false;
    if (*l->exercise)
        puts(_("At any question of this lesson, e goes on to its exercise.\n"));
    char *text =
        course_lesson_file(name, getenv("RINGSIDE_LESSON_LANG"), file, &e) ? markdown_read(file, &e) : NULL;
    bool ok = text && read_aloud(p, name, text, &e);
    if (!ok)
        plain_error(&e);
    else if (!p->ended && !p->skipped)
        progress_note_reading(p->progress, name, progress_reading_line(p->progress, name), 100);
    free(text);
    if (p->skipped)
        plain_exercise(p, l->exercise);
}

void plain_lesson(struct plain *p, int index)
{
    static const struct plain_choice with[] = {
        {"e", N_("the exercise")},
        {"n", N_("the next lesson")},
        {"l", N_("this lesson again")},
        {"b", N_("back to the course")},
        {"q", N_("quit")},
        {0},
    };
    const struct course_lesson *l = &p->course->lessons[index];
    char answer[PLAIN_LINE];
    recite(p, l);
    while (!p->ended) {
        plain_ask(p, *l->exercise ? with : with + 1, answer);
        if (!strcmp(answer, "e") && *l->exercise) {
            plain_exercise(p, l->exercise);
        } else if (!strcmp(answer, "n") && index + 1 < p->course->count) {
            plain_lesson(p, index + 1);
            return;
        } else if (!strcmp(answer, "n")) {
            puts(_("This is the last lesson."));
        } else if (!strcmp(answer, "l")) {
            recite(p, l);
        } else if (!strcmp(answer, "b")) {
            return;
        } else {
            plain_not_understood(answer);
        }
    }
}
