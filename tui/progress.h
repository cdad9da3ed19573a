/*
 * progress.h - what the learner has read, passed, asked for and predicted: $RINGSIDE_HOME/progress.json.
 *
 * One small file that people can read. Each note is written at once: under a lock (progress.lock) the file is
 * read anew, changed and replaced (temporary file, fsync, rename; the one before stays as progress.json.bak),
 * so two sessions at once lose nothing. A broken file is set aside as progress.json.broken and the backup is
 * used. Where the home cannot be written, notes stay in memory and progress_warning says so once.
 *
 * {"version": 1, "lessons": {NAME: {"line": 12, "percent": 40, "read_at": ISO date, "marks": [40, 112],
 *    "blocks": {NAME: {"answer": "14", "at": ISO date}}}},
 *  "exercises": {NAME: {"checks": 3, "passed_at": ISO date, "hints": 1}},
 *  "predictions": [{"question": "...", "value": 1.5, "at": ISO date}], "last": NAME}
 */
#ifndef RINGSIDE_TUI_PROGRESS_H
#define RINGSIDE_TUI_PROGRESS_H

#include "engine/base/error.h"

struct progress;

/* Reads the file; an absent one is an empty progress. NULL only where memory is short. */
struct progress *progress_load(struct error *e);
void progress_free(struct progress *p);
/* Takes in what other sessions have written since; true: something has changed. Cheap: looks at the file's
 * time. */
bool progress_refresh(struct progress *p);
/* One sentence where progress cannot be kept (or was restored), given once; NULL otherwise. */
const char *progress_warning(struct progress *p);
/* Whether what is noted outlives the program. */
bool progress_kept(const struct progress *p);

/* The last line on the screen and the share read, 0..100; a lesson is read when its end has been seen. */
void progress_note_reading(struct progress *p, const char *lesson, int line, int percent);
int progress_reading_line(const struct progress *p, const char *lesson);
int progress_reading_percent(const struct progress *p, const char *lesson);
bool progress_read(const struct progress *p, const char *lesson);
/* Bookmarks: lines of the text, ascending. Setting one that is there takes it away; true: it is there now. */
enum { PROGRESS_MAX_MARKS = 64 };
bool progress_toggle_mark(struct progress *p, const char *lesson, int line);
int progress_marks(const struct progress *p, const char *lesson, int lines[PROGRESS_MAX_MARKS]);
/* What a live block of the lesson keeps: the learner's answer, or the run it has started. NULL: nothing yet. */
void progress_note_block(struct progress *p, const char *lesson, const char *block, const char *answer);
const char *progress_block(const struct progress *p, const char *lesson, const char *block);
/* The lesson that was read last, or NULL. */
const char *progress_last_lesson(const struct progress *p);

/* A check has ended. Once passed, an exercise stays passed. */
void progress_note_check(struct progress *p, const char *exercise, bool passed);
bool progress_passed(const struct progress *p, const char *exercise);
int progress_checks(const struct progress *p, const char *exercise);

/* Hints of an exercise that were shown. */
void progress_note_hint(struct progress *p, const char *exercise, int shown);
int progress_hints(const struct progress *p, const char *exercise);

void progress_note_prediction(struct progress *p, const char *question, double value);

#endif
