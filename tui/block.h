/*
 * block.h - the live blocks of a lesson: what can be asked, drawn and started in the middle of its text.
 *
 * A fenced block whose first word is run, sim, plot, predict, quiz or figure is a panel (block_text.h has the form of
 * its text; CONTRIBUTING, "a lesson", has examples). All blocks of a lesson make a set, since they hang together: a
 * block may wait until the learner has committed to a prediction, and a prediction is shown beside what a run
 * measured. Answers and the runs that were started are kept in the learner's progress under the block's name, so a
 * lesson that is opened again shows them. Runs belong to their supervisors: freeing a set stops nothing.
 *
 * The lesson view, the instructor's slides, plain mode and the course's lint all work on sets. A set copies what it
 * needs of the lesson's text; progress and the lesson's name have to outlive it. Blocks are numbered from 0 in the
 * order of the text. A block whose text is wrong is in the set all the same: it says what is wrong and does nothing.
 */
#ifndef RINGSIDE_TUI_BLOCK_H
#define RINGSIDE_TUI_BLOCK_H

#include "tui/block_text.h"
#include "tui/canvas.h"
#include "tui/markdown.h"
#include "tui/view.h"

#include <limits.h>

struct app;
struct block_set;
struct progress;

/*
 * The blocks of a lesson's Markdown. progress may be NULL: nothing is kept. NULL and *e only where memory is short;
 * what is wrong with single blocks is told by block_error.
 */
struct block_set *block_set_new(const char *lesson, const char *text, struct progress *progress,
                                struct error *e);
void block_set_free(struct block_set *set);

int block_count(const struct block_set *set);
enum block_kind block_kind_of(const struct block_set *set, int i);
/* What the panel is headed with: its title, or its question. */
const char *block_heading(const struct block_set *set, int i);
/* The line of the lesson's text that it begins at, from 1. */
int block_line(const struct block_set *set, int i);
/* What is wrong with it, with its line in front ("line 12: ..."); NULL: nothing. */
const char *block_error(const struct block_set *set, int i);
/* Whether it can have the focus: it has something to answer, start or step through. */
bool block_live(const struct block_set *set, int i);

/* --- on a screen ------------------------------------------------------------------------------------------------- */

/* Rows that it wants at this width, at present: an answer or a run that has begun needs more. */
int block_rows(struct block_set *set, int i, int cols);
/* Draws it as it is at area.cols; without its first `skip` rows, and no more than area.rows of the rest. */
void block_draw(struct block_set *set, int i, struct canvas *c, struct rect area, int skip, bool focused);
/* The keys that it takes while it has the focus; may be an empty table, never NULL. */
const struct key_binding *block_keys(const struct block_set *set, int i);
/* A key while it has the focus; true: taken. It may open a view or set a message. */
bool block_key(struct block_set *set, int i, struct app *app, int key);
/* A click on row and column of the block as it is drawn at `cols`; true: taken. */
bool block_click(struct block_set *set, int i, struct app *app, int row, int col, int cols);
/* Lets all blocks look at the world (runs that go on); true: something to draw has changed. Cheap, never waits. */
bool block_tick(struct block_set *set, double now);

/* --- by hand (plain mode, tests) --------------------------------------------------------------------------------- */

/* What can be chosen of a predict or a quiz; of a predict the last is "don't know". 0 for other blocks. */
int block_choices(const struct block_set *set, int i);
const char *block_choice(const struct block_set *set, int i, int choice);
/* The learner's choice, or -1. Once made it stays. */
int block_chosen(const struct block_set *set, int i);
void block_choose(struct block_set *set, int i, int choice);
/* Whether block i waits for a prediction (its number in *wanted). */
bool block_waits(const struct block_set *set, int i, int *wanted);
/* The answer of a predict or quiz that is known without a run, and why; "" for others. free() it. */
char *block_solution(const struct block_set *set, int i);
/* After an answer or a run: what came out, in a sentence or several, "" where nothing is known yet. free() it. */
char *block_result(struct block_set *set, int i);
/* Starts a run or a sim (at once where it is computed here); false: it waits for a prediction, or cannot be started. */
bool block_start(struct block_set *set, int i, struct error *e);
/* The directory of the run it has started, or NULL. */
const char *block_run(const struct block_set *set, int i);

/* For markdown_render_live: the blocks as they are drawn on a screen, or as text that stands by itself. */
struct md_live block_live_for(struct block_set *set, bool utf8);
struct md_live block_plain_for(struct block_set *set, bool utf8);

#endif
