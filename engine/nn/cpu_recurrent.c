#include "engine/nn/cpu_recurrent.h"

#include <stdlib.h>
#include <string.h>

enum { PAD = 16 };

struct recurrent {
    const struct recurrent_cell *cell;
    int samples, steps, inputs, units;
    size_t width, stride; /* of a row of gates: cell->gates × units, and with what fills it up */
    int teams;            /* threads that share the samples */
    float *input;         /* rows × inputs: x, in the order of the rows; backward: its gradient */
    float *gates;         /* rows × stride */
    float *hidden;        /* rows × units: the state before each step */
    float *memory;        /* rows × units: the cell state after each step */
    float *zeros;         /* samples × units: the cell state before the first step */
    float *grad_hidden, *grad_memory; /* samples × units */
    float *grad_bias;                 /* teams × stride */
};

/* The samples of one thread; its first row is first × steps. */
struct team {
    int first, count;
};

static struct team team_of(const struct recurrent *r, int number)
{
    int first = r->samples * number / r->teams, end = r->samples * (number + 1) / r->teams;
    return (struct team){first, end - first};
}

static size_t row_of(const struct recurrent *r, struct team team, int step)
{
    return (size_t)team.first * (size_t)r->steps + (size_t)step * (size_t)team.count;
}

bool cpu_recurrent_create(struct stage *s, const struct recurrent_cell *cell, struct error *e)
{
    struct recurrent *r = s->own = calloc(1, sizeof *r);
    if (!r)
        return error_set(e, ERROR_FAILED, "there is not enough memory for another layer");
    r->cell = cell;
    r->samples = s->spec.batch;
    r->steps = s->spec.in.channels;
    r->inputs = s->spec.in.width;
    r->units = s->layer->units;
    r->width = (size_t)cell->gates * (size_t)r->units;
    r->stride = (r->width + PAD - 1) / PAD * PAD + PAD;
    r->teams = s->backend->threads < r->samples ? s->backend->threads : r->samples;
    size_t rows = (size_t)r->samples * (size_t)r->steps * sizeof(float), units = (size_t)r->units;
    size_t state = (size_t)r->samples * units * sizeof(float);
    if (!cpu_layout_plain(s->spec.batch, s->spec.out, &s->layout, e) ||
        !(r->input = cpu_floats(rows * (size_t)r->inputs, e)) ||
        !(r->gates = cpu_floats(rows * r->stride, e)) || !(r->hidden = cpu_floats(rows * units, e)))
        return false;
    if (cell->memory && (!(r->memory = cpu_floats(rows * units, e)) || !(r->zeros = cpu_floats(state, e))))
        return false;
    return !s->spec.backward ||
           ((r->grad_hidden = cpu_floats(state, e)) && (r->grad_memory = cpu_floats(state, e)) &&
            (r->grad_bias = cpu_floats((size_t)r->teams * r->stride * sizeof(float), e)));
}

void cpu_recurrent_destroy(struct stage *s)
{
    struct recurrent *r = s->own;
    if (!r)
        return;
    free(r->input);
    free(r->gates);
    free(r->hidden);
    free(r->memory);
    free(r->zeros);
    free(r->grad_hidden);
    free(r->grad_memory);
    free(r->grad_bias);
    free(r);
}

/* Between samples × steps × n, as layers exchange it, and a thread's rows. */
static void to_rows(const struct recurrent *r, struct team team, const float *plain, float *rows, size_t n)
{
    for (int t = 0; t < r->steps; t++)
        for (int j = 0; j < team.count; j++)
            memcpy(rows + (row_of(r, team, t) + (size_t)j) * n,
                   plain + ((size_t)(team.first + j) * (size_t)r->steps + (size_t)t) * n, n * sizeof(float));
}

static void from_rows(const struct recurrent *r, struct team team, const float *rows, float *plain, size_t n,
                      size_t rows_stride)
{
    for (int j = 0; j < team.count; j++)
        for (int t = 0; t < r->steps; t++)
            memcpy(plain + ((size_t)(team.first + j) * (size_t)r->steps + (size_t)t) * n,
                   rows + (row_of(r, team, t) + (size_t)j) * rows_stride, n * sizeof(float));
}

/* The cell at one step: everything but the matrix products, forward or backward. */
static struct cell_step cell_step(const struct stage *s, struct team team, int t)
{
    const struct recurrent *r = s->own;
    size_t units = (size_t)r->units, row = row_of(r, team, t), before = row - (size_t)team.count;
    bool last = t == r->steps - 1, seen = last || !s->layer->last;
    size_t steps_out = s->layer->last ? 1 : (size_t)r->steps, place = s->layer->last ? 0 : (size_t)t;
    size_t out = ((size_t)team.first * steps_out + place) * units, state = (size_t)team.first * units;
    return (struct cell_step){
        .samples = team.count,
        .units = r->units,
        .gates = r->gates + row * r->stride,
        .gates_stride = r->stride,
        .memory_before = !r->memory ? NULL
                         : t == 0   ? r->zeros + state
                                    : r->memory + before * units,
        .memory = r->memory ? r->memory + row * units : NULL,
        .hidden_next = last ? NULL : r->hidden + (row + (size_t)team.count) * units,
        .out = seen ? s->value + out : NULL,
        .grad_out = seen && s->grad ? s->grad + out : NULL,
        .out_stride = steps_out * units,
        .grad_hidden = r->grad_hidden ? r->grad_hidden + state : NULL,
        .grad_memory = r->grad_memory ? r->grad_memory + state : NULL,
    };
}

static dnnl_status_t team_forward(struct stage *s, const struct pass_context *c, struct team team)
{
    const struct recurrent *r = s->own;
    const struct layer_tensor *tensors = s->layer->tensors;
    const float *ih = c->parameters + tensors[0].offset, *hh = c->parameters + tensors[1].offset;
    dnnl_dim_t stride = (dnnl_dim_t)r->stride, width = (dnnl_dim_t)r->width;
    size_t first = row_of(r, team, 0);
    to_rows(r, team, s->inputs[0]->value, r->input, (size_t)r->inputs);
    dnnl_status_t status = dnnl_sgemm('N', 'T', (dnnl_dim_t)team.count * r->steps, width, r->inputs, 1,
                                      r->input + first * (size_t)r->inputs, r->inputs, ih, r->inputs, 0,
                                      r->gates + first * r->stride, stride);
    for (int t = 0; t < r->steps && status == dnnl_success; t++) {
        struct cell_step step = cell_step(s, team, t);
        step.bias = c->parameters + tensors[2].offset;
        if (t > 0)
            status = dnnl_sgemm('N', 'T', team.count, width, r->units, 1,
                                r->hidden + row_of(r, team, t) * (size_t)r->units, r->units, hh, r->units, 1,
                                step.gates, stride);
        r->cell->forward(&step);
    }
    return status;
}

/* Gradients of the gates' sums, of all steps. */
static dnnl_status_t team_backward(struct stage *s, const struct pass_context *c, struct team team,
                                   float *grad_bias)
{
    const struct recurrent *r = s->own;
    const float *hh = c->parameters + s->layer->tensors[1].offset;
    dnnl_status_t status = dnnl_success;
    size_t state = (size_t)team.first * (size_t)r->units,
           size = (size_t)team.count * (size_t)r->units * sizeof(float);
    memset(grad_bias, 0, r->stride * sizeof(float));
    memset(r->grad_hidden + state, 0, size);
    memset(r->grad_memory + state, 0, size);
    for (int t = r->steps - 1; t >= 0 && status == dnnl_success; t--) {
        struct cell_step step = cell_step(s, team, t);
        step.grad_bias = grad_bias;
        r->cell->backward(&step);
        if (t > 0)
            status = dnnl_sgemm('N', 'N', team.count, r->units, (dnnl_dim_t)r->width, 1, step.gates,
                                (dnnl_dim_t)r->stride, hh, r->units, 0, step.grad_hidden, r->units);
    }
    return status;
}

bool cpu_recurrent_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    const struct recurrent *r = s->own;
    dnnl_status_t status = dnnl_success;
#pragma omp parallel for schedule(static) num_threads(r->teams) if (r->teams > 1)
    for (int k = 0; k < r->teams; k++) {
        dnnl_status_t mine = team_forward(s, c, team_of(r, k));
        if (mine != dnnl_success)
#pragma omp critical(recurrent_status)
            status = mine;
    }
    return cpu_check(status, "multiply matrices", e);
}

/* The gradient of one of the weights: of the gates' sums times what the weights were multiplied with. */
static bool weight_gradient(const struct recurrent *r, const float *input, int n, float *gradient,
                            struct error *e)
{
    return cpu_check(dnnl_sgemm('T', 'N', (dnnl_dim_t)r->width, n, (dnnl_dim_t)r->samples * r->steps, 1,
                                r->gates, (dnnl_dim_t)r->stride, input, n, 0, gradient, n),
                     "multiply matrices", e);
}

static dnnl_status_t team_input_gradient(struct stage *s, const struct pass_context *c, struct team team,
                                         float *gradient)
{
    const struct recurrent *r = s->own;
    float *rows = r->input + row_of(r, team, 0) * (size_t)r->inputs;
    dnnl_status_t status =
        dnnl_sgemm('N', 'N', (dnnl_dim_t)team.count * r->steps, r->inputs, (dnnl_dim_t)r->width, 1,
                   r->gates + row_of(r, team, 0) * r->stride, (dnnl_dim_t)r->stride,
                   c->parameters + s->layer->tensors[0].offset, r->inputs, 0, rows, r->inputs);
    from_rows(r, team, r->input, gradient, (size_t)r->inputs, (size_t)r->inputs);
    return status;
}

bool cpu_recurrent_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    const struct recurrent *r = s->own;
    const struct layer_tensor *tensors = s->layer->tensors;
    float *bias = c->gradients + tensors[2].offset;
    dnnl_status_t status = dnnl_success;
#pragma omp parallel for schedule(static) num_threads(r->teams) if (r->teams > 1)
    for (int k = 0; k < r->teams; k++) {
        dnnl_status_t mine = team_backward(s, c, team_of(r, k), r->grad_bias + (size_t)k * r->stride);
        if (mine != dnnl_success)
#pragma omp critical(recurrent_status)
            status = mine;
    }
    memcpy(bias, r->grad_bias, r->width * sizeof(float));
    for (int k = 1; k < r->teams; k++)
        cpu_add(bias, r->grad_bias + (size_t)k * r->stride, r->width, 1);
    if (!cpu_check(status, "multiply matrices", e) ||
        !weight_gradient(r, r->input, r->inputs, c->gradients + tensors[0].offset, e) ||
        !weight_gradient(r, r->hidden, r->units, c->gradients + tensors[1].offset, e))
        return false;
    if (!s->spec.input_gradient[0])
        return true;
    float *gradient = cpu_grad_begin(s, 0);
#pragma omp parallel for schedule(static) num_threads(r->teams) if (r->teams > 1)
    for (int k = 0; k < r->teams; k++) {
        dnnl_status_t mine = team_input_gradient(s, c, team_of(r, k), gradient);
        if (mine != dnnl_success)
#pragma omp critical(recurrent_status)
            status = mine;
    }
    cpu_grad_end(s, 0);
    return cpu_check(status, "multiply matrices", e);
}

bool cpu_recurrent_read(const struct stage *s, const char *name, float *out, struct error *e)
{
    const struct recurrent *r = s->own;
    const float *rows = NULL;
    size_t stride = (size_t)r->units;
    if (strcmp(name, "c") == 0)
        rows = r->memory;
    for (int k = 0; k < r->cell->gates; k++)
        if (strcmp(name, r->cell->names[k]) == 0) {
            rows = r->gates + (size_t)k * (size_t)r->units;
            stride = r->stride;
        }
    if (!rows)
        return error_set(e, ERROR_INPUT, "a %s has no values named \"%s\"", layer_kind_name(s->layer->kind),
                         name);
    for (int k = 0; k < r->teams; k++)
        from_rows(r, team_of(r, k), rows, out, (size_t)r->units, stride);
    return true;
}
