/*
 * Losses of the last stage's output, and their gradients: what backward begins with.
 *
 * Cross-entropy with label smoothing s over C classes (C. Szegedy et al., Rethinking the inception architecture, CVPR
 * 2016, section 7): the label's probability is 1 - s + s/C, that of every other class s/C.
 */
#include "engine/nn/cpu.h"

#include <math.h>
#include <string.h>

/* The logits are moved by their maximum first, so that no exponential overflows. */
static void cross_entropy_row(const float *logits, int classes, int label, double smoothing, double scale,
                              float *grad, struct loss_sum *sum, int32_t *predicted)
{
    int best = 0;
    for (int c = 1; c < classes; c++)
        if (logits[c] > logits[best])
            best = c;
    double total = 0, all = 0;
    for (int c = 0; c < classes; c++)
        total += exp((double)logits[c] - logits[best]);
    double log_total = log(total) + logits[best], other = smoothing / classes;
    for (int c = 0; smoothing > 0 && c < classes; c++)
        all += log_total - logits[c];
    sum->loss += (1 - smoothing) * (log_total - logits[label]) + other * all;
    sum->correct += best == label;
    if (predicted)
        *predicted = best;
    for (int c = 0; grad && c < classes; c++)
        grad[c] = (float)(scale * (exp((double)logits[c] - logits[best]) / total - other -
                                   (c == label ? 1 - smoothing : 0)));
}

bool cpu_loss(struct stage *last, const struct loss_spec *loss, const struct targets *targets, double scale,
              struct loss_sum *sum, int32_t *predicted, struct error *e)
{
    struct model_shape out = last->spec.out;
    bool sequence = out.kind == SHAPE_SEQUENCE;
    int classes = sequence ? out.width : out.channels, rows_each = sequence ? out.channels : 1;
    *sum = (struct loss_sum){.rows = (long)targets->samples * rows_each};
    (void)e;
    for (long r = 0; r < sum->rows; r++)
        cross_entropy_row(last->value + r * classes, classes, targets->classes[r], loss->label_smoothing,
                          scale, scale > 0 ? last->grad + r * classes : NULL, sum,
                          predicted ? predicted + r : NULL);
    long all = (long)last->spec.batch * rows_each;
    if (scale > 0 && all > sum->rows)
        memset(last->grad + sum->rows * classes, 0, (size_t)((all - sum->rows) * classes) * sizeof(float));
    return true;
}
