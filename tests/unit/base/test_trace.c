/*
 * Traces: what is recorded and when, the file as others read it (JSON, nesting, clocks), and read back; damaged ones.
 */
#include "engine/base/sink.h"
#include "engine/base/trace_read.h"
#include "engine/base/trace_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 2, STEPS = 3 };

static char home[64], path[96];

static int set_up(void **state)
{
    (void)state;
    strcpy(home, "/tmp/ringside-trace-XXXXXX");
    assert_non_null(mkdtemp(home));
    snprintf(path, sizeof path, "%s/%s", home, TRACE_FILE);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(home); /* nothing else is there: no temporary file */
}

/* --- recording --- */

static void test_recording(void **state)
{
    (void)state;
    struct trace_head head;
    struct trace *t = trace_new(sink_clock() - 5, 1, NULL);
    struct trace_lane *lane = trace_lane(t, TRACE_LANE_MAIN, "compute");
    assert_int_equal(trace_now(lane), 0); /* no step is open */
    assert_int_equal(trace_span(lane, trace_now(lane), TRACE_DATA, -1), 0);
    assert_true(trace_step(t, 7));
    int64_t a = trace_now(lane), b = trace_span(lane, a, TRACE_DATA, -1);
    assert_true(a > 4900000000 && b >= a);
    assert_int_equal(trace_reduce(lane, b, TRACE_ALLREDUCE, 1, 4096, trace_name(t, "ring")) >= b, 1);
    long open = trace_pause(t);
    assert_int_equal(open, 7);
    assert_int_equal(trace_span(lane, b, TRACE_DATA, -1), 0);
    trace_resume(t, open);
    double now = sink_clock();
    trace_add(lane, now - 1, now, (struct trace_span){.kind = TRACE_HOP, .peer = 3});
    trace_get_head(t, &head);
    assert_int_equal(head.spans, 3);
    assert_int_equal(head.first_step, 7);
    assert_int_equal(head.dropped, 0);
    assert_string_equal(head.lanes[0], "compute");
    const struct trace_span *s = trace_spans(t);
    assert_int_equal(s[1].bytes, 4096);
    assert_string_equal(trace_names(t)[s[1].algo], "ring");
    assert_int_equal(s[2].step, 7);
    assert_true(llabs(s[2].t1 - s[2].t0 - 1000000000) < 2000); /* a double of the epoch is that exact */
    assert_true(llabs(s[2].t1 - 5000000000) < 1000000000);
    trace_free(t);
    /* Nothing is asked of those who have no trace. */
    assert_null(trace_lane(NULL, 1, "x"));
    assert_int_equal(trace_span(NULL, trace_now(NULL), TRACE_DATA, trace_name(NULL, "x")), 0);
    assert_false(trace_step(NULL, 1));
    trace_free(NULL);
}

static void test_bounds(void **state)
{
    (void)state;
    struct trace_head head;
    int ranks = 1000, room = TRACE_SPANS / ranks, each = 60;
    struct trace *t = trace_new(sink_clock(), ranks, NULL);
    struct trace_lane *lane = trace_lane(t, TRACE_LANE_MAIN, "compute");
    int steps = 0;
    while (trace_step(t, steps + 1)) {
        steps++;
        for (int i = 0; i < each; i++)
            trace_span(lane, trace_now(lane), TRACE_DATA, -1);
    }
    assert_int_equal(steps, room / each); /* whole steps */
    trace_get_head(t, &head);
    assert_int_equal(head.spans, steps * each);
    assert_int_equal(head.last_step, steps);
    assert_int_equal(head.dropped, 0);
    trace_free(t);
    t = trace_new(sink_clock(), ranks, NULL); /* one step alone that is too large */
    lane = trace_lane(t, TRACE_LANE_MAIN, "compute");
    assert_true(trace_step(t, 1));
    for (int i = 0; i < room + 17; i++)
        trace_span(lane, trace_now(lane), TRACE_DATA, -1);
    trace_get_head(t, &head);
    assert_int_equal(head.spans, room);
    assert_int_equal(head.dropped, 17);
    char name[32];
    for (int i = 0; i < TRACE_NAMES + 100; i++) {
        snprintf(name, sizeof name, "name %d", i);
        int number = trace_name(t, name);
        assert_int_equal(number, i < TRACE_NAMES - 1 ? i : TRACE_NAMES - 1);
        assert_int_equal(trace_name(t, name), number);
    }
    assert_string_equal(trace_names(t)[TRACE_NAMES - 1], "...");
    trace_free(t);
}

/* --- the file --- */

static struct trace_span span(int64_t t0, int64_t t1, enum trace_kind kind, int step)
{
    return (struct trace_span){.t0 = t0,
                               .t1 = t1,
                               .kind = (uint8_t)kind,
                               .step = step,
                               .name = -1,
                               .algo = -1,
                               .bytes = -1,
                               .bucket = -1};
}

/*
 * A step takes 1 ms: data 0.1, forward 0.3 with two layers, backward 0.3, an allreduce of 0.2 on both threads and
 * 0.1 of nothing. Between steps lies 0.1 ms. Rank 1's clock is `ahead` nanoseconds ahead of rank 0's.
 */
static int make_spans(struct trace_span *s, int64_t ahead)
{
    int n = 0;
    for (int step = 1; step <= STEPS; step++) {
        int64_t t = 1000000000 + 1100000 * (int64_t)step + ahead;
        s[n++] = span(t, t + 100000, TRACE_DATA, step);
        s[n++] = span(t + 100000, t + 250001, TRACE_LAYER_FORWARD, step);
        s[n - 1].name = 0;
        s[n++] = span(t + 250001, t + 400000, TRACE_LAYER_FORWARD, step);
        s[n - 1].name = 1;
        s[n++] = span(t + 100000, t + 400000, TRACE_FORWARD, step);
        s[n++] = span(t + 400000, t + 700000, TRACE_BACKWARD, step);
        s[n] = span(t + 700000, t + 900000, TRACE_ALLREDUCE, step);
        s[n].algo = 2, s[n].bytes = 4096, s[n].bucket = 0, s[n].lane = TRACE_LANE_COMM;
        n++;
        s[n++] = span(t + 700000, t + 900000, TRACE_WAIT, step);
        s[n++] = span(t, t + 1000000, TRACE_STEP, step);
        for (int k = 0; k < 2; k++) { /* two transfers at once */
            s[n] = span(t + 710000, t + 800000 + k, TRACE_HOP, step);
            s[n].sent = k, s[n].bucket = 0, s[n].chunk = k, s[n].bytes = 2048, s[n].peer = 1;
            n++;
        }
    }
    return n;
}

static void write_file(int64_t ahead)
{
    struct trace_clock clocks[RANKS];
    memset(clocks, 0, sizeof clocks);
    /* It gains 1 us between the two comparisons, which lie 1 s before and 1 s after the middle. */
    clocks[1] = (struct trace_clock){.at = {ahead, 2000000000 + ahead},
                                     .offset_s = {1e-9 * (double)ahead, 1e-9 * (double)(ahead + 1000)},
                                     .bound_s = 3e-6};
    const char hosts[RANKS][64] = {"node1", "node2"};
    struct trace_about about = {.job = "train",
                                .started = 1.7e9,
                                .ranks = RANKS,
                                .first_step = 1,
                                .last_step = STEPS,
                                .clocks = clocks,
                                .hosts = hosts};
    const char names[3][TRACE_NAME] = {"0 conv2d 32, 3\303\2273", "1 \"dense\" \\ 10", "ring"};
    struct trace_head head = {.names = 3, .first_step = 1, .last_step = STEPS};
    strcpy(head.lanes[TRACE_LANE_MAIN], "compute");
    strcpy(head.lanes[TRACE_LANE_COMM], "communication");
    struct error e = {0};
    long bytes = 0;
    unlink(path);
    struct trace_file *f = trace_file_new(home, &about, &e);
    assert_non_null(f);
    for (int r = 0; r < RANKS; r++) {
        struct trace_span spans[16 * STEPS];
        head.spans = make_spans(spans, r ? ahead : 0);
        assert_true(trace_file_add(f, r, &head, names, spans, &e));
    }
    assert_true(access(path, F_OK) != 0); /* until it is whole */
    assert_true(trace_file_close(f, &bytes, &e));
    assert_true(bytes > 1000);
}

/* As a strict reader sees it: valid JSON, and the spans of a thread nest. */
static void test_format(void **state)
{
    (void)state;
    json_error_t where;
    write_file(250000000);
    json_t *file = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    assert_non_null(file);
    json_t *events = json_object_get(file, "traceEvents");
    assert_true(json_is_array(events));
    size_t i;
    json_t *event;
    struct {
        long long t0, t1;
    } open[8];
    int depth = 0, counted[TRACE_KINDS] = {0}, rows = 0;
    long long row = -1, hop_ends = 0;
    json_array_foreach(events, i, event)
    {
        const char *phase = json_string_value(json_object_get(event, "ph"));
        long long pid = json_integer_value(json_object_get(event, "pid"));
        long long tid = json_integer_value(json_object_get(event, "tid"));
        if (strcmp(phase, "M") == 0) {
            rows += !strcmp(json_string_value(json_object_get(event, "name")), "thread_name");
            continue;
        }
        assert_string_equal(phase, "X");
        if (row != pid * 1000 + tid)
            depth = 0, row = pid * 1000 + tid, hop_ends = 0;
        long long t0 = llround(1e3 * json_number_value(json_object_get(event, "ts")));
        long long t1 = t0 + llround(1e3 * json_number_value(json_object_get(event, "dur")));
        assert_true(t0 > 0 && t1 >= t0);
        while (depth > 0 && open[depth - 1].t1 <= t0)
            depth--;
        assert_true(depth == 0 || (t0 >= open[depth - 1].t0 && t1 <= open[depth - 1].t1));
        open[depth].t0 = t0, open[depth++].t1 = t1;
        for (int k = 0; k < TRACE_KINDS; k++)
            counted[k] += !strcmp(trace_kind_name((enum trace_kind)k),
                                  json_string_value(json_object_get(event, "cat")));
        if (tid >= TRACE_LANES) {
            assert_true(t0 >= hop_ends);
            hop_ends = t1;
        }
    }
    assert_int_equal(rows, RANKS * 4); /* two threads and two rows of transfers each */
    assert_int_equal(counted[TRACE_STEP], RANKS * STEPS);
    assert_int_equal(counted[TRACE_LAYER_FORWARD], RANKS * STEPS * 2);
    assert_int_equal(counted[TRACE_HOP], RANKS * STEPS * 2);
    /* The main thread's between steps; the other one's before, between and after its allreduces. */
    assert_int_equal(counted[TRACE_IDLE], RANKS * (STEPS - 1 + STEPS + 1));
    json_t *other = json_object_get(file, "otherData");
    assert_true(fabs(json_number_value(json_array_get(json_object_get(other, "offset_s"), 1)) - 0.250001) <
                1e-12);
    assert_true(fabs(json_number_value(json_array_get(json_object_get(other, "bound_s"), 1)) - 3e-6) < 1e-12);
    json_decref(file);
}

static void test_read_back(void **state)
{
    (void)state;
    struct trace_data d;
    struct error e = {0};
    write_file(250000000);
    assert_true(trace_data_read(home, &d, &e));
    assert_int_equal(d.ranks, RANKS);
    assert_int_equal(d.last_step, STEPS);
    assert_string_equal(d.job, "train");
    assert_true(fabs(d.offset_s - 0.250001) < 1e-12);
    assert_false(d.incomplete);
    assert_int_equal(d.row_count, RANKS * 4);
    const struct trace_row *a = trace_data_row(&d, 0, TRACE_LANE_MAIN),
                           *b = trace_data_row(&d, 1, TRACE_LANE_MAIN);
    assert_non_null(a);
    assert_non_null(b);
    assert_null(trace_data_row(&d, 1, TRACE_LANES - 1));
    assert_string_equal(a->name, "compute");
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        const struct trace_event *x = &d.events[a->first + i], *y = &d.events[b->first + i];
        assert_int_equal(x->kind, y->kind);
        /* Half of what it gains is gone at the middle, where these are: 0.5 us, give or take the 3 ms around it. */
        assert_true(llabs(y->t0 - x->t0 + 500) < 6);
    }
    const struct trace_event *step = &d.events[a->first];
    assert_int_equal(step->kind, TRACE_STEP);
    assert_int_equal(step->depth, 0);
    assert_int_equal(step->t1 - step->t0, 1000000);
    assert_int_equal(step->self, 100000);
    const struct trace_event *layer = step + 3;
    assert_int_equal(layer->kind, TRACE_LAYER_FORWARD);
    assert_int_equal(layer->depth, 2);
    assert_int_equal(layer->t1 - layer->t0, 150001);
    assert_string_equal(trace_event_name(&d, layer), "0 conv2d 32, 3\303\2273");
    assert_string_equal(trace_event_name(&d, layer + 1), "1 \"dense\" \\ 10");
    const struct trace_row *comm = trace_data_row(&d, 1, TRACE_LANE_COMM);
    const struct trace_event *sum = &d.events[comm->first + 1];
    assert_int_equal(sum->kind, TRACE_ALLREDUCE);
    assert_int_equal(sum->bytes, 4096);
    assert_int_equal(sum->bucket, 0);
    assert_string_equal(d.names[sum->algo], "ring");
    trace_data_free(&d);
}

/* A clock that was set back in the middle: an inner span that ends behind the one around it. */
static void test_clock_set_back(void **state)
{
    (void)state;
    struct trace_clock clock = {.bound_s = 0};
    const char hosts[1][64] = {"here"};
    struct trace_about about = {
        .job = "train", .ranks = 1, .first_step = 1, .last_step = 1, .clocks = &clock, .hosts = hosts};
    struct trace_head head = {.spans = 3, .first_step = 1, .last_step = 1};
    strcpy(head.lanes[0], "compute");
    struct trace_span spans[3] = {span(2000, 9000, TRACE_DATA, 1), span(1000, 5000, TRACE_STEP, 1),
                                  span(6000, 7000, TRACE_OPTIMIZER, 2)}; /* a step that not all ranks have */
    struct trace_data d;
    long bytes;
    struct trace_file *f = trace_file_new(home, &about, NULL);
    assert_true(trace_file_add(f, 0, &head, NULL, spans, NULL));
    assert_true(trace_file_close(f, &bytes, NULL));
    assert_true(trace_data_read(home, &d, NULL));
    assert_int_equal(d.count, 2);
    assert_int_equal(d.events[1].t1, 5000);
    assert_int_equal(d.events[0].self, 1000);
    trace_data_free(&d);
    /* One that is dropped leaves nothing. */
    unlink(path);
    f = trace_file_new(home, &about, NULL);
    trace_file_drop(f);
    assert_true(access(path, F_OK) != 0);
    trace_file_drop(NULL);
    struct error e = {0};
    assert_null(trace_file_new("/nowhere/at/all", &about, &e));
    assert_non_null(strstr(e.text, "/nowhere/at/all/trace.json"));
}

static void refuse(const char *text, size_t n, const char *words)
{
    struct trace_data d;
    struct error e = {0};
    FILE *f = fopen(path, "w");
    fwrite(text, 1, n, f);
    fclose(f);
    bool ok = trace_data_read(home, &d, &e);
    if (ok)
        trace_data_free(&d);
    assert_true(words ? !ok : 1);
    assert_true(ok || (e.kind == ERROR_INPUT && *e.text && !strchr(e.text, '\n')));
    if (words && !strstr(e.text, words))
        fail_msg("expected '%s' in '%s'", words, e.text);
}

static void test_damaged(void **state)
{
    (void)state;
    static char whole[200000], text[200000];
    unlink(path);
    struct trace_data d;
    struct error e = {0};
    assert_false(trace_data_read(home, &d, &e));
    assert_non_null(strstr(e.text, "trace.json cannot be read"));
    write_file(0);
    FILE *f = fopen(path, "r");
    size_t n = fread(whole, 1, sizeof whole, f);
    fclose(f);
    assert_true(n > 2000 && n < sizeof whole);
    refuse("", 0, "ends in the middle");
    refuse("[]\n", 3, "line 1");
    refuse(whole, n - 4, "ends in the middle");
    refuse(whole, n / 2, "line");
    srand(1);
    for (int i = 0; i < 2000; i++) {
        size_t length = n;
        memcpy(text, whole, n);
        switch (i % 4) {
        case 0: length = (size_t)rand() % n; break;
        case 1: /* some other bytes */
            for (int k = 0; k <= i % 7; k++)
                text[(size_t)rand() % n] = (char)rand();
            break;
        case 2: { /* a digit becomes many */
            size_t at = (size_t)rand() % (n - 8);
            memset(text + at, "9-\"{.e0"[rand() % 7], 1 + (size_t)rand() % 7);
            break;
        }
        default: { /* a piece is gone */
            size_t at = (size_t)rand() % n, gone = (size_t)rand() % (n - at);
            memmove(text + at, text + at + gone, n - at - gone);
            length = n - gone;
        }
        }
        refuse(text, length, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recording),      cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_format),         cmocka_unit_test(test_read_back),
        cmocka_unit_test(test_clock_set_back), cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
