/* Mixed precision: matrix products by way of rounded operands, and bf16 where the processor has it, else its refusal. */
#include "engine/base/random.h"
#include "engine/nn/cpu.h"
#include "engine/nn/network.h"
#include "engine/spec/model_lua.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, COLUMNS = 7, DEPTH = 11, GAP = 3, BATCH = 16 };

/* Rounding to fp32 changes nothing: what is left is where every element has to go. */
static void products(void **state)
{
    (void)state;
    struct error e = {0};
    struct backend *backend = backend_cpu_open(1, &e);
    struct random r = random_stream(1, 1, 1);
    float a[DEPTH * (DEPTH + GAP)], b[DEPTH * (DEPTH + GAP)], c[ROWS * (COLUMNS + GAP)];
    for (size_t i = 0; i < sizeof a / sizeof *a; i++) {
        a[i] = random_uniform(&r, -1, 1);
        b[i] = random_uniform(&r, -1, 1);
    }
    for (int way = 0; way < 8; way++) {
        struct cpu_product p = {.a = a, .b = b, .c = c, .rows = ROWS, .columns = COLUMNS, .depth = DEPTH};
        p.transpose_a = way & 1;
        p.transpose_b = way & 2;
        p.lda = (p.transpose_a ? ROWS : DEPTH) + GAP;
        p.ldb = (p.transpose_b ? DEPTH : COLUMNS) + GAP;
        p.ldc = COLUMNS + GAP;
        memset(c, 0x7f, sizeof c);
        assert_true(way & 4 ? cpu_multiply(backend->self, &p, &e)
                            : cpu_multiply_as(backend->self, dnnl_f32, &p, &e));
        for (int i = 0; i < ROWS; i++)
            for (int k = 0; k < COLUMNS; k++) {
                double sum = 0;
                for (int d = 0; d < DEPTH; d++)
                    sum += (double)a[p.transpose_a ? d * p.lda + i : i * p.lda + d] *
                           (double)b[p.transpose_b ? k * p.ldb + d : d * p.ldb + k];
                assert_float_equal(c[i * p.ldc + k], sum, 1e-5);
            }
    }
    backend_close(backend);
}

/* The gradient of one batch; false: this processor cannot do it in bf16. */
static bool gradient(const struct model_spec *m, bool bf16, float *gradients, double *loss, struct error *e)
{
    struct backend *backend = backend_cpu_open(1, e);
    if (bf16 && !backend_cpu_use_bf16(backend, e)) {
        backend_close(backend);
        return false;
    }
    struct network *n = network_new(m, backend, BATCH, gradients, NETWORK_PLAIN, e);
    if (!n)
        fail_msg("%s", e->text);
    int32_t labels[BATCH];
    struct targets targets = {.classes = labels, .samples = BATCH};
    struct random r = random_stream(2, 2, 2);
    struct loss_sum sum;
    network_init(n, 1, NULL);
    for (size_t i = 0; i < BATCH * model_shape_elements(m->input); i++)
        ((float *)network_input(n))[i] = random_uniform(&r, -1, 1);
    for (int i = 0; i < BATCH; i++)
        labels[i] = i % 10;
    assert_true(network_gradients(n, &targets, 1.0 / BATCH, &sum, e));
    *loss = sum.loss / BATCH;
    network_free(n);
    backend_close(backend);
    return true;
}

/*
 * bf16 keeps eight bits: single products are off by up to 1/256, long sums by much less; but where rounding opens a
 * relu or moves a maximum, its gradient goes another way.
 */
static void bf16(void **state)
{
    (void)state;
    struct model_spec m;
    struct error e = {0};
    assert_true(model_named("cnn", &m, &e));
    float *full = calloc(m.parameters, sizeof *full), *mixed = calloc(m.parameters, sizeof *mixed);
    double loss, mixed_loss, apart = 0, squares = 0;
    bool able = gradient(&m, true, mixed, &mixed_loss, &e);
    if (able) {
        assert_true(gradient(&m, false, full, &loss, &e));
        for (size_t i = 0; i < m.parameters; i++) {
            apart += ((double)mixed[i] - (double)full[i]) * ((double)mixed[i] - (double)full[i]);
            squares += (double)full[i] * (double)full[i];
        }
        assert_float_equal(mixed_loss, loss, 0.01 * loss);
        assert_true(apart > 0);
        assert_true(apart < 0.05 * 0.05 * squares);
    } else {
        assert_int_equal(e.kind, ERROR_MISSING);
        assert_non_null(strstr(e.text, "AVX512_BF16"));
        assert_non_null(strstr(e.text, "fp32"));
    }
    free(full);
    free(mixed);
    model_free(&m);
}

int main(void)
{
    struct backend *backend = backend_cpu_open(1, NULL);
    bool able = backend && backend_cpu_use_bf16(backend, NULL);
    backend_close(backend);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        {able ? "bf16_is_close_to_fp32"
              : "bf16_is_refused (computing in it: not tried, this processor has none)",
         bf16, NULL, NULL, NULL}};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
