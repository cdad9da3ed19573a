/*
 * compare_plot.h - scaling curves: samples/s over ranks of runs that differ in the ranks alone, beside the ideal line.
 *
 * Runs that belong together (a base and those set against it) are a curve; the ideal line goes from the first curve's
 * base to as many times its samples/s as the most ranks are times its ranks. Where ranks span more than a factor of 16, both
 * axes are logarithmic; the ideal is a straight line on either. Repeated runs show their 95 % interval as a bar.
 */
#ifndef RINGSIDE_TUI_COMPARE_PLOT_H
#define RINGSIDE_TUI_COMPARE_PLOT_H

#include "tui/axis.h"
#include "tui/canvas.h"
#include "tui/compare.h"

/* Whether there is anything to draw: a group that is set against one of fewer ranks. */
bool compare_scales(const struct comparison *c);
/* The axes are the caller's, who keeps them. */
void compare_plot(struct canvas *c, struct rect area, const struct comparison *k, struct axis *x,
                  struct axis *y);

#endif
