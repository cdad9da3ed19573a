/*
 * run_fold.h - one event into a run_model: what each kind of event changes (see engine/base/event.h).
 */
#ifndef RINGSIDE_TUI_RUN_FOLD_H
#define RINGSIDE_TUI_RUN_FOLD_H

#include "tui/run_model.h"

void run_fold(struct run_model *m, const json_t *event);

#endif
