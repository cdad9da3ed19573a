/* The plugin that offers GPUs: loaded, refused, declining; each with a sentence that says what to do. */
#include "engine/nn/plugin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A plugin of tests/plugins, beside this program's own folder. */
static void choose(const char *name)
{
    char path[PATH_MAX] = "";
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(n > 0);
    for (int i = 0; i < 3; i++)
        *strrchr(path, '/') = 0;
    size_t used = strlen(path);
    snprintf(path + used, sizeof path - used, "/plugins/%s", name);
    setenv("RINGSIDE_CUDA_PLUGIN", path, 1);
}

static void expect_refused(const char *word)
{
    struct error e = {0};
    assert_null(plugin_load(&e));
    assert_int_equal(e.kind, ERROR_MISSING);
    if (!strstr(e.text, word))
        fail_msg("\"%s\" does not say \"%s\"", e.text, word);
}

static void test_missing(void **state)
{
    (void)state;
    choose("never-built.so");
    expect_refused("never-built.so, which is not there");
    assert_null(plugin_load(NULL));
}

static void test_no_library(void **state)
{
    (void)state;
    char path[] = "/tmp/ringside-plugin-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "no library\n", 11) == 11);
    close(fd);
    setenv("RINGSIDE_CUDA_PLUGIN", path, 1);
    expect_refused("cannot be loaded (");
    unlink(path);
}

static void test_no_plugin(void **state)
{
    (void)state;
    setenv("RINGSIDE_CUDA_PLUGIN", "/proc/self/exe",
           1); /* can be opened or not: it is no plugin either way */
    assert_null(plugin_load(NULL));
}

static void test_other_version(void **state)
{
    (void)state;
    choose("old.so");
    expect_refused("is of version 99 and this program takes version");
}

static void test_declines(void **state)
{
    (void)state;
    struct error e = {0};
    choose("declines.so");
    const struct gpu_plugin *plugin = plugin_load(&e);
    assert_non_null(plugin);
    assert_string_equal(plugin->name, "none");
    assert_ptr_equal(plugin, plugin_load(&e)); /* loaded once */
    assert_int_equal(plugin->device_count(&e), 0);
    assert_int_equal(e.kind, ERROR_MISSING);
}

static void test_describe(void **state)
{
    (void)state;
    char text[128];
    struct gpu_device d = {.name = "NVIDIA H200", .major = 9, .minor = 0, .memory_bytes = 141000000000};
    gpu_describe(&d, text, sizeof text);
    assert_string_equal(text, "NVIDIA H200, 141 GB, compute capability 9.0");
    d = (struct gpu_device){.name = "cuda (emulation)", .memory_bytes = (size_t)1 << 30};
    gpu_describe(&d, text, sizeof text);
    assert_string_equal(text, "cuda (emulation), 1 GiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing),   cmocka_unit_test(test_no_library),
        cmocka_unit_test(test_no_plugin), cmocka_unit_test(test_other_version),
        cmocka_unit_test(test_declines),  cmocka_unit_test(test_describe),
    };
    return cmocka_run_group_tests_name("plugin", tests, NULL, NULL);
}
