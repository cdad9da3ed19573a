/*
 * walled.c - a plugin whose GPU is the CPU behind a wall: what a device with memory of its own asks of whoever uses it, held
 * to it by force, while every number stays the CPU backend's, bit by bit.
 *
 * Its memory is pages that nobody may touch, so that a host that reads or writes them dies at once; the numbers are
 * elsewhere. Of two places for a batch, the one that is not in use is full of NaN. A step can be recorded: what is asked for is kept
 * and done at the end, and the loss is NaN until then. Sums over the ranks are done when somebody polls, and to use
 * what is being summed before that ends the process.
 *
 * WALLED_GPUS: how many there are on the host (1). WALLED_BYTES: of memory (all). The program
 * that loads it has the CPU backend and MPI.
 */
#include "engine/nn/optimizer.h"
#include "engine/nn/plugin.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHECK(condition, ...)                                                                                \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "walled: " __VA_ARGS__);                                                         \
            fputc('\n', stderr);                                                                             \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

enum { REGIONS = 256, INPUTS = 16, CONSUMERS = 64, CALLS = 512, SUMS = 64 };

struct region {
    char *wall;
    size_t bytes;
    float *numbers;
};

/* An input stage: two places for a batch, and the one that the next forward takes. */
struct input {
    struct stage *stage;
    size_t bytes;
    char *place[2];
    int turn;
    bool fresh; /* asked for since it was last taken */
};

struct consumer {
    struct stage *stage;
    struct input *input;
};

enum call_kind { CALL_FORWARD, CALL_LOSS, CALL_BACKWARD };
struct call {
    enum call_kind kind;
    struct stage *stage;
    const struct loss_spec *loss;
    double scale;
};

struct pending_sum {
    enum device_type type;
    const void *from;
    void *to;
    size_t n;
};

static struct walled {
    struct backend *cpu;
    const struct backend_ops *ops;
    struct region regions[REGIONS];
    struct input inputs[INPUTS];
    struct consumer consumers[CONSUMERS];
    size_t used_bytes;
    /* The recording: */
    struct stage *recorded; /* whose network */
    struct call calls[CALLS];
    int call_count;
    bool recording, replays; /* replays: at record_end, with the batch that record_begin found */
    struct pass_context context;
    struct targets targets;
    struct pending_sum sums[SUMS];
    int sum_count;
} w;

/* --- memory --- */

static float *find(const float *p)
{
    if (!p)
        return NULL;
    for (int i = 0; i < REGIONS; i++)
        if ((const char *)p >= w.regions[i].wall && (const char *)p < w.regions[i].wall + w.regions[i].bytes)
            return (float *)((char *)w.regions[i].numbers + ((const char *)p - w.regions[i].wall));
    CHECK(false, "%p is no memory of the device", (const void *)p);
    return NULL;
}

static float *memory_new(struct backend *b, size_t elements, struct error *e)
{
    (void)b;
    size_t bytes = (elements * sizeof(float) / 4096 + 1) * 4096;
    const char *limit = getenv("WALLED_BYTES");
    if (limit && w.used_bytes + bytes > strtoull(limit, NULL, 10)) {
        error_set(e, ERROR_FAILED, "GPU 0 (walled) has no room for %zu bytes", bytes);
        return NULL;
    }
    int i = 0;
    while (i < REGIONS && w.regions[i].wall)
        i++;
    CHECK(i < REGIONS, "more than %d regions", REGIONS);
    struct region *r = &w.regions[i];
    r->wall = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    r->bytes = bytes;
    r->numbers = w.ops->memory_new(w.cpu, bytes / sizeof(float), e);
    CHECK(r->wall != MAP_FAILED && r->numbers, "no memory");
    w.used_bytes += bytes;
    return (float *)r->wall;
}

static void memory_free(struct backend *b, float *memory)
{
    (void)b;
    for (int i = 0; memory && i < REGIONS; i++)
        if (w.regions[i].wall == (char *)memory) {
            w.used_bytes -= w.regions[i].bytes;
            munmap(memory, w.regions[i].bytes);
            w.ops->memory_free(w.cpu, w.regions[i].numbers);
            w.regions[i] = (struct region){0};
            return;
        }
    CHECK(!memory, "%p was never given out", (void *)memory);
}

static void quiet(const char *what)
{
    CHECK(!w.recording, "%s while a step is recorded", what);
}

static bool copy_in(struct backend *b, float *to, const float *from, size_t n, struct error *e)
{
    (void)b, (void)e;
    quiet("copy_in");
    if (n > 0)
        memcpy(find(to), from, n * sizeof *to);
    return true;
}

static bool copy_out(struct backend *b, float *to, const float *from, size_t n, struct error *e)
{
    (void)b, (void)e;
    quiet("copy_out");
    if (n > 0)
        memcpy(to, find(from), n * sizeof *to);
    return true;
}

static bool copy(struct backend *b, float *to, const float *from, size_t n, struct error *e)
{
    (void)b;
    return n == 0 || w.ops->copy(w.cpu, find(to), find(from), n, e);
}

static bool add(struct backend *b, float *to, const float *from, size_t n, struct error *e)
{
    (void)b;
    return n == 0 || w.ops->add(w.cpu, find(to), find(from), n, e);
}

/* --- stages: the CPU's own --- */

static bool fuses_relu(const struct layer_spec *layer)
{
    return w.ops->fuses_relu(layer);
}

static bool fuses_pool(const struct stage_spec *conv, const struct layer_spec *pool)
{
    return w.ops->fuses_pool(conv, pool);
}

static struct input *input_of(const struct stage *s)
{
    for (int i = 0; i < INPUTS; i++)
        if (w.inputs[i].stage == s)
            return &w.inputs[i];
    return NULL;
}

static bool stage_new(struct backend *b, const struct stage_spec *spec, struct stage *const *inputs,
                      struct stage **stage, struct error *e)
{
    (void)b;
    if (!w.ops->stage_new(w.cpu, spec, inputs, stage, e))
        return false;
    if (!spec->layer) {
        int i = 0;
        while (i < INPUTS && w.inputs[i].stage)
            i++;
        CHECK(i < INPUTS, "more than %d inputs", INPUTS);
        struct input *in = &w.inputs[i];
        *in = (struct input){.stage = *stage,
                             .bytes = (size_t)spec->batch * model_shape_elements(spec->in) * sizeof(float)};
        for (int k = 0; k < 2; k++)
            CHECK((in->place[k] = calloc(1, in->bytes)), "no memory");
    }
    for (int k = 0; spec->layer && k < spec->layer->input_count; k++) {
        struct input *in = input_of(inputs[k]);
        int i = 0;
        while (i < CONSUMERS && w.consumers[i].stage)
            i++;
        CHECK(i < CONSUMERS, "more than %d layers take an input", CONSUMERS);
        if (in)
            w.consumers[i] = (struct consumer){*stage, in};
    }
    return true;
}

static void stage_free(struct stage *s)
{
    struct input *in = input_of(s);
    if (in) {
        free(in->place[0]);
        free(in->place[1]);
        *in = (struct input){0};
    }
    for (int i = 0; i < CONSUMERS; i++)
        if (w.consumers[i].stage == s)
            w.consumers[i] = (struct consumer){0};
    if (w.recorded == s)
        w.recorded = NULL;
    w.ops->stage_free(s);
}

static void *input_data(struct stage *s)
{
    struct input *in = input_of(s);
    CHECK(in, "no input stage");
    in->turn = !in->turn;
    in->fresh = true;
    memset(in->place[!in->turn], 0xff, in->bytes);
    return in->place[in->turn];
}

static struct pass_context inside(const struct pass_context *c)
{
    struct pass_context real = *c;
    real.parameters = find(c->parameters);
    real.gradients = find(c->gradients);
    real.state = find(c->state);
    return real;
}

static void take_input(const struct stage *s)
{
    for (int i = 0; i < CONSUMERS; i++)
        if (w.consumers[i].stage == s && w.consumers[i].input->fresh) {
            struct input *in = w.consumers[i].input;
            memcpy(w.ops->input_data(in->stage), in->place[in->turn], in->bytes);
            in->fresh = false;
        }
}

static bool do_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    struct pass_context real = inside(c);
    if (!w.replays)
        take_input(s);
    return w.ops->forward(s, &real, e);
}

static bool do_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    struct pass_context real = inside(c);
    return w.ops->backward(s, &real, e);
}

static void keep(struct call call)
{
    CHECK(w.call_count < CALLS, "more than %d calls in a step", CALLS);
    w.calls[w.call_count++] = call;
}

static bool forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    if (!w.recording)
        return do_forward(s, c, e);
    take_input(s);
    keep((struct call){.kind = CALL_FORWARD, .stage = s});
    return true;
}

static bool backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    CHECK(c->gradients, "backward without room for gradients");
    if (!w.recording)
        return do_backward(s, c, e);
    keep((struct call){.kind = CALL_BACKWARD, .stage = s});
    return true;
}

static bool loss(struct stage *last, const struct loss_spec *loss, const struct targets *targets,
                 double scale, struct loss_sum *sum, int32_t *predicted, struct error *e)
{
    if (!w.recording)
        return w.ops->loss(last, loss, targets, scale, sum, predicted, e);
    CHECK(scale > 0 && !predicted, "a recorded loss is of training");
    keep((struct call){.kind = CALL_LOSS, .stage = last, .loss = loss, .scale = scale});
    *sum = (struct loss_sum){.loss = NAN, .correct = -1, .rows = -1};
    return true;
}

static bool record_begin(struct backend *b, struct stage *last, const struct pass_context *c,
                         const struct targets *targets, bool *replayed, struct error *e)
{
    (void)b, (void)e;
    quiet("record_begin");
    CHECK(!w.recorded || w.recorded == last, "one network is recorded");
    CHECK(!w.recorded || (c->parameters == w.context.parameters && c->gradients == w.context.gradients &&
                          c->state == w.context.state),
          "the buffers of a recorded step have changed");
    *replayed = w.recorded == last;
    w.recording = !*replayed;
    if (w.recording)
        w.call_count = 0;
    for (int i = 0; *replayed && i < w.call_count; i++)
        take_input(w.calls[i].stage);
    w.recorded = last;
    w.context = *c;
    w.targets = *targets;
    return true;
}

static bool record_end(struct backend *b, struct loss_sum *sum, struct error *e)
{
    (void)b;
    w.recording = false;
    bool ok = w.recorded != NULL;
    w.replays = true;
    for (int i = 0; ok && i < w.call_count; i++) {
        const struct call *c = &w.calls[i];
        ok = c->kind == CALL_FORWARD    ? do_forward(c->stage, &w.context, e)
             : c->kind == CALL_BACKWARD ? do_backward(c->stage, &w.context, e)
                                        : w.ops->loss(c->stage, c->loss, &w.targets, c->scale, sum, NULL, e);
    }
    w.replays = false;
    return ok;
}

static bool read_out(struct stage *s, float *out, struct error *e)
{
    quiet("read");
    return w.ops->read(s, out, e);
}

static bool read_gradient(struct stage *s, float *out, struct error *e)
{
    quiet("read_gradient");
    return w.ops->read_gradient(s, out, e);
}

static bool write_gradient(struct stage *s, const float *gradient, struct error *e)
{
    quiet("write_gradient");
    return w.ops->write_gradient(s, gradient, e);
}

static bool read_internal(struct stage *s, const char *name, float *out, struct error *e)
{
    quiet("read_internal");
    return w.ops->read_internal(s, name, out, e);
}

static bool optimize(struct backend *b, const struct optimizer_step *step, double *squares, struct error *e)
{
    (void)b;
    quiet("optimize");
    CHECK(w.sum_count == 0, "a step is taken before the gradients have been summed");
    struct optimizer_step real = *step;
    real.parameters = find(step->parameters);
    real.gradients = find(step->gradients);
    real.first = find(step->first);
    real.second = find(step->second);
    return w.ops->optimize(w.cpu, &real, squares, e);
}

static const char *implementation(const struct stage *s, enum pass pass)
{
    return w.ops->implementation(s, pass);
}

static void close_backend(struct backend *b)
{
    for (int i = 0; i < REGIONS; i++)
        CHECK(!w.regions[i].wall, "%zu bytes of the device are left", w.regions[i].bytes);
    for (int i = 0; i < INPUTS; i++)
        CHECK(!w.inputs[i].stage, "a stage is left");
    backend_close(w.cpu);
    w = (struct walled){0};
    free(b);
}

static const struct backend_ops walled_ops = {
    .name = "walled",
    .memory_new = memory_new,
    .memory_free = memory_free,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy = copy,
    .add = add,
    .fuses_relu = fuses_relu,
    .fuses_pool = fuses_pool,
    .stage_new = stage_new,
    .stage_free = stage_free,
    .input_data = input_data,
    .forward = forward,
    .backward = backward,
    .loss = loss,
    .record_begin = record_begin,
    .record_end = record_end,
    .read = read_out,
    .read_gradient = read_gradient,
    .write_gradient = write_gradient,
    .read_internal = read_internal,
    .optimize = optimize,
    .implementation = implementation,
    .close = close_backend,
};

/* --- sums over the ranks: MPI's, when somebody polls --- */

static bool sum(struct device_comm *d, enum device_type type, const void *from, void *to, size_t n,
                struct error *e)
{
    (void)d, (void)e;
    CHECK(w.sum_count < SUMS, "more than %d sums on their way", SUMS);
    CHECK(type == DEVICE_F32, "float32 alone");
    w.sums[w.sum_count++] = (struct pending_sum){type, from, to, n};
    return true;
}

static bool join(struct device_comm *d, struct error *e)
{
    (void)d, (void)e;
    return true;
}

static enum progress poll(struct device_comm *d, struct error *e)
{
    (void)e;
    int *looks = d->self;
    if (++*looks % 3)
        return PROGRESS_BUSY;
    for (int i = 0; i < w.sum_count; i++) {
        const struct pending_sum *s = &w.sums[i];
        float *to = find(s->to);
        if (s->from != s->to)
            memcpy(to, find(s->from), s->n * sizeof *to);
        MPI_Allreduce(MPI_IN_PLACE, to, (int)s->n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    w.sum_count = 0;
    return PROGRESS_DONE;
}

static void times(struct device_comm *d, double *busy_s, double *exposed_s)
{
    (void)d;
    *busy_s = 2e-3;
    *exposed_s = 1e-3;
}

static void close_comm(struct device_comm *d)
{
    free(d->self);
    free(d);
}

static const struct device_comm_ops comm_ops = {sum, join, poll, times, close_comm};

static bool comm_version(char text[32], struct error *e)
{
    (void)e;
    snprintf(text, 32, "walled NCCL");
    return true;
}

static bool comm_id(struct device_comm_id *id, struct error *e)
{
    (void)e;
    *id = (struct device_comm_id){"walled"};
    return true;
}

static struct device_comm *comm_open(struct backend *b, const struct device_comm_id *id, int rank, int ranks,
                                     struct error *e)
{
    (void)b, (void)rank, (void)ranks, (void)e;
    CHECK(strcmp(id->bytes, "walled") == 0, "not the identifier of rank 0");
    struct device_comm *d = calloc(1, sizeof *d);
    CHECK(d && (d->self = calloc(1, sizeof(int))), "no memory");
    d->ops = &comm_ops;
    snprintf(d->name, sizeof d->name, "walled NCCL");
    return d;
}

/* --- the plugin --- */

static int device_count(struct error *e)
{
    const char *count = getenv("WALLED_GPUS");
    int n = count ? atoi(count) : 1;
    if (n < 1)
        error_set(e, ERROR_MISSING, "no GPU: the wall has no gate");
    return n;
}

static bool device_info(int device, struct gpu_device *info, struct error *e)
{
    (void)e;
    *info = (struct gpu_device){.name = "walled", .memory_bytes = 1 << 30, .free_bytes = 1 << 30};
    snprintf(info->uuid, sizeof info->uuid, "walled-%d", device);
    return true;
}

static struct backend *backend_open(int device, unsigned options, struct error *e)
{
    (void)device, (void)options;
    CHECK(!w.cpu, "one backend at a time");
    struct backend *b = calloc(1, sizeof *b);
    CHECK(b, "no memory");
    w.cpu = backend_cpu_open(1, e);
    if (!w.cpu) {
        free(b);
        return NULL;
    }
    w.ops = w.cpu->ops;
    *b = (struct backend){.ops = &walled_ops, .threads = 1};
    return b;
}

static struct gpu_meter *meter_open(int device, struct error *e)
{
    (void)device, (void)e;
    return (struct gpu_meter *)&w; /* nothing to keep */
}

static void meter_read(struct gpu_meter *m, struct gpu_readings *r)
{
    (void)m;
    *r = (struct gpu_readings){
        .util = 0.75, .used_bytes = (double)w.used_bytes, .total_bytes = 1 << 30, .power_w = NAN};
}

static void meter_close(struct gpu_meter *m)
{
    (void)m;
}

extern const struct gpu_plugin ringside_cuda_plugin;
const struct gpu_plugin ringside_cuda_plugin = {
    .version = GPU_PLUGIN_VERSION,
    .name = "walled",
    .build = "for tests",
    .emulation = true,
    .device_count = device_count,
    .device_info = device_info,
    .backend_open = backend_open,
    .meter_open = meter_open,
    .meter_read = meter_read,
    .meter_close = meter_close,
    .comm_version = comm_version,
    .comm_id = comm_id,
    .comm_open = comm_open,
};
