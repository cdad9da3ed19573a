/*
 * A training step as a CUDA graph: the passes' kernels are recorded once and then started as a whole, which spares the host
 * the launches (a small network's kernels are done faster than they can be started one by one).
 *
 * The first step of a network runs as ever: with it buffers and cuBLAS get all the memory they need. The second is
 * recorded, not run, and then started; so is every later one. What changes from step to step lies in device memory that the host
 * writes before (cuda_step_set, the batch, the targets).
 */
#include "kernels/cuda.h"

#include <stdlib.h>

struct cuda_record {
    bool warm; /* a step has run */
    /* The buffers it was recorded with. */
    const float *parameters;
    float *gradients, *state;
    cudaGraphExec_t graph; /* NULL: not recorded yet */
};

static void forget(struct cuda_record *r)
{
    if (r->graph)
        cudaGraphExecDestroy(r->graph);
    r->graph = NULL;
}

static bool ready(const struct cuda_record *r)
{
    return r->graph;
}

/* Statistics of all ranks go by way of the host in the middle of a step. */
static bool can_record(const struct cuda *cuda, const struct pass_context *c)
{
    return !(cuda->synchronised && c->all_ranks && c->all_ranks->ranks > 1);
}

static bool capture(struct cuda *cuda, struct error *e)
{
    cuda->capturing = cuda_ok(cudaStreamBeginCapture(cuda->stream, cudaStreamCaptureModeRelaxed),
                              "recording a training step", e);
    return cuda->capturing;
}

static bool capture_end(struct cuda *cuda, struct cuda_record *r, struct error *e)
{
    cudaGraph_t graph = NULL;
    cuda->capturing = false;
    bool ok =
        cuda_ok(cudaStreamEndCapture(cuda->stream, &graph), "recording a training step", e) &&
        cuda_ok(cudaGraphInstantiateWithFlags(&r->graph, graph, 0), "making a graph of a training step", e);
    if (graph)
        cudaGraphDestroy(graph);
    return ok;
}

static bool start(const struct cuda *cuda, const struct cuda_record *r, struct error *e)
{
    return cuda_ok(cudaGraphLaunch(r->graph, cuda->stream), "starting a recorded step", e);
}

void cuda_record_free(struct stage *s)
{
    if (!s->record)
        return;
    if (s->cuda->recording == s)
        s->cuda->recording = NULL;
    forget(s->record);
    free(s->record);
}

static struct stage *input_of(struct stage *s)
{
    while (s->layer)
        s = s->inputs[0];
    return s;
}

static bool same_buffers(const struct cuda_record *r, const struct pass_context *c)
{
    return r->parameters == c->parameters && r->gradients == c->gradients && r->state == c->state;
}

bool cuda_record_begin(struct backend *b, struct stage *last, const struct pass_context *c,
                       const struct targets *targets, bool *replayed, struct error *e)
{
    struct cuda *cuda = b->self;
    struct cuda_record *r = last->record;
    *replayed = false;
    if (!r && !(r = last->record = calloc(1, sizeof *r)))
        return error_set(e, ERROR_FAILED, "there is not enough memory to record a step");
    cuda->recording = last;
    if (!r->warm || !same_buffers(r, c)) {
        forget(r);
        r->parameters = c->parameters;
        r->gradients = c->gradients;
        r->state = c->state;
        return true;
    }
    if (!can_record(cuda, c))
        return true;
    if (!cuda_input_send(input_of(last), e) || !cuda_step_set(cuda, c, -1, e) ||
        !cuda_loss_send(last, targets, e))
        return false;
    if (!ready(r))
        return capture(cuda, e);
    *replayed = true;
    return start(cuda, r, e) && cuda_loss_mark(last, e);
}

bool cuda_record_end(struct backend *b, struct loss_sum *sum, struct error *e)
{
    struct cuda *cuda = b->self;
    struct stage *last = cuda->recording;
    if (!last)
        return error_set(e, ERROR_FAILED, "no step is being recorded");
    cuda->recording = NULL;
    if (cuda->capturing &&
        (!capture_end(cuda, last->record, e) || !start(cuda, last->record, e) || !cuda_loss_mark(last, e)))
        return false;
    last->record->warm = true;
    return cuda_loss_result(last, sum, e);
}
