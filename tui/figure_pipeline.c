/*
 * figure_pipeline.c - pipeline stages over time: microbatches forward, then backward, and the bubble between.
 *
 *     show: pipeline
 *     stages: 4           2 to 8
 *     microbatches: 4     1 to 9
 *
 * Forward and backward of a microbatch are drawn as one slot each. p stages and m microbatches: a stage is idle for
 * p - 1 of the m + p - 1 slots of each half, so the bubble is (p - 1) / (m + p - 1) (Y. Huang et al., GPipe: efficient
 * training of giant neural networks using pipeline parallelism, NeurIPS 2019).
 */
#include "tui/figure.h"
#include "tui/text.h"

#include <stdio.h>

enum { LABEL = 9 };

static bool numbers(const struct block_text *t, int *stages, int *micro, struct error *e)
{
    return block_text_integer(t, "stages", 2, 8, 4, stages, e) &&
           block_text_integer(t, "microbatches", 1, 9, 4, micro, e);
}

static bool pipeline_check(const struct block_text *t, struct error *e)
{
    int stages, micro;
    return numbers(t, &stages, &micro, e);
}

static int pipeline_rows(const struct block_text *t, int cols)
{
    int stages = 4, micro = 4;
    (void)cols;
    numbers(t, &stages, &micro, NULL);
    return stages + 3;
}

static void pipeline_draw(const struct block_text *t, struct canvas *c, struct rect in, int step)
{
    int p = 4, m = 4;
    (void)step;
    numbers(t, &p, &m, NULL);
    int slots = 2 * (m + p - 1), each = (in.cols - LABEL) / slots;
    each = each < 1 ? 1 : each > 4 ? 4 : each;
    for (int s = 0; s < p; s++) {
        canvas_format(c, in.row + s, in.col, LABEL, ROLE_TEXT, 0, _("stage %d"), s);
        for (int k = 0; k < slots; k++) {
            int col = in.col + LABEL + k * each, half = slots / 2;
            /* Forward: stage s has microbatch k - s. Backward, mirrored: the last stage begins. */
            int forward = k < half ? k - s : -1, backward = k >= half ? k - half - (p - 1 - s) : -1;
            bool f = forward >= 0 && forward < m, b = backward >= 0 && backward < m;
            enum role role = f ? ROLE_SERIES1 : b ? ROLE_SERIES2 : ROLE_BORDER;
            for (int i = 0; i < each; i++)
                canvas_put(c, in.row + s, col + i, f || b ? ' ' : 0x00b7, role, f || b ? ATTR_REVERSE : 0);
            if (f || b)
                canvas_format(c, in.row + s, col + (each - 1) / 2, 1, role, ATTR_REVERSE, "%d",
                              f ? forward : backward);
        }
    }
    int row = in.row + p + 1, col = in.col;
    canvas_put(c, row, col, ' ', ROLE_SERIES1, ATTR_REVERSE);
    col += 2 + canvas_text(c, row, col + 2, 12, ROLE_MUTED, 0, _("forward")) + 2;
    canvas_put(c, row, col, ' ', ROLE_SERIES2, ATTR_REVERSE);
    col += 2 + canvas_text(c, row, col + 2, 12, ROLE_MUTED, 0, _("backward")) + 2;
    canvas_put(c, row, col, 0x00b7, ROLE_BORDER, 0);
    canvas_text(c, row, col + 2, 12, ROLE_MUTED, 0, _("idle"));
    canvas_format(c, row + 1, in.col, in.cols, ROLE_TEXT, 0, _("bubble (p−1)/(m+p−1) = %d/%d = %.0f %%"),
                  p - 1, m + p - 1, 100.0 * (p - 1) / (m + p - 1));
}

const struct figure figure_pipeline = {"pipeline", pipeline_check, pipeline_rows, pipeline_draw, NULL};
