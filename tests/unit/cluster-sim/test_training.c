/*
 * The training model against closed forms and steps worked out by hand.
 */
#include "cluster-sim/training.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* --- a network with one rate along each axis --- */

struct flat {
    struct training_network network;
    double data_s_per_byte, tensor_s_per_byte, send_s;
    int sums;
};

static bool flat_allreduce(struct training_network *n, enum mesh_axis axis, double bytes, double *seconds,
                           struct error *e)
{
    (void)e;
    struct flat *f = (struct flat *)n;
    f->sums++;
    *seconds = bytes * (axis == MESH_DATA ? f->data_s_per_byte : f->tensor_s_per_byte);
    return true;
}

static bool flat_send(struct training_network *n, double bytes, double *seconds, struct error *e)
{
    (void)e, (void)bytes;
    *seconds = ((struct flat *)n)->send_s;
    return true;
}

static struct flat flat_network(double data_s_per_byte)
{
    return (struct flat){.network = {flat_allreduce, flat_send}, .data_s_per_byte = data_s_per_byte};
}

/* --- a model and a device whose times are easily worked out --- */

static struct model_spec model_of(const char *text)
{
    struct model_spec model;
    struct error e = {0};
    json_t *object = json_loads(text, 0, NULL);
    assert_non_null(object);
    if (!model_from_json(object, &model, &e))
        fail_msg("%s", e.text);
    json_decref(object);
    return model;
}

/* 100 -> 200 -> 50 -> 10, without biases: 20 000, 10 000 and 500 weights. */
static struct model_spec mlp(void)
{
    return model_of("{\"name\": \"mlp\", \"input\": [100, 1, 1], \"layers\": ["
                    "{\"kind\": \"dense\", \"units\": 200, \"bias\": false},"
                    "{\"kind\": \"dense\", \"units\": 50, \"bias\": false},"
                    "{\"kind\": \"dense\", \"units\": 10, \"bias\": false}]}");
}

/* One MFLOP/s, and memory that costs nothing. */
static struct training plain(const struct model_spec *model)
{
    return (struct training){.model = model,
                             .device = {1e6, INFINITY, 1, 1, 0},
                             .data = 1,
                             .tensor = 1,
                             .pipeline = 1,
                             .batch = 10,
                             .microbatches = 1,
                             .overlap = true,
                             .width = 4,
                             .optimizer = "sgd"};
}

static struct training_plan plan_of(const struct training *t, struct flat *network)
{
    struct training_plan plan;
    struct error e = {0};
    if (!training_plan_make(&plan, t, &network->network, &e))
        fail_msg("%s", e.text);
    return plan;
}

/* In double: cmocka's own comparison is in float. */
static void near(double got, double expected, double within, const char *what, int line)
{
    if (!(fabs(got - expected) <= within))
        fail_msg("line %d: %s is %.12g, expected %.12g", line, what, got, expected);
}
#define WITHIN(a, b, e) near((a), (b), (e), #a, __LINE__)
#define NEAR(a, b) WITHIN(a, b, 1e-9 * (1 + fabs((double)(b))))

static void one_rank_takes_the_sum_of_its_layers(void **state)
{
    (void)state;
    struct model_spec model = mlp();
    struct training t = plain(&model);
    struct flat network = flat_network(1);
    struct training_plan p = plan_of(&t, &network);
    /* 10 samples, 2 FLOPs a weight; backward twice that, but once in the first layer, which needs no input gradient. */
    NEAR(p.forward_s, 0.4 + 0.2 + 0.01);
    NEAR(p.backward_s, 0.4 + 0.4 + 0.02);
    NEAR(p.expected.step_s, 0.61 + 0.82);
    NEAR(p.expected.samples_per_s, 10 / 1.43);
    NEAR(p.expected.efficiency, 1);
    assert_int_equal(network.sums, 0);
    assert_int_equal(p.longest_layer, 0);
    assert_int_equal(p.expected.bottleneck, BOTTLENECK_COMPUTE);
    training_plan_free(&p);
    /* Memory bound: inputs, output and weights over 1 MB/s; SGD moves 20 bytes a weight. */
    t.device = (struct roofline){INFINITY, 1e6, 1, 1, 0};
    p = plan_of(&t, &network);
    double first = 4e-6 * (10 * 300 + 20000), second = 4e-6 * (10 * 250 + 10000),
           third = 4e-6 * (10 * 60 + 500);
    NEAR(p.forward_s, first + second + third);
    NEAR(p.backward_s, first + 2 * second + 2 * third);
    NEAR(p.optimizer_s, 20e-6 * 30500);
    NEAR(p.expected.step_s, 2 * first + 3 * (second + third) + 20e-6 * 30500);
    assert_true(p.longest_memory_bound);
    training_plan_free(&p);
    /* A measured rate scales all of it. */
    t.samples_per_s = 5;
    p = plan_of(&t, &network);
    NEAR(p.expected.step_s, 2);
    NEAR(p.forward_s / p.backward_s, (first + second + third) / (first + 2 * (second + third)));
    training_plan_free(&p);
    model_free(&model);
}

static void an_infinite_network_scales_perfectly(void **state)
{
    (void)state;
    struct model_spec model = mlp();
    struct training t = plain(&model);
    struct flat network = flat_network(0);
    t.data = 100000;
    struct training_plan p = plan_of(&t, &network);
    NEAR(p.expected.step_s, 1.43);
    NEAR(p.expected.samples_per_s, 100000 * 10 / 1.43);
    NEAR(p.expected.efficiency, 1);
    training_plan_free(&p);
    model_free(&model);
}

static void overlap_hides_what_backward_covers(void **state)
{
    (void)state;
    struct model_spec model = mlp();
    struct training t = plain(&model);
    /* The layers' gradients are 2 000, 40 000 and 80 000 bytes: 0.02, 0.4 and 0.8 s at 100 kB/s. */
    struct flat network = flat_network(1e-5);
    t.data = 4;
    t.bucket_bytes = 1; /* each layer its own */
    struct training_plan p = plan_of(&t, &network);
    assert_int_equal(p.bucket_count, 3);
    /* Forward to 0.61; gradients at 0.63, 1.03, 1.43; sums 0.63-0.65, 1.03-1.43, 1.43-2.23. */
    const double ready[] = {0.63, 1.03, 1.43}, start[] = {0.63, 1.03, 1.43}, end[] = {0.65, 1.43, 2.23};
    for (int i = 0; i < 3; i++) {
        NEAR(p.buckets[i].ready_s, ready[i]);
        NEAR(p.buckets[i].start_s, start[i]);
        NEAR(p.buckets[i].end_s, end[i]);
    }
    NEAR(p.expected.step_s, 2.23);
    NEAR(p.expected.compute_s, 1.43);
    NEAR(p.expected.comm_s, 1.22);
    NEAR(p.expected.exposed_comm_s, 0.8);
    NEAR(p.expected.efficiency, 1.43 / 2.23);
    training_plan_free(&p);
    /* A slower network: each bucket waits for the one before: 0.63-0.67, 1.03-1.83, 1.83-3.43. */
    network.data_s_per_byte = 2e-5;
    p = plan_of(&t, &network);
    NEAR(p.buckets[2].start_s, 1.83);
    NEAR(p.expected.step_s, 3.43);
    training_plan_free(&p);
    /* Nothing hidden: 1.43 + 2.44; and one bucket of everything hides nothing either. */
    t.overlap = false;
    p = plan_of(&t, &network);
    NEAR(p.expected.step_s, 1.43 + 2.44);
    NEAR(p.expected.exposed_comm_s, 2.44);
    training_plan_free(&p);
    t.overlap = true;
    t.bucket_bytes = 0;
    p = plan_of(&t, &network);
    assert_int_equal(p.bucket_count, 1);
    NEAR(p.expected.step_s, 1.43 + 2.44);
    training_plan_free(&p);
    /* A small first bucket, then the rest together: 2 000 bytes, and 120 000 when the first layer is done. */
    t.bucket_bytes = 60000;
    t.first_bucket_bytes = 1000;
    p = plan_of(&t, &network);
    assert_int_equal(p.bucket_count, 2);
    NEAR(p.buckets[0].bytes, 2000);
    NEAR(p.buckets[1].bytes, 120000);
    NEAR(p.expected.step_s, 1.43 + 2.4);
    training_plan_free(&p);
    model_free(&model);
}

static void equal_stages_idle_as_the_formula_says(void **state)
{
    (void)state;
    struct error e;
    for (int p = 1; p <= 16; p *= 2)
        for (int m = 1; m <= 64; m *= 4) {
            struct pipeline_stage stages[16];
            double idle;
            for (int i = 0; i < p; i++)
                stages[i] = (struct pipeline_stage){.forward_s = 1, .backward_s = 2};
            NEAR(pipeline_run(stages, p, m, &idle, &e), 3.0 * (m + p - 1));
            NEAR(idle, (p - 1.0) / (m + p - 1));
            for (int i = 0; i < p; i++)
                assert_int_equal(stages[i].in_flight, p - i < m ? p - i : m);
        }
    /* Two stages by hand: F0 0-1, F1 1-2 | F0 1-3, B0 3-7, F1 7-9, B1 9-13 | B0 7-9, B1 13-15. */
    struct pipeline_stage two[] = {{.forward_s = 1, .backward_s = 2}, {.forward_s = 2, .backward_s = 4}};
    double idle;
    NEAR(pipeline_run(two, 2, 2, &idle, &e), 15);
    NEAR(two[1].end_s, 13);
    NEAR(idle, 1 - 18.0 / 30);
    /* A message of 0.5 each way: F0 1.5-3.5, B0 -7.5, F1 -9.5, B1 -13.5; B1 of the first 14-16. */
    two[0].send_s = 0.5;
    NEAR(pipeline_run(two, 2, 2, &idle, &e), 16);
}

static void models_are_cut_where_the_heaviest_stage_is_lightest(void **state)
{
    (void)state;
    int first[4];
    const double weights[] = {4, 1, 1, 1, 1, 4, 2, 2};
    pipeline_cut(weights, 8, 3, first); /* 4 1 | 1 1 1 | 4 2 2 is 8; 4 1 1 | 1 1 4 | 2 2 is 6 */
    assert_int_equal(first[0], 0);
    assert_int_equal(first[1], 3);
    assert_int_equal(first[2], 6);
    const double same[] = {1, 1, 1, 1};
    pipeline_cut(same, 4, 4, first);
    for (int i = 0; i < 4; i++)
        assert_int_equal(first[i], i);
    const double front[] = {9, 0, 0};
    pipeline_cut(front, 3, 3, first);
    assert_int_equal(first[2], 2);
}

static void a_pipelined_step(void **state)
{
    (void)state;
    struct model_spec model = mlp();
    struct training t = plain(&model);
    struct flat network = flat_network(0);
    t.pipeline = 2;
    t.microbatches = 5;
    struct training_plan p = plan_of(&t, &network);
    /* 0.08 + 0.08 s of a micro-batch of 2 | 0.042 + 0.084 */
    assert_int_equal(p.stage_first[1], 1);
    NEAR(p.stages[0].forward_s, 0.08);
    NEAR(p.stages[1].backward_s, 0.084);
    /* The first stage works all the time but for its wait for the first gradient: 0.16 0.206 ... */
    assert_true(p.expected.step_s > 0.8 && p.expected.step_s < 1.43);
    NEAR(p.expected.compute_s + p.expected.bubble_s, p.expected.step_s);
    NEAR(p.expected.efficiency, 1.43 / 2 / p.expected.step_s);
    training_plan_free(&p);
    struct error e;
    t.microbatches = 3;
    assert_false(training_plan_make(&p, &t, &network.network, &e));
    assert_non_null(strstr(e.text, "microbatches"));
    t.microbatches = 1;
    t.pipeline = 4;
    assert_false(training_plan_make(&p, &t, &network.network, &e));
    assert_non_null(strstr(e.text, "4 stages, but the model has only 3 layers"));
    model_free(&model);
}

static void tensor_parallel_layers_share_their_weights(void **state)
{
    (void)state;
    struct model_spec model = mlp();
    struct training t = plain(&model);
    struct flat network = flat_network(0);
    network.tensor_s_per_byte = 1e-5;
    t.tensor = 2;
    struct training_plan p = plan_of(&t, &network);
    /*
     * Half of 1.43 s. The pair of the first two: 10 x 50 numbers forward, 10 x 100 backward; the third is alone: 10 x 10
     * forward, 10 x 50 backward: 2 000, 4 000, 400 and 2 000 bytes.
     */
    NEAR(p.expected.compute_s, 1.43 / 2);
    NEAR(p.expected.comm_s, 0.084);
    NEAR(p.expected.exposed_comm_s, 0.084);
    NEAR(p.expected.step_s, 1.43 / 2 + 0.084);
    NEAR(p.expected.efficiency, 0.715 / 0.799);
    /* Weights are halved, and the outputs of the first of a pair. */
    NEAR(p.memory.parameters, 2 * 30500);
    NEAR(p.memory.activations, 4 * 10 * (100 + 50 + 5));
    training_plan_free(&p);
    model_free(&model);
}

static void memory_by_hand(void **state)
{
    (void)state;
    struct model_spec model = mlp();
    struct training t = plain(&model);
    struct flat network = flat_network(0);
    t.optimizer = "adam";
    t.data = 2;
    t.bucket_bytes = 50000;
    struct training_plan p = plan_of(&t, &network);
    NEAR(p.memory.parameters, 122000);
    NEAR(p.memory.gradients, 122000);
    NEAR(p.memory.optimizer, 244000);
    NEAR(p.memory.activations, 4 * 10 * 260);
    NEAR(p.memory.buckets, 0); /* 2 000 + 40 000 are less than 50 000: all in one, summed in place */
    NEAR(p.memory.total, 122000 * 4 + 10400);
    training_plan_free(&p);
    t.bucket_bytes = 1;
    p = plan_of(&t, &network);
    NEAR(p.memory.buckets, 80000); /* of the largest */
    NEAR(p.memory.total, 122000 * 4 + 10400 + 80000);
    training_plan_free(&p);
    model_free(&model);
}

static void input_that_is_too_slow_bounds_the_step(void **state)
{
    (void)state;
    struct model_spec model = mlp();
    struct training t = plain(&model);
    struct flat network = flat_network(0);
    t.data = 4;
    t.input_samples_per_s = 10;
    struct training_plan p = plan_of(&t, &network);
    NEAR(p.expected.step_s, 4);
    NEAR(p.expected.input_s, 4 - 1.43);
    NEAR(p.expected.samples_per_s, 10);
    assert_int_equal(p.expected.bottleneck, BOTTLENECK_INPUT);
    training_plan_free(&p);
    model_free(&model);
}

/* --- stragglers --- */

static void the_slowest_of_many(void **state)
{
    (void)state;
    struct straggler uniform = {.kind = STRAGGLER_UNIFORM, .spread = 0.3};
    struct straggler tail = {.kind = STRAGGLER_EXPONENTIAL, .spread = 0.1};
    struct straggler normal = {.kind = STRAGGLER_NORMAL, .spread = 0.1};
    double harmonic = 0;
    for (int n = 1; n <= 1000; n++) {
        harmonic += 1.0 / n;
        if (n != 1 && n != 2 && n != 10 && n != 1000)
            continue;
        WITHIN(straggler_expected(&uniform, n), 1 + 0.3 * n / (n + 1.0), 1e-6);
        WITHIN(straggler_expected(&tail, n), 1 + 0.1 * harmonic, 1e-5);
    }
    /* Expected maxima of n standard normal values (H. Harter, Biometrika 48 (1961) 151-165). */
    static const struct {
        int n;
        double max;
    } table[] = {{1, 0}, {2, 0.56419}, {10, 1.53875}, {100, 2.50759}};
    for (int i = 0; i < 4; i++)
        WITHIN(straggler_expected(&normal, table[i].n), 1 + 0.1 * table[i].max, 2e-6);
    /* 100 000 of them: 4.38 (R. Fisher and L. Tippett give the asymptote; the integral is exact). */
    WITHIN(straggler_expected(&normal, 100000), 1.438, 1e-3);
    struct straggler one = {.slow_ranks = 1, .slow_factor = 1.5};
    WITHIN(straggler_expected(&one, 64), 1.5, 1e-12);
    struct straggler none = {.kind = STRAGGLER_NONE};
    WITHIN(straggler_expected(&none, 64), 1, 1e-12);
}

static void draws_have_that_mean_and_repeat(void **state)
{
    (void)state;
    struct straggler tail = {.kind = STRAGGLER_EXPONENTIAL, .spread = 0.1};
    double sum = 0;
    for (long step = 0; step < 20000; step++)
        sum += straggler_draw(&tail, 512, 7, step);
    /* A draw's standard deviation is about 0.128: the mean's 0.0009. */
    WITHIN(sum / 20000, straggler_expected(&tail, 512), 0.005);
    assert_true(straggler_draw(&tail, 512, 7, 3) == straggler_draw(&tail, 512, 7, 3));
    assert_true(straggler_draw(&tail, 512, 7, 3) != straggler_draw(&tail, 512, 8, 3));
}

static void stragglers_delay_the_gradients(void **state)
{
    (void)state;
    struct model_spec model = mlp();
    struct training t = plain(&model);
    struct flat network = flat_network(1e-5);
    t.data = 4;
    t.bucket_bytes = 1;
    t.straggler = (struct straggler){.slow_ranks = 1, .slow_factor = 2};
    struct training_plan p = plan_of(&t, &network);
    /* Twice as long: gradients at 1.26, 2.06, 2.86; the sums end at 3.66 instead of 2.23. */
    NEAR(p.expected.step_s, 3.66);
    NEAR(p.expected.straggler_s, 1.43);
    NEAR(p.expected.compute_s, 1.43);
    NEAR(p.expected.exposed_comm_s, 0.8);
    training_plan_free(&p);
    model_free(&model);
}

static void count_line(void *self, const char *what, double seconds, const char *text)
{
    int *lines = self;
    assert_true(isfinite(seconds) && *text);
    *lines += !strcmp(what, "step") || !strcmp(what, "bottleneck") || !strcmp(what, "gradients");
}

static void a_step_is_explained(void **state)
{
    (void)state;
    struct model_spec model = mlp();
    struct training t = plain(&model);
    struct flat network = flat_network(1e-4);
    t.data = 4;
    t.bucket_bytes = 1;
    struct training_plan p = plan_of(&t, &network);
    int lines = 0;
    char text[256];
    training_explain(&p, "a ring", count_line, &lines);
    assert_int_equal(lines, 3);
    assert_int_equal(p.expected.bottleneck, BOTTLENECK_NETWORK);
    assert_non_null(strstr(training_bottleneck_text(&p, "a ring", text, sizeof text), "network"));
    training_plan_free(&p);
    model_free(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_takes_the_sum_of_its_layers),
        cmocka_unit_test(an_infinite_network_scales_perfectly),
        cmocka_unit_test(overlap_hides_what_backward_covers),
        cmocka_unit_test(equal_stages_idle_as_the_formula_says),
        cmocka_unit_test(models_are_cut_where_the_heaviest_stage_is_lightest),
        cmocka_unit_test(a_pipelined_step),
        cmocka_unit_test(tensor_parallel_layers_share_their_weights),
        cmocka_unit_test(memory_by_hand),
        cmocka_unit_test(input_that_is_too_slow_bounds_the_step),
        cmocka_unit_test(the_slowest_of_many),
        cmocka_unit_test(draws_have_that_mean_and_repeat),
        cmocka_unit_test(stragglers_delay_the_gradients),
        cmocka_unit_test(a_step_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
