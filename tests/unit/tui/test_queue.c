/*
 * Batch systems' answers (tests/fixtures/schedulers) parsed, damaged ones refused or counted; the simulated queue against its
 * own sums; loads of links against closed forms.
 */
#include "tui/link_load.h"
#include "tui/queue_info.h"
#include "tui/ring_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef bool parser(struct queue_info *q, const char *text, struct error *e);

static char *read_file(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "tests/fixtures/schedulers/%s", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 65536);
    assert_true(fread(text, 1, 65535, file) > 0);
    fclose(file);
    return text;
}

static void parse(struct queue_info *q, parser *p, const char *name)
{
    struct error e = {0};
    char *text = read_file(name);
    if (!p(q, text, &e))
        fail_msg("%s: %s", name, e.text);
    free(text);
}

static void expect_node(const struct queue_node *n, const char *name, enum node_state state, int busy,
                        int cpus, const char *why)
{
    assert_string_equal(n->name, name);
    assert_int_equal(n->state, state);
    assert_int_equal(n->busy, busy);
    assert_int_equal(n->cpus, cpus);
    assert_string_equal(n->why, why);
}

static void slurm(void **state)
{
    (void)state;
    struct queue_info q = {0};
    parse(&q, queue_parse_sinfo, "slurm/sinfo");
    parse(&q, queue_parse_squeue, "slurm/squeue");
    queue_sort(&q);
    assert_int_equal(q.node_count, 3);
    expect_node(&q.nodes[0], "n1", NODE_BUSY, 2, 2, "");
    expect_node(&q.nodes[1], "n2", NODE_DOWN, 0, 2, "fan");
    expect_node(&q.nodes[2], "n3", NODE_DRAINED, 0, 2, "bad|disk");
    assert_int_equal(q.job_count, 4);
    assert_string_equal(q.jobs[0].id, "1");
    assert_true(q.jobs[0].running);
    assert_string_equal(q.jobs[0].name, "a|b");
    assert_string_equal(q.jobs[0].reason, "n1");
    assert_string_equal(q.jobs[0].time, "0:12");
    assert_int_equal(q.jobs[0].cpus, 2);
    assert_false(q.jobs[1].running);
    assert_int_equal(q.jobs[1].nodes, 3);
    assert_string_equal(q.jobs[3].name, "nach Übung");
    assert_int_equal(q.left_out, 0);
    queue_info_free(&q);
}

/* A node of two partitions is one node; signs behind its state; one that does not answer is down. */
static void slurm_states(void **state)
{
    (void)state;
    struct queue_info q = {0};
    const char *text =
        "a|batch*|mixed|3/1/0/4|none\na|debug|mixed|3/1/0/4|none\nb|batch*|idle*|0/4/0/4|Not responding\n"
        "c|batch*|idle~|0/4/0/4|none\nd|batch*|maint|0/4/0/4|none\nnonsense\ne|batch*|drained*|0/0/4/4|x\n";
    assert_true(queue_parse_sinfo(&q, text, NULL));
    assert_int_equal(q.node_count, 5);
    assert_string_equal(q.nodes[0].partition, "batch*,debug");
    assert_int_equal(q.nodes[0].state, NODE_MIXED);
    assert_int_equal(q.nodes[1].state, NODE_DOWN);
    assert_int_equal(q.nodes[2].state, NODE_FREE);
    assert_int_equal(q.nodes[3].state, NODE_OTHER);
    assert_int_equal(q.nodes[4].state, NODE_DOWN);
    assert_int_equal(q.left_out, 1);
    queue_info_free(&q);
}

static void pbs(void **state)
{
    (void)state;
    struct queue_info q = {0};
    parse(&q, queue_parse_pbsnodes, "pbs/pbsnodes");
    parse(&q, queue_parse_pbs_jobs, "pbs/qstat");
    queue_sort(&q);
    assert_int_equal(q.node_count, 6);
    expect_node(&q.nodes[0], "c1", NODE_BUSY, 4, 4, "");
    expect_node(&q.nodes[2], "c3", NODE_MIXED, 2, 8, "");
    expect_node(&q.nodes[3], "c4", NODE_FREE, -1, 8, "");
    expect_node(&q.nodes[4], "c5", NODE_DRAINED, 0, 8, "memory replaced tomorrow");
    expect_node(&q.nodes[5], "c6", NODE_DOWN, -1, -1, "node down: communication closed");
    assert_int_equal(q.job_count, 2);
    assert_string_equal(q.jobs[0].id, "11");
    assert_string_equal(q.jobs[0].user, "alice");
    assert_string_equal(q.jobs[0].time, "00:12:34");
    assert_string_equal(q.jobs[0].reason, "c1/0*4+c2/0*4");
    assert_int_equal(q.jobs[1].cpus, 16);
    assert_non_null(strstr(q.jobs[1].reason, "Insufficient"));
    queue_info_free(&q);
}

static void sge(void **state)
{
    (void)state;
    struct queue_info q = {0};
    parse(&q, queue_parse_qhost, "sge/qhost");
    parse(&q, queue_parse_sge_jobs, "sge/qstat");
    assert_int_equal(q.node_count, 3);
    expect_node(&q.nodes[0], "g1", NODE_MIXED, 4, 8, "");
    expect_node(&q.nodes[1], "g2", NODE_DRAINED, 0, 8, "");
    expect_node(&q.nodes[2], "g3", NODE_DOWN, 0, 8, "");
    assert_string_equal(q.nodes[0].partition, "all.q");
    assert_int_equal(q.job_count, 3);
    assert_string_equal(q.jobs[0].name, "a<b");
    assert_string_equal(q.jobs[0].partition, "all.q");
    assert_string_equal(q.jobs[0].reason, "g1");
    assert_string_equal(q.jobs[0].time, "11-14 22:01");
    assert_true(q.jobs[0].running && !q.jobs[1].running);
    assert_int_equal(q.jobs[1].cpus, 16);
    assert_string_equal(q.jobs[2].reason, "error: qstat -j 73");
    queue_info_free(&q);
}

/* Nothing that steers a terminal gets past; empty answers are an empty queue; another program's words are refused. */
static void odd_answers(void **state)
{
    (void)state;
    struct queue_info q = {0};
    struct error e = {0};
    assert_true(queue_parse_squeue(&q, "", NULL));
    assert_true(queue_parse_pbs_jobs(&q, "{\"timestamp\":1}", NULL));
    assert_int_equal(q.job_count, 0);
    assert_true(queue_parse_squeue(&q, "1|p|u|RUNNING|0:01|1|1|None|n1|\033[31mred\007\n", NULL));
    assert_string_equal(q.jobs[0].name, " [31mred");
    assert_false(queue_parse_squeue(&q, "slurm_load_jobs error: Unable to contact slurm controller\n", &e));
    assert_non_null(strstr(e.text, "squeue printed 1 lines"));
    assert_false(queue_parse_pbsnodes(&q, "Node c1\n  state = free\n", &e));
    assert_non_null(strstr(e.text, "OpenPBS 14"));
    assert_false(queue_parse_qhost(&q, "error: commlib error", &e));
    assert_false(queue_parse_sge_jobs(&q, "", &e));
    queue_info_free(&q);
}

/* Every beginning of an answer, and 3 000 with a byte changed: parsed or refused, and nothing read that is not there. */
static void damaged_answers(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        parser *parse;
    } kinds[] = {{"slurm/squeue", queue_parse_squeue}, {"slurm/sinfo", queue_parse_sinfo},
                 {"pbs/qstat", queue_parse_pbs_jobs},  {"pbs/pbsnodes", queue_parse_pbsnodes},
                 {"sge/qstat", queue_parse_sge_jobs},  {"sge/qhost", queue_parse_qhost}};
    unsigned seed = 3;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        char *whole = read_file(kinds[k].name);
        size_t length = strlen(whole);
        for (size_t i = 0; i < length + 500; i++) {
            struct queue_info q = {0};
            struct error e = {0};
            size_t n = i < length ? i : length;
            char *text = malloc(n + 1);
            memcpy(text, whole, n);
            text[n] = '\0';
            if (i >= length && n > 0)
                text[(size_t)rand_r(&seed) % n] = (char)(rand_r(&seed) % 255 + 1);
            bool ok = kinds[k].parse(&q, text, &e);
            assert_true(ok || *e.text);
            for (int j = 0; j < q.job_count; j++)
                assert_true(strlen(q.jobs[j].name) < sizeof q.jobs[j].name);
            queue_info_free(&q);
            free(text);
        }
        free(whole);
    }
}

static void a_simulated_queue_adds_up(void **state)
{
    (void)state;
    struct error e = {0};
    struct simulated_queue *s = simulated_queue_new(16, 4, "easy", &e);
    assert_non_null(s);
    double end = simulated_queue_end(s);
    int seen = 0;
    for (int k = 0; k <= 40; k++) {
        struct queue_info q;
        assert_true(simulated_queue_at(s, end * k / 40, &q, &e));
        int busy = 0, running = 0;
        for (int i = 0; i < q.node_count; i++)
            busy += q.nodes[i].busy;
        for (int i = 0; i < q.job_count; i++)
            running += q.jobs[i].running ? q.jobs[i].cpus : 0;
        assert_int_equal(q.node_count, 16);
        assert_int_equal(busy, running);
        assert_true(busy <= 64);
        seen += busy > 0;
        queue_info_free(&q);
    }
    assert_true(seen > 20);
    assert_true(simulated_queue_utilisation(s) > 0.3 && simulated_queue_utilisation(s) <= 1);
    simulated_queue_free(s);
    assert_null(simulated_queue_new(16, 4, "lottery", &e));
}

static struct link_load load_of(const char *cluster, const char *algo, int ranks, bool training)
{
    struct link_question q = {.ranks = ranks, .bytes = 12e6, .training = training};
    struct link_load l;
    struct error e = {0};
    snprintf(q.cluster, sizeof q.cluster, "%s", cluster);
    snprintf(q.algo, sizeof q.algo, "%s", algo);
    if (!link_load_make(&l, &q, &e))
        fail_msg("%s on %s: %s", algo, cluster, e.text);
    return l;
}

/* On a switch port p has link 2p out and 2p + 1 in. A ring puts 2(n-1)/n S on each; everyone (n-1) S; a broadcast from rank 0
 * along a tree of four ranks 2 S out of port 0 and S into each of the others. */
static void loads_are_the_closed_forms(void **state)
{
    (void)state;
    struct link_load l = load_of("gigabit", "ring", 4, false);
    for (int i = 0; i < 8; i++)
        assert_true(fabs(l.bytes[i] - 1.5 * 12e6) < 1);
    assert_true(link_load_share(&l, 0) > 0.9 && link_load_share(&l, 0) <= 1);
    assert_true(fabs(link_load_share(&l, 0) - 1.5 * 12e6 / (125e6 * l.time_s)) < 1e-9);
    link_load_free(&l);
    l = load_of("gigabit", "everyone", 4, false);
    for (int i = 0; i < 8; i++)
        assert_true(fabs(l.bytes[i] - 3 * 12e6) < 1);
    link_load_free(&l);
    l = load_of("gigabit", "broadcast", 4, false);
    assert_true(fabs(l.bytes[0] - 2 * 12e6) < 1 && l.bytes[1] == 0);
    double out = 0, in = 0;
    for (int port = 0; port < 4; port++) {
        out += l.bytes[2 * port];
        in += l.bytes[2 * port + 1];
    }
    assert_true(fabs(out - 3 * 12e6) < 1 && fabs(in - 3 * 12e6) < 1);
    int busiest[3];
    assert_int_equal(link_load_busiest(&l, busiest, 3), 3);
    assert_int_equal(busiest[0], 0);
    link_load_free(&l);
}

/* Everything that goes up to the spines of a fat tree comes down; a training step's links are idle while ranks compute. */
static void a_fat_tree_conserves(void **state)
{
    (void)state;
    for (int i = 0; ring_schedule_name(i); i++) {
        struct link_load l = load_of("teaching", ring_schedule_name(i), 64, false);
        const struct platform *p = &l.platform;
        double up = 0, down = 0, out = 0, in = 0;
        for (int k = 0; k < p->ports; k++) {
            out += l.bytes[2 * k];
            in += l.bytes[2 * k + 1];
        }
        for (int k = 2 * p->ports; k < p->network_links; k += 2) {
            up += l.bytes[k];
            down += l.bytes[k + 1];
        }
        assert_true(fabs(up - down) <= 1e-6 * up && fabs(out - in) <= 1e-6 * out && out >= up);
        for (int k = 0; k < p->links; k++)
            assert_true(link_load_share(&l, k) >= 0 && link_load_share(&l, k) <= 1);
        link_load_free(&l);
    }
    struct link_load l = load_of("teaching", "ring", 64, true);
    assert_true(l.time_s > l.compute_s && l.compute_s > 0);
    assert_true(fabs(l.sum_bytes - 4 * 25557032.0) < 1); /* resnet50's parameters */
    assert_true(fabs(l.bytes[0] - 2 * 63 / 64.0 * l.sum_bytes) < 0.001 * l.sum_bytes);
    link_load_free(&l);
    struct link_question q = {.cluster = "nowhere", .algo = "ring", .bytes = 1};
    struct error e = {0};
    assert_false(link_load_make(&l, &q, &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slurm),
        cmocka_unit_test(slurm_states),
        cmocka_unit_test(pbs),
        cmocka_unit_test(sge),
        cmocka_unit_test(odd_answers),
        cmocka_unit_test(damaged_answers),
        cmocka_unit_test(a_simulated_queue_adds_up),
        cmocka_unit_test(loads_are_the_closed_forms),
        cmocka_unit_test(a_fat_tree_conserves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
