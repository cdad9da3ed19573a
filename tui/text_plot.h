/*
 * text_plot.h - a small line plot as plain text, for reports without a terminal.
 *
 * Braille dots (2 by 4 a character) where the locale is UTF-8, else asterisks. Where there are more samples than
 * columns of dots, each column shows their mean.
 */
#ifndef RINGSIDE_TUI_TEXT_PLOT_H
#define RINGSIDE_TUI_TEXT_PLOT_H

#include <stdbool.h>
#include <stdio.h>

enum { TEXT_PLOT_COLUMNS = 60, TEXT_PLOT_ROWS = 12 };

/* Prints title, plot and axis labels; samples that are not finite are left out. Prints nothing without two samples. */
void text_plot(FILE *to, const char *title, const char *x_label, const double *x, const double *y, int count,
               bool utf8);

/* Whether the locale's characters are UTF-8; sets the locale's character type from the environment. */
bool text_is_utf8(void);

#endif
