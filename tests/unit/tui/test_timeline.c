/*
 * A trace made by hand: shares, waiting and layers against sums done on paper, and a step as it should look.
 */
#include "engine/base/trace_write.h"
#include "tui/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 2, MS = 1000000 };

static char home[64], path[96];

static int set_up(void **state)
{
    (void)state;
    strcpy(home, "/tmp/ringside-timeline-XXXXXX");
    assert_non_null(mkdtemp(home));
    snprintf(path, sizeof path, "%s/%s", home, TRACE_FILE);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(home);
}

static struct trace_span span(int lane, enum trace_kind kind, int step, double from, double to)
{
    int64_t t = 100 * MS + (int64_t)(step - 1) * 12 * MS;
    return (struct trace_span){.t0 = t + llround(from * MS),
                               .t1 = t + llround(to * MS),
                               .kind = (uint8_t)kind,
                               .lane = (uint8_t)lane,
                               .step = step,
                               .name = -1,
                               .algo = -1,
                               .bytes = 400,
                               .bucket = kind == TRACE_ALLREDUCE ? 0 : -1};
}

/*
 * Steps of 10 ms and 2 ms between them. Rank 0: data 1, forward 3 (two layers, 1 and 2), backward 4, one of it in a
 * batchnorm's allreduce, optimizer 1, and 1 of nothing; its thread sums from 5 to 8. Rank 1 comes 1 ms later to
 * the sum, and has 2 ms of data.
 */
static int make(struct trace_span *s, int rank)
{
    int n = 0;
    for (int step = 1; step <= STEPS; step++) {
        s[n++] = span(0, TRACE_STEP, step, 0, 10);
        s[n++] = span(0, TRACE_DATA, step, 0, rank ? 2 : 1);
        s[n++] = span(0, TRACE_FORWARD, step, 2, 5);
        s[n++] = span(0, TRACE_LAYER_FORWARD, step, 2, 3);
        s[n - 1].name = 0;
        s[n++] = span(0, TRACE_LAYER_FORWARD, step, 3, 5);
        s[n - 1].name = 1;
        s[n++] = span(0, TRACE_BACKWARD, step, 5, 9);
        s[n++] = span(0, TRACE_LAYER_BACKWARD, step, 5, 9);
        s[n - 1].name = 1;
        s[n] = span(0, TRACE_ALLREDUCE, step, 6, 7);
        s[n++].bucket = -1;
        s[n++] = span(0, TRACE_OPTIMIZER, step, 9, 10);
        s[n++] = span(1, TRACE_ALLREDUCE, step, rank ? 6 : 5, 8);
        if (step < STEPS && rank == 0)
            s[n++] = span(0, TRACE_BETWEEN, step, 10, 12);
    }
    return n;
}

static void write_trace(const char *slowed)
{
    struct trace_clock clocks[2];
    const char hosts[2][64] = {"here", "here"};
    const char names[2][TRACE_NAME] = {"0 dense 8", "1 batchnorm"};
    struct trace_about about = {.job = "train",
                                .slowed = slowed,
                                .ranks = 2,
                                .first_step = 1,
                                .last_step = STEPS,
                                .clocks = clocks,
                                .hosts = hosts};
    struct trace_head head = {.names = 2, .first_step = 1, .last_step = STEPS};
    long bytes;
    memset(clocks, 0, sizeof clocks);
    strcpy(head.lanes[0], "compute");
    strcpy(head.lanes[1], "comm");
    struct trace_file *f = trace_file_new(home, &about, NULL);
    assert_non_null(f);
    for (int r = 0; r < 2; r++) {
        struct trace_span spans[16 * STEPS];
        head.spans = make(spans, r);
        assert_true(trace_file_add(f, r, &head, names, spans, NULL));
    }
    assert_true(trace_file_close(f, &bytes, NULL));
}

static void near(double got, double expected)
{
    if (fabs(got - expected) > 1e-9)
        fail_msg("%.12g instead of %.12g", got, expected);
}

static void test_shares(void **state)
{
    (void)state;
    struct trace_data d;
    struct timeline t;
    write_trace(NULL);
    assert_true(trace_data_read(home, &d, NULL));
    assert_true(timeline_sum_up(&d, &t, NULL));
    assert_int_equal(t.rank_count, 2);
    const struct timeline_rank *a = &t.ranks[0], *b = &t.ranks[1];
    double all = 22; /* milliseconds: two steps and what lies between */
    near(a->step_s, 0.011);
    near(a->compute, 2 * (3 + 3 + 1) / all);
    near(a->exposed, 2 * 1 / all);
    near(a->data, 2 * 1 / all);
    near(a->between, 2 / all);
    near(a->idle, 2 * 1 / all);
    near(a->hidden, 2 * (3 - 1) / all);
    near(a->waiting, 2 * 1 / all); /* in its bucket, until rank 1 comes; the batchnorms begin at once */
    near(b->data, 2 * 2 / all);
    near(b->between, 0);
    near(b->idle, 2 / all); /* the gap between the steps */
    near(b->waiting, 0);
    assert_int_equal(t.layer_count, 2);
    assert_string_equal(t.layers[0].name, "1 batchnorm");
    near(t.layers[0].forward_s, 0.002);
    near(t.layers[0].backward_s, 0.004);
    near(t.layers[1].forward_s, 0.001);
    near(t.layers[1].backward_s, 0);
    timeline_free(&t);
    trace_data_free(&d);
}

static void draw(long step, int columns, const char *expected, const char *words)
{
    struct trace_data d;
    struct error e = {0};
    char *text = NULL;
    size_t size = 0;
    assert_true(trace_data_read(home, &d, NULL));
    FILE *to = open_memstream(&text, &size);
    bool ok = timeline_draw(&d, step, columns, to, &e);
    fclose(to);
    trace_data_free(&d);
    if (expected)
        assert_string_equal(text, expected);
    else
        assert_non_null(strstr(e.text, words));
    assert_int_equal(ok, expected != NULL);
    free(text);
}

static void test_picture(void **state)
{
    (void)state;
    write_trace(NULL);
    draw(2, 30,
         "rank 0    ddooFFFFFFBBAABBBBOO\n"
         "    comm  ..........AAAAAA....\n"
         "rank 1    ddddFFFFFFBBAABBBBOO\n"
         "    comm  ............AAAA....\n"
         "          0            10.0 ms\n"
         "o other   d data   F forward   B backward   O optimizer   A allreduce   . idle\n",
         NULL);
    draw(3, 30, NULL, "steps 1 to 2, not 3");
}

static void test_text(void **state)
{
    (void)state;
    struct trace_data d;
    char *text = NULL;
    size_t size = 0;
    write_trace("slowed on purpose: 1 Gbit/s");
    assert_true(trace_data_read(home, &d, NULL));
    FILE *to = open_memstream(&text, &size);
    assert_true(timeline_print(&d, timeline_typical_step(&d), 80, to, NULL));
    fclose(to);
    assert_non_null(strstr(text, "steps 1 to 2 of 2 ranks; "));
    assert_non_null(strstr(text, "\nslowed on purpose: 1 Gbit/s\n"));
    assert_non_null(strstr(text, "\n1 batchnorm     2.000 ms     4.000 ms    54.5 %\n"));
    assert_non_null(
        strstr(text, "\ncritical path: compute 70.0 %, communication 10.0 %, data 10.0 %, other 10.0 %\n"
                     "its longest piece: rank 0, 1 batchnorm, 2.000 ms\n"));
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 82); /* bytes, of 80 columns */
    free(text);
    trace_data_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_picture),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
