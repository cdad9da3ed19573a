/*
 * line_diff.h - how one text differs from another, line by line.
 *
 * The longest common subsequence of lines stays (R. A. Wagner and M. J. Fischer, The string-to-string correction problem,
 * J. ACM 21 (1974) 168-173, on lines); the rest is in one of the two only. Blanks at a line's end do not count. Lines
 * point into the two texts, which have to outlive the difference.
 */
#ifndef RINGSIDE_TUI_LINE_DIFF_H
#define RINGSIDE_TUI_LINE_DIFF_H

#include "engine/base/error.h"

enum diff_kind { DIFF_SAME, DIFF_FIRST, DIFF_SECOND }; /* in both; in the first or the second alone */

struct diff_line {
    enum diff_kind kind;
    const char *text; /* not ended by a 0 */
    int length;
    int first, second; /* line numbers from 1; 0: not there */
};

struct line_diff {
    struct diff_line *lines;
    int count;
    int only_first, only_second;
};

enum { DIFF_MAX_LINES = 3000 }; /* of a text between common ends: more are shown as entirely different */

/* False and *e only where memory is short. Lines that only the first has come before those that replace them. */
bool line_diff_make(struct line_diff *d, const char *first, const char *second, struct error *e);
void line_diff_free(struct line_diff *d);

#endif
