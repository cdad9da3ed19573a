/*
 * convolutions - the convolutions of a model alone, as oneDNN does them at its best: forward, and backward to the data
 * (but for the first, whose input nobody asks about) and to the weights, each in the layouts that it likes best, with
 * nothing reordered between them. What a training step adds to this is ours to keep small.
 *
 *     convolutions THREADS BATCH < LINES
 * The protocol is that of train_step.
 */
#include "engine/nn/cpu.h"
#include "engine/spec/model.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_RUNS = 512, MOST_MEMORIES = 4 };

/* A primitive with memory of its own. */
struct run {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arguments[MOST_MEMORIES];
    int count;
};

struct bench {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    struct run runs[MOST_RUNS];
    int count;
};

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        if ((call) != dnnl_success) {                                                                        \
            fprintf(stderr, "convolutions: %s failed\n", #call);                                             \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static void argument(struct bench *b, struct run *r, int which, dnnl_primitive_desc_t pd, dnnl_query_t what)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, what, 0);
    size_t bytes = dnnl_memory_desc_get_size(md);
    float *values = aligned_alloc(64, (bytes / 64 + 1) * 64);
    for (size_t i = 0; i < bytes / sizeof *values; i++)
        values[i] = 1e-3F;
    r->arguments[r->count].arg = which;
    CHECK(dnnl_memory_create(&r->arguments[r->count++].memory, md, b->engine, values));
}

static void finish(struct run *r, dnnl_primitive_desc_t pd)
{
    const char *implementation;
    CHECK(dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &implementation));
    if (implementation[0] == 'r' && implementation[1] == 'e' && implementation[2] == 'f')
        fprintf(stderr, "convolutions: oneDNN took %s\n", implementation);
    CHECK(dnnl_primitive_create(&r->primitive, pd));
    CHECK(dnnl_primitive_desc_destroy(pd));
}

struct shapes {
    dnnl_memory_desc_t in, weights, bias, out;
    dnnl_dims_t strides, dilates, padding;
};

static struct shapes shapes_of(const struct layer_spec *l, int batch)
{
    struct shapes s = {.strides = {l->stride[0], l->stride[1]},
                       .dilates = {l->dilation[0] - 1, l->dilation[1] - 1},
                       .padding = {l->padding[0], l->padding[1]}};
    dnnl_dims_t in = {batch, l->in.channels, l->in.height, l->in.width},
                out = {batch, l->out.channels, l->out.height, l->out.width}, bias = {l->channels},
                weights = {l->channels, l->in.channels, l->kernel[0], l->kernel[1]},
                grouped = {l->groups, l->channels / l->groups, l->in.channels / l->groups, l->kernel[0],
                           l->kernel[1]};
    CHECK(dnnl_memory_desc_init_by_tag(&s.in, 4, in, dnnl_f32, dnnl_format_tag_any));
    CHECK(dnnl_memory_desc_init_by_tag(&s.out, 4, out, dnnl_f32, dnnl_format_tag_any));
    CHECK(dnnl_memory_desc_init_by_tag(&s.bias, 1, bias, dnnl_f32, dnnl_format_tag_any));
    CHECK(dnnl_memory_desc_init_by_tag(&s.weights, l->groups > 1 ? 5 : 4, l->groups > 1 ? grouped : weights,
                                       dnnl_f32, dnnl_format_tag_any));
    return s;
}

static void add_convolution(struct bench *b, const struct layer_spec *l, int batch, bool first)
{
    struct shapes s = shapes_of(l, batch);
    dnnl_convolution_desc_t d;
    dnnl_primitive_desc_t forward, pd;
    struct run *r = &b->runs[b->count++];
    CHECK(dnnl_dilated_convolution_forward_desc_init(&d, dnnl_forward_training, dnnl_convolution_direct,
                                                     &s.in, &s.weights, &s.bias, &s.out, s.strides, s.dilates,
                                                     s.padding, s.padding));
    CHECK(dnnl_primitive_desc_create(&forward, &d, NULL, b->engine, NULL));
    argument(b, r, DNNL_ARG_SRC, forward, dnnl_query_src_md);
    argument(b, r, DNNL_ARG_WEIGHTS, forward, dnnl_query_weights_md);
    argument(b, r, DNNL_ARG_DST, forward, dnnl_query_dst_md);
    const dnnl_memory_desc_t *bias = dnnl_primitive_desc_query_md(forward, dnnl_query_weights_md, 1);
    r->arguments[r->count].arg = DNNL_ARG_BIAS;
    CHECK(dnnl_memory_create(&r->arguments[r->count++].memory, bias, b->engine, DNNL_MEMORY_ALLOCATE));

    if (!first) {
        r = &b->runs[b->count++];
        CHECK(dnnl_dilated_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, &s.in, &s.weights,
                                                               &s.out, s.strides, s.dilates, s.padding,
                                                               s.padding));
        CHECK(dnnl_primitive_desc_create(&pd, &d, NULL, b->engine, forward));
        argument(b, r, DNNL_ARG_DIFF_DST, pd, dnnl_query_diff_dst_md);
        argument(b, r, DNNL_ARG_WEIGHTS, pd, dnnl_query_weights_md);
        argument(b, r, DNNL_ARG_DIFF_SRC, pd, dnnl_query_diff_src_md);
        finish(r, pd);
    }
    r = &b->runs[b->count++];
    CHECK(dnnl_dilated_convolution_backward_weights_desc_init(&d, dnnl_convolution_direct, &s.in, &s.weights,
                                                              &s.bias, &s.out, s.strides, s.dilates,
                                                              s.padding, s.padding));
    CHECK(dnnl_primitive_desc_create(&pd, &d, NULL, b->engine, forward));
    argument(b, r, DNNL_ARG_SRC, pd, dnnl_query_src_md);
    argument(b, r, DNNL_ARG_DIFF_DST, pd, dnnl_query_diff_dst_md);
    argument(b, r, DNNL_ARG_DIFF_WEIGHTS, pd, dnnl_query_diff_weights_md);
    bias = dnnl_primitive_desc_query_md(pd, dnnl_query_diff_weights_md, 1);
    r->arguments[r->count].arg = DNNL_ARG_DIFF_BIAS;
    CHECK(dnnl_memory_create(&r->arguments[r->count++].memory, bias, b->engine, DNNL_MEMORY_ALLOCATE));
    finish(r, pd);
    finish(first ? r - 1 : r - 2, forward);
}

static void pass(struct bench *b)
{
    for (int i = 0; i < b->count; i++)
        CHECK(
            dnnl_primitive_execute(b->runs[i].primitive, b->stream, b->runs[i].count, b->runs[i].arguments));
    CHECK(dnnl_stream_wait(b->stream));
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct model_spec model;
    struct error e = {0};
    char *line = NULL;
    size_t room = 0;
    if (argc != 3 || getline(&line, &room, stdin) < 0) {
        fprintf(stderr, "convolutions THREADS BATCH < LINES\n");
        return 2;
    }
    int batch = atoi(argv[2]);
    omp_set_num_threads(atoi(argv[1]));
    json_t *description = json_loads(line, 0, NULL);
    if (!model_from_json(description, &model, &e)) {
        fprintf(stderr, "convolutions: %s\n", e.text);
        return 1;
    }
    CHECK(dnnl_engine_create(&b.engine, dnnl_cpu, 0));
    CHECK(dnnl_stream_create(&b.stream, b.engine, dnnl_stream_default_flags));
    for (int i = 0; i < model.layer_count && b.count + 3 <= MOST_RUNS; i++)
        if (model.layers[i].kind == LAYER_CONV2D)
            add_convolution(&b, &model.layers[i], batch, model.layers[i].inputs[0] == MODEL_INPUT);
    json_decref(description);
    model_free(&model);
    pass(&b);
    printf("ready oneDNN %d oneDNN\n", b.count);
    fflush(stdout);
    while (getline(&line, &room, stdin) >= 0) {
        double begin = now(), seconds = atof(line);
        long samples = 0;
        do {
            pass(&b);
            samples += batch;
        } while (now() - begin < seconds);
        printf("%ld %.6f\n", samples, now() - begin);
        fflush(stdout);
    }
    free(line);
    return 0; /* the primitives and their memory go with the process */
}
