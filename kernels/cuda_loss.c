/*
 * The loss of the last stage's output: targets travel to the GPU, kernels/loss.cu does the rest, and sums come back.
 *
 * While a graph is recorded these are apart: targets are sent before it, only the kernels are in it, and sums are asked for
 * behind it. All that a graph refers to belongs to the stage and stays where it is.
 */
#include "engine/nn/labels.h"
#include "kernels/cuda.h"

#include <stdlib.h>
#include <string.h>

struct cuda_losses {
    struct loss_spec loss; /* of the last call */
    bool values;           /* and whether it was held against numbers */
    struct cuda_pinned sent, told;
    int32_t *class_room; /* on the device, as the following: targets ... */
    float *value_room;
    struct kernel_row *rows; /* ... and results */
    struct kernel_loss_sum *sum;
    cudaEvent_t done; /* what the loss came to is in told */
};

/* The last stage's output as rows. */
struct loss_shape {
    long rows_each, rows; /* of a sample; of the whole batch */
    size_t columns;
};

static struct loss_shape shape_of(const struct stage *last)
{
    struct model_shape out = last->spec.out;
    struct loss_shape s = {.rows_each = out.kind == SHAPE_SEQUENCE ? out.channels : 1};
    s.rows = last->spec.batch * s.rows_each;
    s.columns = last->elements / (size_t)s.rows;
    return s;
}

void cuda_losses_free(struct stage *s)
{
    struct cuda_losses *l = s->losses;
    if (!l)
        return;
    cuda_pinned_free(&l->sent);
    cuda_pinned_free(&l->told);
    cuda_memory_free(l->class_room);
    cuda_memory_free(l->value_room);
    cuda_memory_free(l->rows);
    cuda_memory_free(l->sum);
    if (l->done)
        cudaEventDestroy(l->done);
    free(l);
    s->losses = NULL;
}

static struct cuda_losses *losses_of(struct stage *last, struct error *e)
{
    struct cuda *cuda = last->cuda;
    struct loss_shape s = shape_of(last);
    if (last->losses)
        return last->losses;
    struct cuda_losses *l = last->losses = calloc(1, sizeof *l);
    if (!l) {
        error_set(e, ERROR_FAILED, "there is not enough memory for the loss");
        return NULL;
    }
    bool ok = (l->rows = cuda_memory_new(cuda, (size_t)s.rows * sizeof *l->rows, "the loss", e)) &&
              (l->sum = cuda_memory_new(cuda, sizeof *l->sum, "the loss", e)) &&
              cuda_pinned_room(&l->told, sizeof *l->sum, e) &&
              cuda_ok(cudaEventCreateWithFlags(&l->done, cudaEventDisableTiming), "making an event", e);
    if (!ok)
        cuda_losses_free(last);
    return last->losses;
}

/* Targets of loss l->loss. Rooms are made for the whole batch, however much of it counts. */
bool cuda_loss_send(struct stage *last, const struct targets *targets, struct error *e)
{
    struct cuda *cuda = last->cuda;
    struct cuda_losses *l = last->losses;
    struct loss_shape s = shape_of(last);
    bool each = l->loss.kind == LOSS_BCE; /* a target an element, or a row */
    l->values = targets->values && l->loss.kind != LOSS_CROSS_ENTROPY;
    each = each || l->values;
    size_t row = (each ? s.columns : 1) * sizeof(float), most = (size_t)s.rows * row,
           bytes = (size_t)(targets->samples * s.rows_each) * row;
    if (!each && !labels_check(targets, targets->samples * s.rows_each, s.columns, e))
        return false;
    if (!cuda_pinned_room(&l->sent, most, e) ||
        (l->values && !l->value_room && !(l->value_room = cuda_memory_new(cuda, most, "the targets", e))) ||
        (!l->values && !l->class_room && !(l->class_room = cuda_memory_new(cuda, most, "the targets", e))))
        return false;
    const void *from = targets->classes;
    if (l->values)
        from = targets->values;
    if (bytes > 0 && from)
        memcpy(l->sent.data, from, bytes);
    return cuda_ok(cudaMemcpyAsync(l->values ? (void *)l->value_room : l->class_room, l->sent.data, bytes,
                                   cudaMemcpyHostToDevice, cuda->stream),
                   "copying targets to the GPU", e) &&
           cuda_step_set(cuda, NULL, targets->samples, e);
}

static enum kernel_loss kind_of(const struct loss_spec *loss)
{
    switch (loss->kind) {
    case LOSS_CROSS_ENTROPY: return KERNEL_CROSS_ENTROPY;
    case LOSS_BCE: return KERNEL_BCE;
    default: return KERNEL_MSE;
    }
}

/* Puts the kernels on the stream, and the copy of what they come to. */
static bool start(struct stage *last, double scale, struct error *e)
{
    struct cuda *cuda = last->cuda;
    const struct cuda_losses *l = last->losses;
    struct loss_shape s = shape_of(last);
    struct kernel_loss_spec spec = {.kind = kind_of(&l->loss),
                                    .rows = (int)s.rows,
                                    .rows_each = (int)s.rows_each,
                                    .columns = (int)s.columns,
                                    .smoothing = l->loss.label_smoothing,
                                    .scale = scale,
                                    .out = last->value,
                                    .classes = l->values ? NULL : l->class_room,
                                    .values = l->values ? l->value_room : NULL,
                                    .grad = scale > 0 ? last->grad : NULL};
    kernel_losses(&spec, cuda->step, l->rows, l->sum, cuda->stream);
    return cuda_launched("the loss", e) && cuda_ok(cudaMemcpyAsync(l->told.data, l->sum, sizeof *l->sum,
                                                                   cudaMemcpyDeviceToHost, cuda->stream),
                                                   "copying the loss", e);
}

bool cuda_loss_mark(struct stage *last, struct error *e)
{
    return cuda_ok(cudaEventRecord(last->losses->done, last->cuda->stream), "recording an event", e);
}

bool cuda_loss_result(struct stage *last, struct loss_sum *sum, struct error *e)
{
    const struct cuda_losses *l = last->losses;
    *sum = (struct loss_sum){0};
    if (!l)
        return error_set(e, ERROR_FAILED, "no loss was computed in the step that was recorded");
    if (!cuda_ok(cudaEventSynchronize(l->done), "a training step", e))
        return false;
    const struct kernel_loss_sum *told = l->told.data;
    *sum = (struct loss_sum){.loss = told->loss,
                             .correct = (long)told->correct,
                             .rows = last->cuda->step_now.samples * shape_of(last).rows_each};
    return true;
}

static bool read_predicted(struct stage *last, long count, int32_t *predicted, struct error *e)
{
    size_t bytes = (size_t)count * sizeof(struct kernel_row);
    struct kernel_row *rows = malloc(bytes > 0 ? bytes : 1);
    if (!rows)
        return error_set(e, ERROR_FAILED, "there is not enough memory for predictions");
    bool ok =
        cuda_ok(cudaMemcpyAsync(rows, last->losses->rows, bytes, cudaMemcpyDeviceToHost, last->cuda->stream),
                "copying predictions", e) &&
        cuda_wait(last->cuda, "copying predictions", e);
    for (long i = 0; ok && i < count; i++)
        predicted[i] = rows[i].predicted;
    free(rows);
    return ok;
}

bool cuda_loss(struct stage *last, const struct loss_spec *loss, const struct targets *targets, double scale,
               struct loss_sum *sum, int32_t *predicted, struct error *e)
{
    struct cuda *cuda = last->cuda;
    *sum = (struct loss_sum){0};
    if (!losses_of(last, e) || (scale > 0 && !cuda_grad_room(last, e)))
        return false;
    last->losses->loss = *loss;
    if (cuda->capturing)
        return start(last, scale, e);
    if (!cuda_loss_send(last, targets, e) || !start(last, scale, e) || !cuda_loss_mark(last, e))
        return false;
    if (cuda->recording == last) /* record_end tells the sums */
        return true;
    return cuda_loss_result(last, sum, e) && (!predicted || read_predicted(last, sum->rows, predicted, e));
}
