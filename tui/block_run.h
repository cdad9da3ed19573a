/*
 * block_run.h - what a run block and a sim block with a body of Lua share: they start a job and follow it.
 */
#ifndef RINGSIDE_TUI_BLOCK_RUN_H
#define RINGSIDE_TUI_BLOCK_RUN_H

#include "tui/block_kind.h"
#include "tui/run_model.h"

/* One line for each figure that matters of a run that has ended ("accuracy 98.1 %, 12 300 samples/s"); "" for none. */
void block_run_figures(const struct run_model *m, char *text, size_t size);
/* A figure by its name: loss, accuracy, samples_per_s, step_ms, wall_s, comm_percent; of an allreduce busbw, time_us
 * (of the largest buffer), or these with an algorithm behind a blank; of a script the last y of its series of that
 * name. NaN: it has none. */
double block_run_measure(const struct run_model *m, const char *what);

/* Rows of the plot of a run in a block, and the plot: what `shows` asks for, else what suits its kind. */
enum { BLOCK_PLOT_ROWS = 9 };
bool block_run_plot(const struct run_model *m, const char *shows, struct canvas *c, struct rect area);

#endif
