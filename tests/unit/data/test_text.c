/* Text as tokens: the embedded corpus against what a script counts (tests/golden/make_data.py), small and torn ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/data/corpus.h"
#include "engine/data/dataset.h"
#include "engine/data/text.h"
#include "engine/data/vocabulary.h"
#include "tests/unit/data/scratch.h"

#include <jansson.h>
#include <zlib.h>

static const char *const tasks[] = {"text-classes", "text-words", "text-chars"};

static void hold_against(const char *task, enum dataset_part part, const json_t *golden)
{
    struct dataset d;
    struct error e = {0};
    if (!dataset_read(task, part, &d, &e))
        fail_msg("%s", e.text);
    assert_int_equal(d.rows, json_integer_value(json_object_get(golden, "rows")));
    assert_int_equal(d.shape.kind, SHAPE_TOKENS);
    size_t bytes = dataset_sample_bytes(&d), class_bytes = (size_t)d.targets * sizeof(int32_t);
    assert_int_equal(bytes, (size_t)d.shape.channels * sizeof(int32_t));
    int32_t *x = malloc(bytes), *classes = malloc(class_bytes);
    uLong inputs_crc = 0, classes_crc = 0;
    for (uint32_t i = 0; i < d.rows; i++) {
        assert_true(dataset_batch(&d, &i, 1, x, classes, &e));
        inputs_crc = crc32(inputs_crc, (const Bytef *)x, (uInt)bytes);
        classes_crc = crc32(classes_crc, (const Bytef *)classes, (uInt)class_bytes);
    }
    assert_int_equal(inputs_crc, json_integer_value(json_object_get(golden, "inputs")));
    assert_int_equal(classes_crc, json_integer_value(json_object_get(golden, "classes")));
    free(x);
    free(classes);
    dataset_free(&d);
}

static void test_embedded_corpus(void **state)
{
    (void)state;
    json_t *golden = json_load_file("tests/golden/data.json", 0, NULL);
    assert_non_null(golden);
    for (int k = 0; k < 3; k++)
        for (int part = 0; part < 2; part++) {
            char name[32];
            snprintf(name, sizeof name, "%s %s", tasks[k], part == DATASET_TRAIN ? "train" : "test");
            hold_against(tasks[k], (enum dataset_part)part, json_object_get(golden, name));
        }
    json_decref(golden);
}

/* What a user sees of the numbers. */
static void test_tokens(void **state)
{
    (void)state;
    struct dataset d;
    struct error e = {0};
    assert_true(dataset_read("text-words", DATASET_TEST, &d, &e));
    assert_string_equal(dataset_token(&d, WORD_PADDING), "");
    assert_string_equal(dataset_token(&d, WORD_UNKNOWN), "?");
    assert_string_equal(dataset_token(&d, WORD_FIRST), "the"); /* the most frequent word of English */
    assert_null(dataset_token(&d, -1));
    assert_null(dataset_token(&d, TEXT_VOCABULARY));
    dataset_free(&d);
    assert_true(dataset_read("text-chars", DATASET_TEST, &d, &e));
    for (int32_t k = 0; k < CHARACTERS; k++) {
        const char *c = dataset_token(&d, k);
        assert_int_equal(strlen(c), 1);
        assert_int_equal(character_number(c[0]), k);
    }
    assert_string_equal(dataset_token(&d, character_number('A')), "a");
    assert_string_equal(dataset_token(&d, character_number('`')), "'");
    assert_string_equal(dataset_token(&d, character_number('$')), " ");
    assert_string_equal(dataset_token(&d, character_number('\0')), " ");
    dataset_free(&d);
}

/* 22 pages of 30 words each: the words "a", "b" in every page, and one of its own. */
static size_t small_corpus(char *text, size_t room)
{
    size_t n = 0;
    for (int p = 0; p < 22; p++) {
        n += (size_t)snprintf(text + n, room - n, "\fpage%d.%d\n", p, p % 2 ? 2 : 7);
        for (int k = 0; k < 10; k++)
            n += (size_t)snprintf(text + n, room - n, "a b own%d%s", p, k % 4 == 3 ? ".\n" : ", ");
    }
    return n;
}

static void test_own_corpus(void **state)
{
    (void)state;
    char text[8192], name[160], class[16];
    size_t n = small_corpus(text, sizeof text);
    snprintf(name, sizeof name, "text-classes:%s", scratch_write("corpus", text, n));
    struct dataset train, test;
    struct error e = {0};
    if (!dataset_read(name, DATASET_TRAIN, &train, &e) || !dataset_read(name, DATASET_TEST, &test, &e))
        fail_msg("%s", e.text);
    assert_int_equal(train.rows, 20); /* a page in eleven of each kind fits into a tenth */
    assert_int_equal(test.rows, 2);
    int32_t x[100], y;
    for (uint32_t i = 0; i < 20; i++) {
        assert_true(dataset_batch(&train, &i, 1, x, &y, &e));
        assert_int_equal(x[69], WORD_PADDING);
        assert_int_equal(x[70], WORD_FIRST); /* "a" and "b" are equally frequent: by the alphabet */
        assert_int_equal(x[71], WORD_FIRST + 1);
        assert_true(x[72] > WORD_FIRST + 1);
    }
    uint32_t which[] = {0, 1};
    int32_t both[200], classes[2];
    assert_true(dataset_batch(&test, which, 2, both, classes, &e));
    assert_int_equal(both[72], WORD_UNKNOWN); /* its own word is in no training page */
    assert_int_equal(classes[0] + classes[1], 1);
    assert_string_equal(dataset_class(&test, 1, class), "calls (sections 2, 3)");
    dataset_free(&train);
    dataset_free(&test);
}

static void refuse(const char *text, size_t bytes, const char *words)
{
    struct corpus c;
    struct error e = {0};
    const char *path = scratch_write("corpus", text, bytes);
    assert_false(corpus_read(path, &c, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, path));
    if (!strstr(e.text, words))
        fail_msg("expected \"%s\" in \"%s\"", words, e.text);
}

static void test_bad_corpora(void **state)
{
    (void)state;
    refuse("", 0, "no corpus");
    refuse("hello", 5, "no corpus");
    refuse("\f", 1, "not followed by a page's name");
    refuse("\fopen.2", 7, "not followed by a page's name");
    refuse("\fopen\ntext\n", 11, "section's digit");
    refuse("\fopen.2\nte\0t\n", 13, "byte 0x00");
    refuse("\fopen.2\nte\xc3t\n", 13, "byte 0xc3");
    refuse("\fopen.2\ntext\n", 13, "none fits into the tenth");
    struct dataset d;
    struct error e = {0};
    char text[8192], name[160];
    size_t n = small_corpus(text, sizeof text);
    snprintf(name, sizeof name, "text-words:%s", scratch_write("corpus", text, n));
    assert_false(dataset_read(name, DATASET_TRAIN, &d, &e)); /* no page has 51 words */
    assert_non_null(strstr(e.text, "too short"));
    assert_false(dataset_read("text-words:/nowhere/at/all", DATASET_TRAIN, &d, &e));
    assert_non_null(strstr(e.text, "/nowhere/at/all"));
}

/* 2 000 damaged corpora: each is read as far as it makes sense, or refused with a sentence. */
static void test_damaged_corpora(void **state)
{
    (void)state;
    char text[8192], name[160];
    size_t n = small_corpus(text, sizeof text);
    struct random r = random_stream(1, 1, 1);
    for (int i = 0; i < 2000; i++) {
        size_t bytes;
        unsigned char *bad = damaged((unsigned char *)text, n, &r, &bytes);
        snprintf(name, sizeof name, "%s:%s", tasks[i % 3], scratch_write("corpus", bad, bytes));
        struct dataset d;
        struct error e = {0};
        if (dataset_read(name, DATASET_TRAIN, &d, &e)) {
            int32_t x[100], y[100];
            for (uint32_t row = 0; row < d.rows; row++) {
                assert_true(dataset_batch(&d, &row, 1, x, y, &e));
                for (int k = 0; k < d.targets; k++)
                    assert_in_range(y[k], 0, d.classes - 1);
            }
            dataset_free(&d);
        } else {
            assert_int_equal(e.kind, ERROR_INPUT);
            assert_non_null(strstr(e.text, scratch));
        }
        free(bad);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embedded_corpus), cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_own_corpus),      cmocka_unit_test(test_bad_corpora),
        cmocka_unit_test(test_damaged_corpora),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
