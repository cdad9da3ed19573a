/* Optimisers against PyTorch, and lars and lamb against their formulas in float64: tests/golden/make_optimizers.py. */
#include "engine/base/random.h"
#include "engine/nn/optimizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *golden;

static double number(const json_t *line, const char *key, double otherwise)
{
    const json_t *value = json_object_get(line, key);
    return value ? json_number_value(value) : otherwise;
}

struct fixture {
    struct model_spec model;
    struct backend *backend;
    struct optimizer *optimizer;
    float *parameters, *gradients;
    double lr;
};

static void fill(float *x, size_t n, uint64_t purpose, uint64_t index)
{
    struct random r = random_stream(5, purpose, index);
    for (size_t i = 0; i < n; i++)
        x[i] = random_uniform(&r, -1, 1);
}

static void set_up(struct fixture *f, const json_t *line, int threads)
{
    struct error e = {0};
    struct optimizer_spec spec;
    assert_true(optimizer_named(json_string_value(json_object_get(line, "optimizer")), &spec, &e));
    spec.momentum = number(line, "momentum", 0);
    spec.nesterov = json_is_true(json_object_get(line, "nesterov"));
    spec.weight_decay = number(line, "weight_decay", 0);
    spec.clip = number(line, "clip", 0);
    f->lr = number(line, "lr", 0);
    if (!model_from_json(json_object_get(golden, "model"), &f->model, &e))
        fail_msg("%s", e.text);
    f->backend = backend_cpu_open(threads, &e);
    f->optimizer = optimizer_new(&spec, &f->model, f->backend, &e);
    assert_non_null(f->optimizer);
    f->parameters = calloc(f->model.parameters, sizeof(float));
    f->gradients = calloc(f->model.parameters, sizeof(float));
    fill(f->parameters, f->model.parameters, 8, 0);
}

static double take_step(struct fixture *f, uint64_t step)
{
    double squares = 0;
    fill(f->gradients, f->model.parameters, 9, step);
    assert_true(optimizer_take_step(f->optimizer, f->lr, f->parameters, f->gradients, &squares, NULL));
    return squares;
}

static void tear_down(struct fixture *f)
{
    optimizer_free(f->optimizer);
    backend_close(f->backend);
    model_free(&f->model);
    free(f->parameters);
    free(f->gradients);
}

static void test_ten_steps(void **state)
{
    (void)state;
    json_t *lines = json_object_get(golden, "optimizers"), *line;
    size_t index, stride = (size_t)number(golden, "stride", 0);
    assert_int_equal(json_array_size(lines), 12);
    json_array_foreach(lines, index, line)
    {
        struct fixture f;
        json_t *norms = json_object_get(line, "norms"), *parameters = json_object_get(line, "parameters");
        set_up(&f, line, 1);
        for (size_t step = 0; step < json_array_size(norms); step++) {
            double norm = sqrt(take_step(&f, step)), theirs = json_number_value(json_array_get(norms, step));
            if (fabs(norm - theirs) > 1e-6 * theirs)
                fail_msg("case %zu, step %zu: norm %.9g, expected %.9g", index, step, norm, theirs);
        }
        assert_int_equal(f.optimizer->steps, 10);
        assert_int_equal(json_array_size(parameters), (f.model.parameters + stride - 1) / stride);
        for (size_t i = 0; i < json_array_size(parameters); i++) {
            double theirs = json_number_value(json_array_get(parameters, i));
            if (fabs(f.parameters[i * stride] - theirs) > 2e-6)
                fail_msg("case %zu (%s), parameter %zu: %.9g, expected %.9g", index,
                         json_string_value(json_object_get(line, "optimizer")), i * stride,
                         f.parameters[i * stride], theirs);
        }
        tear_down(&f);
    }
}

/* Clipping and the layer-wise rates hang on sums, and those on no thread. */
static void test_threads_change_no_bit(void **state)
{
    (void)state;
    json_t *lines = json_object_get(golden, "optimizers"), *line;
    json_t *wide = json_pack("{s:[i,i,i], s:[{s:s}, {s:s, s:i}, {s:s, s:i}]}", "input", 1, 10, 10, "layers",
                             "kind", "flatten", "kind", "dense", "units", 700, "kind", "dense", "units", 10);
    size_t index;
    json_t *small = json_incref(json_object_get(golden, "model"));
    json_object_set_new(golden, "model", wide); /* enough pieces for three threads */
    json_array_foreach(lines, index, line)
    {
        struct fixture one, three;
        set_up(&one, line, 1);
        set_up(&three, line, 3);
        assert_true(one.optimizer->piece_count >= 32);
        for (uint64_t step = 0; step < 3; step++)
            assert_true(take_step(&one, step) == take_step(&three, step));
        assert_memory_equal(one.parameters, three.parameters, one.model.parameters * sizeof(float));
        tear_down(&one);
        tear_down(&three);
    }
    json_object_set_new(golden, "model", small);
}

/* What a checkpoint keeps is all there is: a copy of it goes on alike. */
static void test_state(void **state)
{
    (void)state;
    json_t *lines = json_object_get(golden, "optimizers"), *line;
    size_t index;
    json_array_foreach(lines, index, line)
    {
        struct fixture a, b;
        struct optimizer_state from[2], to[2];
        set_up(&a, line, 1);
        set_up(&b, line, 1);
        take_step(&a, 0);
        take_step(&a, 1);
        int n = optimizer_state(a.optimizer, from);
        assert_int_equal(n, optimizer_state(b.optimizer, to));
        bool adaptive = number(line, "momentum", -1) < 0 &&
                        strcmp(json_string_value(json_object_get(line, "optimizer")), "sgd") != 0;
        assert_int_equal(n, adaptive ? 2 : number(line, "momentum", 0) > 0);
        size_t bytes = a.model.parameters * sizeof(float);
        for (int i = 0; i < n; i++) {
            assert_string_equal(from[i].name, to[i].name);
            memcpy(to[i].data, from[i].data, bytes);
        }
        memcpy(b.parameters, a.parameters, bytes);
        b.optimizer->steps = a.optimizer->steps;
        take_step(&a, 2);
        take_step(&b, 2);
        assert_memory_equal(a.parameters, b.parameters, bytes);
        tear_down(&a);
        tear_down(&b);
    }
}

/* Tensors that are 0 still learn with the layer-wise optimisers. */
static void test_zero_tensors(void **state)
{
    (void)state;
    static const char *const names[] = {"lars", "lamb"};
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        json_t *line = json_pack("{s:s, s:f, s:f}", "optimizer", names[i], "lr", 0.01, "weight_decay", 0.1);
        set_up(&f, line, 1);
        memset(f.parameters, 0, f.model.parameters * sizeof(float));
        take_step(&f, 0);
        for (size_t k = 0; k < f.model.parameters; k++)
            assert_true(isfinite(f.parameters[k]) && f.parameters[k] != 0);
        tear_down(&f);
        json_decref(line);
    }
}

static void test_names(void **state)
{
    (void)state;
    struct optimizer_spec spec;
    struct error e = {0};
    assert_false(optimizer_named("lion", &spec, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "lars or lamb, got 'lion'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ten_steps), cmocka_unit_test(test_threads_change_no_bit),
        cmocka_unit_test(test_state),     cmocka_unit_test(test_zero_tensors),
        cmocka_unit_test(test_names),
    };
    golden = json_load_file("tests/golden/optimizers.json", 0, NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    json_decref(golden);
    return failed;
}
