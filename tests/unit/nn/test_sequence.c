/*
 * Layers of sequences, activations and losses against PyTorch (tests/golden/make_sequence.py), and what must
 * not change with the way a batch is cut: a short batch, dropout's mask, what a stage keeps inside.
 */
#include "tests/unit/nn/sequence_case.h"

#include <math.h>

static json_t *golden;

/*
 * Every stride-th of ours against the list of theirs; what is small beside the largest may be off by as much.
 */
static void compare(const json_t *one, const char *key, const float *ours, size_t n, size_t stride)
{
    const json_t *list = json_object_get(one, key);
    double largest = 0;
    assert_int_equal(json_array_size(list), (n + stride - 1) / stride);
    for (size_t i = 0; i < json_array_size(list); i++)
        largest = fmax(largest, fabs(json_number_value(json_array_get(list, i))));
    for (size_t i = 0; i < json_array_size(list); i++) {
        double theirs = json_number_value(json_array_get(list, i)), mine = (double)ours[i * stride];
        if (!(fabs(mine - theirs) <= 5e-5 * fabs(theirs) + 3e-6 * largest + 1e-8))
            fail_msg("%s: %s %zu is %.8g where PyTorch has %.8g",
                     json_string_value(json_object_get(json_object_get(one, "model"), "name")), key,
                     i * stride, mine, theirs);
    }
}

static void compare_norms(const json_t *one, const struct model_spec *m, float *gradients)
{
    float norms[64];
    size_t count = 0;
    for (int i = 0; i < m->layer_count; i++)
        for (int t = 0; t < m->layers[i].tensor_count; t++) {
            struct tensor tensor = network_tensor(&m->layers[i], t, gradients);
            double squares = 0;
            for (size_t k = 0; k < tensor_elements(&tensor); k++)
                squares += (double)tensor.data[k] * (double)tensor.data[k];
            norms[count++] = (float)sqrt(squares);
        }
    compare(one, "gradient_norms", norms, count, 1);
}

static void check_case(const json_t *one, int threads, size_t stride)
{
    struct error e = {0};
    struct sequence_case c = sequence_case(one);
    const struct model_spec *m = &c.model;
    struct backend *backend = backend_cpu_open(threads, &e);
    float *gradients = calloc(m->parameters, sizeof(float)),
          *read = calloc(c.inputs + c.outputs, sizeof(float));
    struct network *n =
        network_new(m, backend, SEQUENCE_BATCH, gradients,
                    m->input.kind == SHAPE_TOKENS ? NETWORK_PLAIN : NETWORK_INPUT_GRADIENT, &e);
    if (!n)
        fail_msg("%s: %s", m->name, e.text);
    sequence_case_fill(&c, n);
    for (int again = 0; again < 2; again++) { /* the second time in memory that has been used */
        struct loss_sum sum;
        memset(gradients, 0xff, m->parameters * sizeof(float));
        assert_true(network_forward(n, true, &e));
        assert_true(backend->ops->loss(network_output(n), &m->loss, &c.targets, 1.0 / (double)c.rows, &sum,
                                       NULL, &e));
        assert_true(backend->ops->read(network_output(n), read, &e)); /* backward may write over it */
        assert_true(network_backward(n, &e));
        double loss = sum.loss / (double)sum.rows, expected = json_number_value(json_object_get(one, "loss"));
        assert_int_equal(sum.rows, c.rows);
        assert_int_equal(sum.correct, json_integer_value(json_object_get(one, "correct")));
        if (!(fabs(loss - expected) <= 1e-6 * (1 + expected)))
            fail_msg("%s: the loss is %.8g where PyTorch has %.8g", m->name, loss, expected);
        compare(one, "output", read, c.outputs, stride);
        compare_norms(one, m, gradients);
        compare(one, "gradients", gradients, m->parameters, stride);
        if (m->input.kind != SHAPE_TOKENS) {
            assert_true(backend->ops->read_gradient(n->stages[0], read, &e));
            compare(one, "input_gradient", read, c.inputs, stride);
        }
    }
    network_free(n);
    backend_close(backend);
    sequence_case_free(&c);
    free(gradients);
    free(read);
}

static void small_networks(void **state)
{
    size_t i,
        stride = (size_t)json_integer_value(json_object_get(json_object_get(golden, "about"), "stride"));
    json_t *one;
    json_array_foreach(json_object_get(golden, "cases"), i, one)
    {
        check_case(one, *(int *)*state, stride);
    }
    assert_true(i > 30);
}

/* --- batches cut differently --- */

static struct network *network_of(const char *text, struct backend *backend, int batch, float **gradients)
{
    struct model_spec m;
    struct error e = {0};
    json_t *object = json_loads(text, 0, NULL);
    if (!model_from_json(object, &m, &e))
        fail_msg("%s", e.text);
    json_decref(object);
    *gradients = calloc(m.parameters, sizeof(float));
    struct network *n = network_new(&m, backend, batch, *gradients, NETWORK_PLAIN, &e);
    if (!n)
        fail_msg("%s", e.text);
    network_init(n, 3, NULL);
    model_free(&m);
    return n;
}

#define DROPPING                                                                                             \
    "{\"name\":\"dropping\",\"input\":[2,7,6],\"layers\":[{\"kind\":\"conv2d\",\"channels\":5,\"kernel\":3}" \
    ","                                                                                                      \
    "{\"kind\":\"dropout\",\"rate\":0.3},{\"kind\":\"conv2d\",\"channels\":16,\"kernel\":2},"                \
    "{\"kind\":\"dropout\",\"rate\":0.5},{\"kind\":\"flatten\"},{\"kind\":\"dense\",\"units\":50},"          \
    "{\"kind\":\"dropout\",\"rate\":0.5},{\"kind\":\"dense\",\"units\":10}]}"

enum { WHOLE = 8, HALF = 4, SAMPLE = 2 * 7 * 6 };

static void fill_images(struct network *n, int32_t *labels, int first, int count)
{
    struct random r = random_stream(1, 9, 0);
    float *input = network_input(n);
    for (int i = 0; i < first * SAMPLE; i++)
        random_uniform(&r, -1, 1);
    for (int i = 0; i < count * SAMPLE; i++)
        input[i] = random_uniform(&r, -1, 1);
    for (int i = 0; i < count; i++)
        labels[i] = (first + i) % 10;
}

/* Two ranks with half of the batch each drop what one with all of it drops. */
static void halves_make_the_whole(void **state)
{
    (void)state;
    struct error e = {0};
    struct loss_sum sum, halves = {0};
    int32_t labels[WHOLE];
    struct targets targets = {.classes = labels, .samples = WHOLE};
    struct backend *one = backend_cpu_open(1, &e), *two = backend_cpu_open(2, &e);
    float *whole_gradients, *half_gradients;
    struct network *whole = network_of(DROPPING, one, WHOLE, &whole_gradients),
                   *half = network_of(DROPPING, two, HALF, &half_gradients);
    float *sums = calloc(whole->model.parameters, sizeof(float));
    whole->context.seed = half->context.seed = 5;
    whole->context.step = half->context.step = 17;
    fill_images(whole, labels, 0, WHOLE);
    assert_true(network_gradients(whole, &targets, 1.0 / WHOLE, &sum, &e));
    targets.samples = HALF;
    for (int k = 0; k < 2; k++) {
        struct loss_sum mine;
        half->context.first_row = k * HALF;
        fill_images(half, labels, k * HALF, HALF);
        assert_true(network_gradients(half, &targets, 1.0 / WHOLE, &mine, &e));
        halves.loss += mine.loss;
        for (size_t i = 0; i < half->model.parameters; i++)
            sums[i] += half_gradients[i];
    }
    assert_true(fabs(halves.loss - sum.loss) < 1e-5);
    for (size_t i = 0; i < whole->model.parameters; i++)
        if (!(fabsf(sums[i] - whole_gradients[i]) <= 1e-6f + 1e-4f * fabsf(sums[i])))
            fail_msg("gradient %zu: %.8g in halves, %.8g as a whole", i, (double)sums[i],
                     (double)whole_gradients[i]);
    network_free(whole);
    network_free(half);
    backend_close(one);
    backend_close(two);
    free(whole_gradients);
    free(half_gradients);
    free(sums);
}

#define MASK                                                                                                 \
    "{\"name\":\"mask\",\"input\":[4000],\"layers\":[{\"kind\":\"dropout\",\"rate\":0.25}],\"loss\":"        \
    "\"mse\"}"

/* Ones through a dropout layer: what is left is the mask. */
static void read_mask(struct network *n, uint64_t seed, long step, long first_row, bool training, float *mask)
{
    struct error e = {0};
    float *input = network_input(n);
    for (int i = 0; i < 2 * 4000; i++)
        input[i] = 1;
    n->context.seed = seed;
    n->context.step = step;
    n->context.first_row = first_row;
    assert_true(network_forward(n, training, &e));
    assert_true(n->backend->ops->read(network_output(n), mask, &e));
}

static size_t agreeing(const float *a, const float *b)
{
    size_t same = 0;
    for (int i = 0; i < 4000; i++)
        same += a[i] == b[i];
    return same;
}

/* The share that is dropped, and that masks of other seeds, steps and samples are other masks. */
static void masks(void **state)
{
    (void)state;
    struct error e = {0};
    float *gradients, mask[8000], other[8000];
    struct backend *backend = backend_cpu_open(1, &e);
    struct network *n = network_of(MASK, backend, 2, &gradients);
    read_mask(n, 1, 1, 0, true, mask);
    size_t dropped = 0;
    for (int i = 0; i < 8000; i++) {
        assert_true(mask[i] == 0 || fabsf(mask[i] - 4.0f / 3) < 1e-6f);
        dropped += mask[i] == 0;
    }
    assert_in_range(dropped, 2000 - 155,
                    2000 + 155); /* four standard deviations: sqrt(8000 · 0.25 · 0.75) = 38.7 */
    /* two masks agree by chance in 0.75² + 0.25² = 62.5 % of 4000 elements, give or take four times 31 */
    assert_in_range(agreeing(mask, mask + 4000), 2500 - 124, 2500 + 124);
    const struct {
        uint64_t seed;
        long step, row;
    } others[] = {{2, 1, 0}, {1, 2, 0}, {1, 1, 1000000}};
    for (size_t k = 0; k < 3; k++) {
        read_mask(n, others[k].seed, others[k].step, others[k].row, true, other);
        assert_in_range(agreeing(mask, other), 2500 - 124, 2500 + 124);
    }
    read_mask(n, 1, 1, 1, true, other);
    assert_memory_equal(mask + 4000, other, 4000 * sizeof(float)); /* the second sample, now the first */
    read_mask(n, 1, 1, 0, false, other);
    for (int i = 0; i < 8000; i++)
        assert_true(other[i] == 1);
    network_free(n);
    backend_close(backend);
    free(gradients);
}

#define TALE                                                                                                 \
    "{\"name\":\"tale\",\"input\":{\"tokens\":5},\"layers\":[{\"kind\":\"embedding\",\"vocabulary\":9,"      \
    "\"units\":6},{\"kind\":\"lstm\",\"units\":11},{\"kind\":\"dense\",\"units\":9}]}"

/* What fills a short batch up reaches neither the loss nor the gradients. */
static void short_batch(void **state)
{
    (void)state;
    struct error e = {0};
    struct loss_sum sum, again;
    int32_t labels[20];
    struct targets targets = {.classes = labels, .samples = 3};
    struct backend *backend = backend_cpu_open(2, &e);
    float *gradients;
    struct network *n = network_of(TALE, backend, 4, &gradients);
    size_t bytes = n->model.parameters * sizeof(float);
    float *kept = malloc(bytes);
    int32_t *tokens = network_input(n);
    for (int i = 0; i < 20; i++) {
        tokens[i] = i % 9;
        labels[i] = (i + 1) % 9;
    }
    assert_true(network_gradients(n, &targets, 1, &sum, &e));
    memcpy(kept, gradients, bytes);
    for (int i = 15; i < 20; i++)
        tokens[i] = 8;
    assert_true(network_gradients(n, &targets, 1, &again, &e));
    assert_int_equal(again.rows, 15);
    assert_true(sum.loss == again.loss);
    for (size_t i = 0; i < n->model.parameters; i++)
        assert_true(kept[i] == gradients[i]);
    network_free(n);
    backend_close(backend);
    free(gradients);
    free(kept);
}

/* --- what a stage keeps inside, and what it refuses --- */

/* The gates, the cell state and the output fit together as the definition of an lstm says. */
static void gates(void **state)
{
    (void)state;
    enum { VALUES = 3 * 5 * 11 };
    struct error e = {0};
    float *gradients, gate[5][VALUES], h[VALUES];
    struct backend *backend = backend_cpu_open(2, &e);
    struct network *n = network_of(TALE, backend, 3, &gradients);
    int32_t *tokens = network_input(n);
    for (int i = 0; i < 15; i++)
        tokens[i] = i * i % 9;
    assert_true(network_forward(n, false, &e));
    for (int k = 0; k < 5; k++)
        assert_true(
            backend->ops->read_internal(network_stage(n, 1), (const char[2]){"ifgoc"[k], 0}, gate[k], &e));
    assert_true(backend->ops->read(network_stage(n, 1), h, &e));
    for (int i = 0; i < VALUES; i++) {
        double before = i / 11 % 5 == 0 ? 0 : (double)gate[4][i - 11];
        double c = (double)gate[1][i] * before + (double)gate[0][i] * (double)gate[2][i];
        assert_true(fabs((double)gate[4][i] - c) < 1e-6);
        assert_true(fabs((double)h[i] - (double)gate[3][i] * tanh(c)) < 1e-6);
        assert_true(gate[0][i] > 0 && gate[0][i] < 1 && gate[2][i] > -1 && gate[2][i] < 1);
    }
    assert_false(backend->ops->read_internal(network_stage(n, 1), "x", h, &e));
    assert_non_null(strstr(e.text, "lstm has no values named \"x\""));
    assert_false(backend->ops->read_internal(network_stage(n, 2), "i", h, &e));
    network_free(n);
    backend_close(backend);
    free(gradients);
}

static void strangers(void **state)
{
    (void)state;
    struct error e = {0};
    struct loss_sum sum;
    int32_t labels[10] = {0};
    struct targets targets = {.classes = labels, .samples = 2};
    struct backend *backend = backend_cpu_open(1, &e);
    float *gradients;
    struct network *n = network_of(TALE, backend, 2, &gradients);
    int32_t *tokens = network_input(n);
    tokens[7] = 9;
    assert_false(network_gradients(n, &targets, 1, &sum, &e));
    assert_non_null(strstr(e.text, "token 9 is not in the embedding's vocabulary of 9"));
    tokens[7] = -1;
    assert_false(network_gradients(n, &targets, 1, &sum, &e));
    tokens[7] = 8;
    labels[9] = 9;
    assert_false(network_gradients(n, &targets, 1, &sum, &e));
    assert_non_null(strstr(e.text, "class 9 is not among the 9"));
    labels[9] = 8;
    assert_true(network_gradients(n, &targets, 1, &sum, &e));
    network_free(n);
    backend_close(backend);
    free(gradients);
}

/* What is no number is not hidden by a maximum or a clamp. */
static void not_a_number(void **state)
{
    (void)state;
    size_t i;
    json_t *one;
    struct error e = {0};
    json_array_foreach(json_object_get(golden, "cases"), i, one)
    {
        struct sequence_case c = sequence_case(one);
        struct backend *backend = backend_cpu_open(1, &e);
        float *gradients = calloc(c.model.parameters, sizeof(float));
        struct network *n = network_new(&c.model, backend, SEQUENCE_BATCH, gradients, NETWORK_PLAIN, &e);
        struct loss_sum sum;
        sequence_case_fill(&c, n);
        for (size_t k = 0; k < c.model.parameters; k++)
            n->parameters[k] = NAN;
        assert_true(network_gradients(n, &c.targets, 1, &sum, &e));
        if (!isnan(sum.loss))
            fail_msg("%s: the loss is %g", c.model.name, sum.loss);
        network_free(n);
        backend_close(backend);
        sequence_case_free(&c);
        free(gradients);
    }
}

int main(void)
{
    int one = 1, two = 2;
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(small_networks, &one),
                                       {"small_networks_on_two_threads", small_networks, NULL, NULL, &two},
                                       cmocka_unit_test(halves_make_the_whole),
                                       cmocka_unit_test(masks),
                                       cmocka_unit_test(short_batch),
                                       cmocka_unit_test(gates),
                                       cmocka_unit_test(strangers),
                                       cmocka_unit_test(not_a_number)};
    golden = json_load_file("tests/golden/sequence.json", 0, NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    json_decref(golden);
    return failed;
}
