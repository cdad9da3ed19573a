/*
 * Every layer and every loss of the CUDA backend, under emulation, beside the CPU backend: what it puts out in training and in
 * evaluation, the gradients of its parameters and of its input, running statistics, and what it keeps inside. Sizes are no
 * multiples of a block or a warp. Each case runs with several orders of blocks and threads, and must give the same bits in
 * all of them.
 */
#include "engine/base/random.h"
#include "engine/nn/network.h"
#include "engine/nn/optimizer.h"
#include "engine/nn/plugin.h"
#include "kernels/cuda_backend.h"
#include "kernels/kernels.h"
#include "tests/unit/kernels/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETER_SEED = 5 };
/* So often, each time with the emulation's threads in another order; on a GPU, which has its own, just once more. */
#ifdef KERNELS_EMULATED
enum { ORDERS = 3 };
#else
enum { ORDERS = 2 };
#endif

/* Layers and inputs are JSON of engine/spec/model_json.h with ' for ". bound: 0 means 1e-5 of the largest number. */
static const struct op_case {
    const char *layers, *input;
    int batch;
    bool in_residual; /* also with a shortcut around it: then its input's gradient is added to */
    double bound;
} cases[] = {
    {"{'kind':'conv2d','channels':5,'kernel':3}", "[3,9,7]", 3, false, 0},
    {"{'kind':'conv2d','channels':6,'kernel':[3,2],'stride':[2,1],'padding':[2,1],'dilation':[2,1],'bias':"
     "false}",
     "[4,11,9]", 3, false, 0},
    {"{'kind':'conv2d','channels':6,'kernel':3,'padding':1,'groups':3}", "[6,7,5]", 2, true, 0},
    {"{'kind':'conv2d','channels':7,'kernel':1}", "[7,5,6]", 5, true, 0},
    {"{'kind':'conv2d','channels':5,'kernel':3},{'kind':'relu'}", "[2,9,8]", 4, false, 0},
    {"{'kind':'conv2d','channels':33,'kernel':3},{'kind':'relu'},{'kind':'maxpool','size':2}", "[1,13,11]", 3,
     false, 0},
    {"{'kind':'maxpool','size':3,'stride':2,'padding':1}", "[5,11,9]", 3, false, 0},
    {"{'kind':'maxpool','size':3,'stride':1,'padding':1}", "[5,7,9]", 3, true, 0},
    {"{'kind':'avgpool','size':[3,2],'stride':2,'padding':1}", "[5,11,9]", 3, false, 0},
    {"{'kind':'global_avgpool'}", "[37,6,7]", 3, false, 0},
    {"{'kind':'batchnorm'}", "[5,7,6]", 6, true, 2e-5},
    {"{'kind':'batchnorm'},{'kind':'relu'}", "[37,1,1]", 70, false, 2e-5},
    {"{'kind':'layernorm'}", "[83,1,1]", 7, true, 2e-5},
    {"{'kind':'layernorm'}", "{'steps':7,'features':45}", 5, true, 2e-5},
    {"{'kind':'layernorm'}", "[5,6,7]", 5, true, 2e-5},
    {"{'kind':'layernorm'}", "[1500,1,1]", 3, false, 2e-5},
    {"{'kind':'dropout','rate':0.3}", "[301,1,1]", 9, true, 0},
    {"{'kind':'dropout','rate':0.5}", "[3,9,8]", 4, true, 0},
    {"{'kind':'dropout','rate':0.1}", "{'steps':5,'features':45}", 3, true, 0},
    {"{'kind':'relu'}", "[3,9,8]", 4, true, 0},
    {"{'kind':'leaky_relu','slope':0.2}", "[1031,1,1]", 2, true, 0},
    {"{'kind':'gelu'}", "[301,1,1]", 9, true, 0},
    {"{'kind':'gelu'}", "[3,9,8]", 4, true, 0},
    {"{'kind':'tanh'}", "[3,9,8]", 4, true, 0},
    {"{'kind':'sigmoid'}", "{'steps':5,'features':45}", 3, true, 0},
    {"{'kind':'dense','units':33}", "[70,1,1]", 37, false, 0},
    {"{'kind':'dense','units':70}", "[70,1,1]", 5, true, 0},
    {"{'kind':'dense','units':7,'bias':false},{'kind':'relu'}", "{'steps':6,'features':19}", 3, false, 0},
    {"{'kind':'embedding','vocabulary':50,'units':37}", "{'tokens':13}", 5, false, 0},
    {"{'kind':'embedding','vocabulary':7,'units':150}", "{'tokens':90}", 3, false, 0},
    {"{'kind':'simple_rnn','units':37}", "{'steps':6,'features':19}", 5, false, 0},
    {"{'kind':'simple_rnn','units':19,'last':true}", "{'steps':5,'features':19}", 3, false, 0},
    {"{'kind':'simple_rnn','units':9},{'kind':'simple_rnn','units':5,'last':true}",
     "{'steps':4,'features':3}", 2, false, 0},
    {"{'kind':'lstm','units':37}", "{'steps':6,'features':19}", 5, false, 0},
    {"{'kind':'lstm','units':19}", "{'steps':5,'features':19}", 3, true, 0},
    {"{'kind':'lstm','units':70,'last':true}", "{'steps':9,'features':5}", 3, false, 0},
    {"{'kind':'lstm','units':5}", "{'steps':1,'features':3}", 2, false, 0},
    {"{'kind':'flatten'}", "[5,7,6]", 3, false, 0},
    {"{'kind':'reshape','shape':[6,5,7]}", "[5,7,6]", 3, false, 0},
    {"{'kind':'branches','branches':[[{'kind':'tanh'}],[{'kind':'conv2d','channels':3,'kernel':1}]]}",
     "[5,7,6]", 3, false, 0},
    {"{'kind':'residual','layers':[{'kind':'gelu'}],'shortcut':[{'kind':'sigmoid'}]},{'kind':'relu'}",
     "[5,7,6]", 3, false, 0},
};

/* One model on one backend. */
struct side {
    struct backend *backend;
    struct network *network;
    float *gradients; /* the backend's */
    /* What comes of it, on the host. */
    float *out, *evaluated, *parameter_gradient, *input_gradient, *state;
};

static void check(bool ok, const struct error *e)
{
    if (!ok) {
        fail_msg("%s", e->text);
        abort(); /* never: fail_msg does not return, which its declaration does not say */
    }
}

static struct model_spec model_of(const char *layers, const char *input, const char *loss)
{
    char text[2000];
    struct model_spec model;
    struct error e = {0};
    snprintf(text, sizeof text, "{'name':'one','input':%s,%s,'layers':[%s]}", input, loss, layers);
    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    json_t *described = json_loads(text, 0, NULL);
    assert_non_null(described);
    check(model_from_json(described, &model, &e), &e);
    json_decref(described);
    return model;
}

static bool takes_tokens(const struct model_spec *model)
{
    return model->input.kind == SHAPE_TOKENS;
}

static size_t input_elements(const struct model_spec *model, int batch)
{
    return (size_t)batch * model_shape_elements(model->input);
}

static size_t output_elements(const struct model_spec *model, int batch)
{
    return (size_t)batch * model_shape_elements(model_output(model));
}

static struct side side_new(const struct model_spec *model, int batch, bool gpu)
{
    struct side s = {0};
    struct error e = {0};
    s.backend = gpu ? cuda_backend_open(0, 0, &e) : backend_cpu_open(1, &e);
    check(s.backend, &e);
    s.gradients = s.backend->ops->memory_new(s.backend, model->parameters, &e);
    check(s.gradients, &e);
    s.network = network_new(model, s.backend, batch, s.gradients,
                            takes_tokens(model) ? NETWORK_PLAIN : NETWORK_INPUT_GRADIENT, &e);
    check(s.network && network_init(s.network, PARAMETER_SEED, &e), &e);
    s.network->context.seed = 77;
    s.network->context.step = 3;
    s.network->context.first_row = 1000;
    s.out = calloc(output_elements(model, batch), sizeof(float));
    s.evaluated = calloc(output_elements(model, batch), sizeof(float));
    s.input_gradient = calloc(input_elements(model, batch), sizeof(float));
    s.parameter_gradient = calloc(model->parameters + 1, sizeof(float));
    s.state = calloc(model->states + 1, sizeof(float));
    return s;
}

static void side_free(struct side *s)
{
    network_free(s->network);
    s->backend->ops->memory_free(s->backend, s->gradients);
    backend_close(s->backend);
    free(s->out);
    free(s->evaluated);
    free(s->input_gradient);
    free(s->parameter_gradient);
    free(s->state);
}

static void fill_input(struct side *s, const struct model_spec *model, int batch)
{
    struct random r = random_stream(11, 1, 0);
    size_t n = input_elements(model, batch);
    void *input = network_input(s->network);
    for (size_t i = 0; i < n; i++)
        if (takes_tokens(model))
            ((int32_t *)input)[i] = (int32_t)random_below(&r, (uint64_t)model->layers[0].vocabulary);
        else
            ((float *)input)[i] = random_uniform(&r, -2, 2);
}

/* Forward in training, backward from a gradient that is given, then forward in evaluation. */
static void run_side(struct side *s, const struct model_spec *model, int batch)
{
    const struct backend_ops *ops = s->backend->ops;
    struct stage *last = network_output(s->network);
    size_t outputs = output_elements(model, batch);
    float *given = calloc(outputs, sizeof *given);
    struct random r = random_stream(12, 1, 0);
    struct error e = {0};
    for (size_t i = 0; i < outputs; i++)
        given[i] = random_uniform(&r, -1, 1);
    fill_input(s, model, batch);
    check(network_forward(s->network, true, &e), &e);
    check(ops->read(last, s->out, &e), &e);
    check(ops->write_gradient(last, given, &e), &e);
    check(network_backward(s->network, &e), &e);
    if (!takes_tokens(model))
        check(ops->read_gradient(s->network->stages[0], s->input_gradient, &e), &e);
    if (model->parameters > 0)
        check(ops->copy_out(s->backend, s->parameter_gradient, s->gradients, model->parameters, &e), &e);
    if (model->states > 0)
        check(ops->copy_out(s->backend, s->state, s->network->state, model->states, &e), &e);
    fill_input(s, model, batch);
    check(network_forward(s->network, false, &e), &e);
    check(ops->read(last, s->evaluated, &e), &e);
    free(given);
    if (emulation_fault())
        fail_msg("%s", emulation_fault());
}

static void compare(const char *what, const char *layers, const char *input, const float *cpu,
                    const float *gpu, size_t n, double bound)
{
    double most = 0, size = 1e-30;
    for (size_t i = 0; i < n; i++) {
        double apart = fabs((double)cpu[i] - (double)gpu[i]);
        most = apart > most || isnan(apart) ? apart : most;
        size = fabs((double)cpu[i]) > size ? fabs((double)cpu[i]) : size;
    }
    if (!(most <= bound * size))
        fail_msg("%s of %s: %s is %g apart, and %g is allowed", layers, input, what, most, bound * size);
}

/* What simple_rnn and lstm keep inside, after the forward pass that came last. */
static void compare_internal(const struct side *cpu, const struct side *gpu, const struct model_spec *model,
                             int batch)
{
    struct error e = {0};
    for (int i = 0; i < model->layer_count; i++) {
        const struct layer_spec *l = &model->layers[i];
        const char *names = l->kind == LAYER_LSTM ? "ifgoc" : l->kind == LAYER_SIMPLE_RNN ? "h" : "";
        size_t n = (size_t)batch * (size_t)l->in.channels * (size_t)l->units;
        for (; *names; names++) {
            const char name[] = {*names, 0};
            float *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b);
            check(cpu->backend->ops->read_internal(network_stage(cpu->network, i), name, a, &e), &e);
            check(gpu->backend->ops->read_internal(network_stage(gpu->network, i), name, b, &e), &e);
            compare(name, "the inside", layer_kind_name(l->kind), a, b, n, 1e-5);
            free(a);
            free(b);
        }
        if (l->kind == LAYER_LSTM || l->kind == LAYER_SIMPLE_RNN)
            assert_false(gpu->backend->ops->read_internal(network_stage(gpu->network, i), "q", NULL, &e));
    }
}

static void assert_same_bits(const struct side *a, const struct side *b, const struct model_spec *model,
                             int batch)
{
    size_t outputs = output_elements(model, batch) * sizeof(float);
    assert_memory_equal(a->out, b->out, outputs);
    assert_memory_equal(a->evaluated, b->evaluated, outputs);
    assert_memory_equal(a->input_gradient, b->input_gradient, input_elements(model, batch) * sizeof(float));
    assert_memory_equal(a->parameter_gradient, b->parameter_gradient, model->parameters * sizeof(float));
    assert_memory_equal(a->state, b->state, model->states * sizeof(float));
}

static void run_case(const char *layers, const char *input, int batch, double bound, bool *seen)
{
    struct model_spec model = model_of(layers, input, "'loss':'mse'");
    struct side cpu = side_new(&model, batch, false), gpu[ORDERS];
    for (int i = 0; i < model.layer_count; i++)
        seen[model.layers[i].kind] = true;
    run_side(&cpu, &model, batch);
    for (int order = 0; order < ORDERS; order++) {
        emulation_seed((uint64_t)order + 1);
        gpu[order] = side_new(&model, batch, true);
        run_side(&gpu[order], &model, batch);
    }
    compare("the output", layers, input, cpu.out, gpu[0].out, output_elements(&model, batch), bound);
    compare("the output in evaluation", layers, input, cpu.evaluated, gpu[0].evaluated,
            output_elements(&model, batch), bound);
    compare("the gradient of the input", layers, input, cpu.input_gradient, gpu[0].input_gradient,
            input_elements(&model, batch), bound);
    compare("running statistics", layers, input, cpu.state, gpu[0].state, model.states, bound);
    for (int i = 0; i < model.layer_count; i++)
        for (int t = 0; t < model.layers[i].tensor_count; t++) {
            const struct layer_tensor *tensor = &model.layers[i].tensors[t];
            compare(tensor->name, layers, input, cpu.parameter_gradient + tensor->offset,
                    gpu[0].parameter_gradient + tensor->offset, tensor->elements, bound);
        }
    compare_internal(&cpu, &gpu[0], &model, batch);
    for (int order = 1; order < ORDERS; order++)
        assert_same_bits(&gpu[0], &gpu[order], &model, batch);
    for (int order = 0; order < ORDERS; order++)
        side_free(&gpu[order]);
    side_free(&cpu);
    model_free(&model);
}

static void test_layers(void **state)
{
    (void)state;
    bool seen[LAYER_KINDS] = {false};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct op_case *c = &cases[i];
        const double bound = c->bound > 0 ? c->bound : 1e-5;
        run_case(c->layers, c->input, c->batch, bound, seen);
        if (c->in_residual) {
            char around[1000];
            snprintf(around, sizeof around, "{'kind':'residual','layers':[%s]}", c->layers);
            run_case(around, c->input, c->batch, bound, seen);
        }
    }
    for (int kind = 0; kind < LAYER_KINDS; kind++)
        if (!seen[kind])
            fail_msg("no case has a %s", layer_kind_name((enum layer_kind)kind));
}

/* The mask comes from seed, step and place in the global batch: two ranks with half of it each drop what one rank drops. */
static void test_dropout_over_ranks(void **state)
{
    (void)state;
    enum { HALF = 3 };
    struct model_spec model = model_of("{'kind':'dropout','rate':0.4}", "[2,5,7]", "'loss':'mse'");
    const size_t elements = output_elements(&model, HALF);
    struct side whole = side_new(&model, 2 * HALF, true), half = side_new(&model, HALF, true);
    struct error e = {0};
    float *in = network_input(whole.network);
    for (size_t i = 0; i < 2 * elements; i++)
        in[i] = 1;
    check(network_forward(whole.network, true, &e), &e);
    check(whole.backend->ops->read(network_output(whole.network), whole.out, &e), &e);
    for (int rank = 0; rank < 2; rank++) {
        in = network_input(half.network);
        for (size_t i = 0; i < elements; i++)
            in[i] = 1;
        half.network->context.first_row = 1000 + rank * HALF;
        check(network_forward(half.network, true, &e), &e);
        check(half.backend->ops->read(network_output(half.network), half.out, &e), &e);
        assert_memory_equal(half.out, whole.out + (size_t)rank * elements, elements * sizeof(float));
    }
    size_t dropped = 0;
    for (size_t i = 0; i < 2 * elements; i++)
        dropped += whole.out[i] == 0;
    assert_true(dropped > elements / 2 && dropped < elements + elements / 4); /* of 2 × elements 0.4 */
    side_free(&whole);
    side_free(&half);
    model_free(&model);
}

/* Rows longer than a grid has threads: more outputs than 4096 blocks of 256, no multiple of 4. */
static void test_long_rows(void **state)
{
    (void)state;
    enum { COLUMNS = 4096 * 256 + 1 };
    struct error e = {0};
    struct backend *b = cuda_backend_open(0, 0, &e);
    check(b, &e);
    float *y = b->ops->memory_new(b, COLUMNS, &e), *host = malloc(COLUMNS * sizeof *host);
    check(y && host, &e);
    for (int i = 0; i < COLUMNS; i++)
        host[i] = i % 2 ? -1 : 1;
    check(b->ops->copy_in(b, y, host, COLUMNS, &e), &e);
    kernel_bias_relu(y, NULL, 1, COLUMNS, true, cuda_backend_stream(b));
    check(b->ops->copy_out(b, host, y, COLUMNS, &e), &e);
    int wrong = 0;
    for (int i = 0; i < COLUMNS; i++)
        wrong += host[i] != (i % 2 ? 0 : 1);
    assert_int_equal(wrong, 0);
    free(host);
    b->ops->memory_free(b, y);
    backend_close(b);
}

/* --- losses --- */

static const struct loss_case {
    const char *loss, *layers, *input;
    int batch, samples; /* those that count */
    bool values;        /* held against numbers, not classes */
} losses[] = {
    {"'loss':'cross_entropy'", "{'kind':'tanh'}", "[10,1,1]", 37, 37, false},
    {"'loss':'cross_entropy'", "{'kind':'tanh'}", "[301,1,1]", 9, 7, false},
    {"'loss':'cross_entropy','label_smoothing':0.1", "{'kind':'tanh'}", "[33,1,1]", 300, 299, false},
    {"'loss':'cross_entropy'", "{'kind':'tanh'}", "{'steps':7,'features':45}", 5, 4, false},
    {"'loss':'bce'", "{'kind':'tanh'}", "[1,1,1]", 37, 36, false},
    {"'loss':'bce'", "{'kind':'tanh'}", "[5,1,1]", 9, 9, true},
    {"'loss':'mse'", "{'kind':'tanh'}", "[33,1,1]", 9, 8, true},
    {"'loss':'mse'", "{'kind':'tanh'}", "[10,1,1]", 9, 9, false},
};

struct loss_result {
    struct loss_sum sum, evaluated;
    float *gradient;
    int32_t *predicted;
};

static struct loss_result loss_of(const struct loss_case *c, const struct model_spec *model, bool gpu)
{
    struct side s = side_new(model, c->batch, gpu);
    const struct backend_ops *ops = s.backend->ops;
    struct stage *last = network_output(s.network);
    struct model_shape out = model_output(model);
    size_t outputs = output_elements(model, c->batch),
           rows = (size_t)c->batch * (out.kind == SHAPE_SEQUENCE ? (size_t)out.channels : 1);
    struct loss_result r = {.gradient = calloc(outputs, sizeof(float)),
                            .predicted = calloc(rows, sizeof(int32_t))};
    float *values = calloc(outputs, sizeof *values);
    int32_t *classes = calloc(outputs, sizeof *classes);
    struct random numbers = random_stream(13, 1, 0);
    struct error e = {0};
    for (size_t i = 0; i < outputs; i++) {
        values[i] = random_uniform(&numbers, 0, 1);
        classes[i] =
            (int32_t)random_below(&numbers, model->loss.kind == LOSS_BCE ? 2 : (uint64_t)(outputs / rows));
    }
    struct targets targets = {
        .classes = c->values ? NULL : classes, .values = c->values ? values : NULL, .samples = c->samples};
    fill_input(&s, model, c->batch);
    check(network_forward(s.network, true, &e), &e);
    check(ops->loss(last, &model->loss, &targets, 0.25, &r.sum, NULL, &e), &e);
    check(ops->read_gradient(last, r.gradient, &e), &e);
    check(ops->loss(last, &model->loss, &targets, 0, &r.evaluated, r.predicted, &e), &e);
    free(values);
    free(classes);
    side_free(&s);
    return r;
}

static void test_losses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        const struct loss_case *c = &losses[i];
        struct model_spec model = model_of(c->layers, c->input, c->loss);
        struct loss_result cpu = loss_of(c, &model, false);
        struct model_shape out = model_output(&model);
        size_t steps = out.kind == SHAPE_SEQUENCE ? (size_t)out.channels : 1;
        for (int order = 0; order < ORDERS; order++) {
            emulation_seed((uint64_t)order + 1);
            struct loss_result gpu = loss_of(c, &model, true);
            if (!(fabs(cpu.sum.loss - gpu.sum.loss) <= 1e-5 * fabs(cpu.sum.loss)))
                fail_msg("%s of %s: %.9g and %.9g", c->loss, c->input, cpu.sum.loss, gpu.sum.loss);
            assert_true(gpu.sum.loss == gpu.evaluated.loss);
            assert_int_equal(cpu.sum.correct, gpu.sum.correct);
            assert_int_equal(cpu.sum.rows, gpu.sum.rows);
            if (!c->values)
                assert_memory_equal(cpu.predicted, gpu.predicted,
                                    (size_t)c->samples * steps * sizeof(int32_t));
            compare("the gradient", c->loss, c->input, cpu.gradient, gpu.gradient,
                    output_elements(&model, c->batch), 1e-5);
            free(gpu.gradient);
            free(gpu.predicted);
        }
        free(cpu.gradient);
        free(cpu.predicted);
        model_free(&model);
    }
}

/* A token that the table has no row for shows as NaN and is no reason to read or write beside it. */
static void test_strange_token(void **state)
{
    (void)state;
    struct model_spec model =
        model_of("{'kind':'embedding','vocabulary':6,'units':5}", "{'tokens':4}", "'loss':'mse'");
    struct side s = side_new(&model, 1, true);
    const int32_t tokens[] = {2, 6, -1, 5};
    struct error e = {0};
    memcpy(network_input(s.network), tokens, sizeof tokens);
    check(network_forward(s.network, true, &e), &e);
    check(s.backend->ops->read(network_output(s.network), s.out, &e), &e);
    for (int t = 0; t < 4; t++)
        assert_true(isnan(s.out[5 * t]) == (t == 1 || t == 2));
    const float given[20] = {[5] = 1, [19] = 3};
    check(s.backend->ops->write_gradient(network_output(s.network), given, &e), &e);
    check(network_backward(s.network, &e), &e);
    check(s.backend->ops->copy_out(s.backend, s.parameter_gradient, s.gradients, model.parameters, &e), &e);
    for (size_t i = 0; i < model.parameters; i++)
        assert_true(s.parameter_gradient[i] == (i == 29 ? 3 : 0));
    side_free(&s);
    model_free(&model);
}

/* --- text_rnn and char_lstm, small: some steps of Adam on a batch, beside the CPU --- */

static const struct {
    const char *name, *layers, *input, *loss;
} sequences[] = {
    {"text_rnn",
     "{'kind':'embedding','vocabulary':40,'units':9},{'kind':'simple_rnn','units':13,'last':true},"
     "{'kind':'dense','units':1}",
     "{'tokens':17}", "'loss':'bce'"},
    {"char_lstm",
     "{'kind':'embedding','vocabulary':21,'units':9},{'kind':'lstm','units':19},{'kind':'dropout','rate':0.2}"
     ","
     "{'kind':'lstm','units':11},{'kind':'layernorm'},{'kind':'dense','units':21}",
     "{'tokens':12}", "'loss':'cross_entropy'"},
};

enum { STEPS = 8, SEQUENCES = 6 };

static void train_sequences(const struct model_spec *model, bool gpu, double loss[STEPS], float *parameters)
{
    struct side s = side_new(model, SEQUENCES, gpu);
    struct error e = {0};
    struct optimizer_spec spec;
    int32_t classes[SEQUENCES * 12];
    struct random r = random_stream(21, 1, 0);
    assert_true(optimizer_named("adam", &spec, &e));
    struct optimizer *optimizer = optimizer_new(&spec, model, s.backend, &e);
    check(optimizer, &e);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        classes[i] = (int32_t)random_below(&r, model->loss.kind == LOSS_BCE ? 2 : 21);
    const struct targets targets = {.classes = classes, .samples = SEQUENCES};
    for (int step = 0; step < STEPS; step++) {
        struct loss_sum sum;
        double squares;
        s.network->context.step = step;
        fill_input(&s, model, SEQUENCES);
        check(network_gradients(s.network, &targets, 1.0 / SEQUENCES, &sum, &e), &e);
        check(optimizer_take_step(optimizer, 0.02, s.network->parameters, s.gradients, &squares, &e), &e);
        loss[step] = sum.loss / (double)sum.rows;
    }
    check(s.backend->ops->copy_out(s.backend, parameters, s.network->parameters, model->parameters, &e), &e);
    optimizer_free(optimizer);
    side_free(&s);
}

static void test_sequence_models(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof sequences / sizeof *sequences; m++) {
        struct model_spec model = model_of(sequences[m].layers, sequences[m].input, sequences[m].loss);
        double cpu[STEPS], gpu[STEPS];
        float *a = calloc(model.parameters, sizeof *a), *b = calloc(model.parameters, sizeof *b);
        train_sequences(&model, false, cpu, a);
        train_sequences(&model, true, gpu, b);
        for (int step = 0; step < STEPS; step++)
            if (!(fabs(cpu[step] - gpu[step]) <= 1e-4 * cpu[step]))
                fail_msg("%s, step %d: loss %.7g and %.7g", sequences[m].name, step, cpu[step], gpu[step]);
        assert_true(gpu[STEPS - 1] < 0.8 * gpu[0]);
        compare("the parameters", sequences[m].name, "some steps", a, b, model.parameters, 1e-3);
        free(a);
        free(b);
        model_free(&model);
    }
}

/* What these tests cannot show, from where it is written down. */
static void test_says_what_is_not_emulated(void **state)
{
    (void)state;
    FILE *file = fopen("kernels/README.md", "r");
    char line[1000];
    int items = 0;
    bool within = false;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "## ", 3) == 0)
            within = strcmp(line, "## What is not emulated\n") == 0;
        else if (within && strncmp(line, "- ", 2) == 0)
            items += (print_message("# skipped, not emulated: %s", line + 2), 1);
    }
    fclose(file);
    assert_true(items > 0);
}

/* An argument: only the tests of that name (* and ? as in a shell). */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_dropout_over_ranks),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_long_rows),
        cmocka_unit_test(test_strange_token),
        cmocka_unit_test(test_sequence_models),
        cmocka_unit_test(test_says_what_is_not_emulated),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
