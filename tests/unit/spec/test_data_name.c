/* Names of datasets, and the paths in them, which must mean the same from every folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/spec/data_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_known_names(void **state)
{
    (void)state;
    static const char *const names[] = {"mnist",      "cifar10",    "cifar100",          "text-classes",
                                        "text-words", "text-chars", "synthetic:784:10:5"};
    struct error e = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%s", names[i]);
        assert_null(data_name_path(name));
        assert_true(data_name_resolve(name, &e));
        assert_string_equal(name, names[i]);
    }
    assert_string_equal(data_name_path("text-chars:mine"), "mine");
    assert_string_equal(data_name_path("mnist:mine"), "mnist:mine");
    assert_string_equal(data_name_path("cifar10.shards"), "cifar10.shards");
}

static void test_paths(void **state)
{
    (void)state;
    char folder[] = "/tmp/ringside-name-XXXXXX", here[PATH_MAX], name[PATH_MAX], expected[PATH_MAX];
    struct error e = {0};
    assert_non_null(mkdtemp(folder));
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    fclose(fopen("a.shards", "w"));
    strcpy(name, "a.shards");
    assert_true(data_name_resolve(name, &e));
    snprintf(expected, sizeof expected, "%s/a.shards", folder);
    assert_string_equal(name, expected);
    strcpy(name, "text-words:./a.shards");
    assert_true(data_name_resolve(name, &e));
    snprintf(expected, sizeof expected, "text-words:%s/a.shards", folder);
    assert_string_equal(name, expected);
    strcpy(name, ".");
    assert_false(data_name_resolve(name, &e)); /* none of the files */
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, folder));
    fclose(fopen("train.bin", "w"));
    assert_true(data_name_resolve(name, &e));
    assert_string_equal(name, folder);
    strcpy(name, "imagenet");
    assert_false(data_name_resolve(name, &e));
    assert_non_null(strstr(e.text, "expected mnist, cifar10"));
    assert_string_equal(name, "imagenet");
    unlink("a.shards");
    unlink("train.bin");
    assert_int_equal(chdir(here), 0);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_names), cmocka_unit_test(test_paths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
