/* The Standard Workload Format: what is read, what is refused and how, writing, gzip, and 2 000 damaged files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster-sim/swf.h"
#include "engine/base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static const char good[] =
    "; Version: 2.2\n"
    ";   MaxProcs:  8\n"
    "; Note: made for a test\n"
    "\n"
    "  1   10   5   100   4  99.5   2048   4   200    -1   1  3  1  7  1  -1  -1  -1\r\n"
    "2 10 0 20 1 -1 -1 -1 -1 -1 0 4 1 -1 2 -1 1 30\n"
    "\t3 11.5 0 20 1 -1 -1 2 60 -1 5 4 1 -1 2 1 -1 -1";

static void test_read(void **state)
{
    (void)state;
    struct swf s;
    struct error e = {0};
    assert_true(swf_parse(good, strlen(good), "a.swf", &s, &e));
    assert_int_equal(s.count, 3);
    assert_int_equal(s.headers, 3);
    assert_true(swf_header_number(&s, "MaxProcs", -1) == 8);
    assert_true(swf_header_number(&s, "maxprocs", -1) == 8);
    assert_true(swf_header_number(&s, "Max", -1) == -1);
    assert_true(swf_header_number(&s, "Note", 6) == 6);
    const struct swf_job *j = &s.jobs[0];
    assert_true(j->number == 1 && j->submit_s == 10 && j->wait_s == 5 && j->run_s == 100 && j->procs == 4);
    assert_true(j->cpu_s == 99.5 && j->memory_kib == 2048 && j->procs_asked == 4 && j->time_asked_s == 200);
    assert_true(j->memory_asked_kib == -1 && j->status == 1 && j->user == 3 && j->group == 1);
    assert_true(j->executable == 7 && j->queue == 1 && j->partition == -1 && j->before == -1);
    assert_int_equal(j->line, 5);
    assert_true(s.jobs[1].before == 1 && s.jobs[1].think_s == 30);
    assert_true(s.jobs[2].submit_s == 11.5);
    swf_free(&s);
}

/* The sentence names file and line and holds the words. */
static void refused(const char *text, const char *words)
{
    struct swf s;
    struct error e = {0};
    assert_false(swf_parse(text, strlen(text), "a.swf", &s, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    if (!strstr(e.text, words))
        fail_msg("'%s' does not say '%s'", e.text, words);
    assert_null(s.jobs);
}

static void test_refuse(void **state)
{
    (void)state;
    refused("1 0 0 1 1 -1 -1 1 1 -1 1 1 1 1 1 1 -1 -1\n2 0 0 1 1\n", "a.swf:2: 5 fields where a job has 18");
    refused("1 0 0 1 1 -1 -1 1 1 -1 1 1 1 1 1 1 -1\n", "a.swf:1: 17 fields where a job has 18");
    refused("1 0 0 1 1 -1 -1 1 1 -1 1 1 1 1 1 1 -1 -1 7\n", "a.swf:1: more than the 18 fields");
    refused(";\n1 5 0 1 1 -1 -1 1 1 -1 1 1 1 1 1 1 -1 -1\n2 4 0 1 1 -1 -1 1 1 -1 1 1 1 1 1 1 -1 -1\n",
            "a.swf:3: submitted at 4 s, before the job of line 2 (5 s)");
    refused("1 0 0 x 1 -1 -1 1 1 -1 1 1 1 1 1 1 -1 -1\n",
            "a.swf:1: field 4, the run time, is no number: 'x'");
    refused("1 0 0 nan 1 -1 -1 1 1 -1 1 1 1 1 1 1 -1 -1\n", "field 4");
    refused("1 0 0 1e999 1 -1 -1 1 1 -1 1 1 1 1 1 1 -1 -1\n", "field 4");
    refused("1 0 0 0x10 1 -1 -1 1 1 -1 1 1 1 1 1 1 -1 -1\n", "field 4");
    refused("1 0 0 -5 1 -1 -1 1 1 -1 1 1 1 1 1 1 -1 -1\n", "a.swf:1: the run time is -5");
    refused("1 0 0 1 1.5 -1 -1 1 1 -1 1 1 1 1 1 1 -1 -1\n", "a.swf:1: the number of processors is 1.5");
    refused("1 -1 0 1 1 -1 -1 1 1 -1 1 1 1 1 1 1 -1 -1\n", "a.swf:1: the submit time is not known");
    refused("; only a header\n", "a.swf: no jobs");
    refused("", "a.swf: no jobs");
    refused("{\"jobs\": 3}\n", "a.swf:1: field 1");
    struct swf s;
    struct error e = {0};
    assert_false(swf_parse("1 0\0 0", 6, "a.swf", &s, &e));
    assert_non_null(strstr(e.text, "a.swf:1: a zero byte"));
    assert_false(swf_read("/nowhere/a.swf", &s, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_false(swf_read("/", &s, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
}

static void test_write(void **state)
{
    (void)state;
    struct swf s, again;
    struct error e = {0};
    char *text = NULL;
    size_t length = 0;
    assert_true(swf_parse(good, strlen(good), "a.swf", &s, &e));
    assert_true(swf_add_header(&s, "; Computer: a \"pc\"", &e));
    FILE *f = open_memstream(&text, &length);
    assert_non_null(f);
    assert_true(swf_write(&s, f, &e));
    fclose(f);
    assert_true(swf_parse(text, length, "b.swf", &again, &e));
    assert_int_equal(again.count, s.count);
    assert_int_equal(again.headers, 4);
    for (int i = 0; i < s.count; i++)
        assert_memory_equal(again.jobs[i].field, s.jobs[i].field, sizeof s.jobs[i].field);
    for (int i = 0; i < s.headers; i++)
        assert_string_equal(again.header[i], s.header[i]);
    free(text);
    swf_free(&s);
    swf_free(&again);
    FILE *full = fopen("/dev/full", "w");
    if (full) {
        assert_true(swf_parse(good, strlen(good), "a.swf", &s, &e));
        assert_false(swf_write(&s, full, &e));
        fclose(full);
        swf_free(&s);
    }
}

/* A damaged text, plain or compressed, is a trace or is refused with one sentence. */
static void damaged(const char *path, const unsigned char *bytes, size_t length)
{
    struct swf s;
    struct error e = {0};
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, length, f), length);
    fclose(f);
    if (swf_read(path, &s, &e)) {
        assert_true(s.count > 0);
        swf_free(&s);
    } else {
        assert_int_equal(e.kind, ERROR_INPUT);
        assert_true(strlen(e.text) > 10 && !strchr(e.text, '\n'));
    }
    unlink(path);
}

static void test_damage(void **state)
{
    (void)state;
    char path[] = "/tmp/ringside-swf-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    gzFile z = gzopen(path, "wb9");
    assert_non_null(z);
    assert_int_equal(gzwrite(z, good, sizeof good - 1), (int)sizeof good - 1);
    assert_int_equal(gzclose(z), Z_OK);
    struct swf s;
    struct error e = {0};
    assert_true(swf_read(path, &s, &e)); /* compressed, it reads the same */
    assert_int_equal(s.count, 3);
    swf_free(&s);
    unsigned char packed[sizeof good + 64];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t packed_length = fread(packed, 1, sizeof packed, f);
    fclose(f);
    struct random r = random_stream(1, 2, 3);
    for (int i = 0; i < 2000; i++) {
        unsigned char bytes[sizeof good + 64];
        bool plain = i % 4 != 0;
        size_t length = plain ? sizeof good - 1 : packed_length;
        memcpy(bytes, plain ? (const unsigned char *)good : packed, length);
        for (uint64_t k = 1 + random_below(&r, 8); k > 0; k--) {
            size_t at = random_below(&r, length);
            switch (random_below(&r, 4)) {
            case 0: bytes[at] ^= (unsigned char)(1u << random_below(&r, 8)); break;
            case 1: bytes[at] = (unsigned char)"0123456789 -.e\n;\r\t"[random_below(&r, 18)]; break;
            case 2: bytes[at] = (unsigned char)random_below(&r, 256); break;
            default: length = at + 1; break;
            }
        }
        damaged(path, bytes, length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_refuse),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
