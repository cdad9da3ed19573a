/*
 * run_fold.h - one event into a run_model: what each kind of event changes (see engine/base/event.h).
 */
#ifndef RINGSIDE_TUI_RUN_FOLD_H
#define RINGSIDE_TUI_RUN_FOLD_H

#include "engine/base/event_scan.h"
#include "tui/run_model.h"

void run_fold(struct run_model *m, const json_t *event);
/* The same for an event that event_scan has read; false: that kind needs the JSON library. */
bool run_fold_plain(struct run_model *m, const struct event_record *record);

#endif
