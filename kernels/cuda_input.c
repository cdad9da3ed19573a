/*
 * The input stage: two pinned buffers that the host fills in turns, each with its twin on the GPU. A batch travels on
 * the stream of uploads while the one before it is being computed with; the first kernel behind it brings it to the
 * place and the layout that stages (and a recorded graph) expect.
 */
#include "kernels/cuda.h"

#include <stdlib.h>

enum { TURNS = 2 };

struct cuda_input {
    struct cuda_pinned host[TURNS];
    float *device[TURNS];
    cudaEvent_t sent[TURNS]; /* the copy is done: the host may fill its buffer again */
    cudaEvent_t used[TURNS]; /* the batch has been read: the next may be copied over it */
    int turn;                /* the buffer handed out last */
    bool fresh;              /* and not taken in yet */
    bool travels;            /* and on its way already */
};

static size_t input_bytes(const struct stage *s)
{
    return s->elements * sizeof(float);
}

bool cuda_input_new(struct stage *s, struct error *e)
{
    struct cuda_input *in = s->input = calloc(1, sizeof *in);
    bool ok = true;
    if (!in)
        return error_set(e, ERROR_FAILED, "there is not enough memory for another layer");
    for (int i = 0; ok && i < TURNS; i++)
        ok = cuda_pinned_room(&in->host[i], input_bytes(s), e) &&
             (in->device[i] = cuda_memory_new(s->cuda, input_bytes(s), "a batch", e)) &&
             cuda_ok(cudaEventCreateWithFlags(&in->sent[i], cudaEventDisableTiming), "making an event", e) &&
             cuda_ok(cudaEventCreateWithFlags(&in->used[i], cudaEventDisableTiming), "making an event", e);
    return ok && cuda_wait(s->cuda, "clearing the input", e); /* before a copy on the other stream */
}

void cuda_input_free(struct stage *s)
{
    struct cuda_input *in = s->input;
    if (!in)
        return;
    for (int i = 0; i < TURNS; i++) {
        if (in->sent[i])
            cudaEventDestroy(in->sent[i]);
        if (in->used[i])
            cudaEventDestroy(in->used[i]);
        cuda_pinned_free(&in->host[i]);
        cuda_memory_free(in->device[i]);
    }
    free(in);
}

/* An event that was never recorded counts as done. */
void *cuda_input_data(struct stage *s)
{
    struct cuda_input *in = s->input;
    if (!in->fresh || in->travels)
        in->turn = (in->turn + 1) % TURNS;
    in->fresh = true;
    in->travels = false;
    cudaEventSynchronize(in->sent[in->turn]);
    return in->host[in->turn].data;
}

bool cuda_input_complete(struct stage *s, struct error *e)
{
    struct cuda_input *in = s->input;
    struct cuda *cuda = s->cuda;
    int turn = in->turn;
    if (!in->fresh || in->travels)
        return true;
    in->travels = true;
    return cuda_ok(cudaStreamWaitEvent(cuda->uploads, in->used[turn], 0), "waiting for a batch", e) &&
           cuda_ok(cudaMemcpyAsync(in->device[turn], in->host[turn].data, input_bytes(s),
                                   cudaMemcpyHostToDevice, cuda->uploads),
                   "copying a batch to the GPU", e) &&
           cuda_ok(cudaEventRecord(in->sent[turn], cuda->uploads), "recording an event", e);
}

bool cuda_input_send(struct stage *s, struct error *e)
{
    struct cuda_input *in = s->input;
    struct cuda *cuda = s->cuda;
    int turn = in->turn;
    if (!in->fresh)
        return true;
    if (!cuda_input_complete(s, e) ||
        !cuda_ok(cudaStreamWaitEvent(cuda->stream, in->sent[turn], 0), "waiting for a batch", e))
        return false;
    in->fresh = in->travels = false;
    if (s->channels_last)
        kernel_to_channels_last(in->device[turn], s->value, s->spec.batch, s->spec.out.channels,
                                s->spec.out.height * s->spec.out.width, false, cuda->stream);
    else
        kernel_copy(in->device[turn], s->value, s->elements, false, cuda->stream);
    return cuda_launched("taking a batch in", e) &&
           cuda_ok(cudaEventRecord(in->used[turn], cuda->stream), "recording an event", e);
}

bool cuda_step_set(struct cuda *cuda, const struct pass_context *c, int samples, struct error *e)
{
    struct kernel_step now = {.seed = cuda->step_now.seed,
                              .step = cuda->step_now.step,
                              .first_row = cuda->step_now.first_row,
                              .samples = samples < 0 ? cuda->step_now.samples : samples};
    if (c) {
        now.seed = c->seed;
        now.step = c->step;
        now.first_row = c->first_row;
    }
    const struct kernel_step *then = &cuda->step_now;
    if (cuda->step_known && now.seed == then->seed && now.step == then->step &&
        now.first_row == then->first_row && now.samples == then->samples)
        return true;
    cuda->step_now = now;
    cuda->step_known = true;
    kernel_set_step(cuda->step, now, cuda->stream);
    return cuda_launched("beginning a step", e);
}

static bool input_pass(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c;
    return cuda_input_send(s, e);
}

static bool input_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)s, (void)c, (void)e;
    return true;
}

const struct cuda_op cuda_op_input = {.forward = input_pass, .backward = input_backward};
