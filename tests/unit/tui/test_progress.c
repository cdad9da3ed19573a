/* Progress: kept, merged between sessions, whole after a broken file, harmless without a writable home. */
#include "tui/progress.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char home[] = "/tmp/ringside-progress-XXXXXX";

static int setup(void **state)
{
    (void)state;
    strcpy(home + sizeof home - 7, "XXXXXX");
    return mkdtemp(home) && setenv("RINGSIDE_HOME", home, 1) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", home);
    return system(command);
}

static void file_write(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", home, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static bool file_exists(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", home, name);
    return access(path, F_OK) == 0;
}

static struct progress *load(void)
{
    struct error e = {0};
    struct progress *p = progress_load(&e);
    assert_non_null(p);
    return p;
}

static void test_notes_are_there_next_time(void **state)
{
    (void)state;
    struct progress *p = load();
    assert_null(progress_last_lesson(p));
    assert_false(progress_passed(p, "04-ring"));
    progress_note_reading(p, "04-ring", 17, 40);
    progress_note_check(p, "04-ring", true);
    progress_note_check(p, "04-ring", false);
    progress_note_hint(p, "04-ring", 2);
    progress_note_hint(p, "04-ring", 1);
    progress_note_prediction(p, "how many?", 6);
    progress_note_prediction(p, "infinitely many?", 1.0 / 0.0);
    assert_null(progress_warning(p));
    progress_free(p);
    p = load();
    assert_string_equal(progress_last_lesson(p), "04-ring");
    assert_int_equal(progress_reading_line(p, "04-ring"), 17);
    assert_int_equal(progress_reading_percent(p, "04-ring"), 40);
    assert_false(progress_read(p, "04-ring"));
    assert_true(progress_passed(p, "04-ring")); /* once passed, passed */
    assert_int_equal(progress_checks(p, "04-ring"), 2);
    assert_int_equal(progress_hints(p, "04-ring"), 2);
    progress_note_reading(p, "04-ring", 30, 100);
    progress_note_reading(p, "04-ring", 1, 10);
    assert_true(progress_read(p, "04-ring"));
    assert_int_equal(progress_reading_percent(p, "04-ring"), 100);
    progress_free(p);
}

static void test_two_sessions_lose_nothing(void **state)
{
    (void)state;
    struct progress *a = load(), *b = load();
    progress_note_check(a, "01", true);
    progress_note_check(b, "02", true);
    assert_true(progress_passed(b, "01"));
    assert_false(progress_passed(a, "02"));
    assert_true(progress_refresh(a));
    assert_true(progress_passed(a, "02"));
    assert_false(progress_refresh(a));
    progress_free(a);
    progress_free(b);
    enum { SESSIONS = 4, NOTES = 25 };
    for (int i = 0; i < SESSIONS; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct progress *p = progress_load(NULL);
            for (int k = 0; p && k < NOTES; k++)
                progress_note_check(p, "03", false);
            _exit(p ? 0 : 1);
        }
        assert_true(child > 0);
    }
    for (int i = 0, status; i < SESSIONS; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    a = load();
    assert_int_equal(progress_checks(a, "03"), SESSIONS * NOTES);
    progress_free(a);
}

static void test_a_broken_file_costs_at_most_the_last_note(void **state)
{
    (void)state;
    struct progress *p = load();
    progress_note_check(p, "01", true);
    progress_note_check(p, "02", true);
    progress_free(p);
    file_write("progress.json", "{\"lessons\": {\"01");
    p = load();
    const char *warning = progress_warning(p);
    assert_non_null(warning);
    assert_non_null(strstr(warning, "backup"));
    assert_null(progress_warning(p)); /* said once */
    assert_true(progress_passed(p, "01"));
    assert_true(file_exists("progress.json.broken"));
    progress_note_check(p, "02", true);
    progress_free(p);
    p = load();
    assert_true(progress_passed(p, "01"));
    assert_true(progress_passed(p, "02"));
    progress_free(p);
}

static void test_odd_contents_harm_nobody(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "[]",
        "1",
        "{}",
        "{\"lessons\": 3, \"exercises\": [], \"predictions\": {}, \"last\": 4}",
        "{\"lessons\": {\"01\": 5}, \"exercises\": {\"01\": []}, \"future\": {\"kept\": true}}",
        "\xff\xfe",
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        char backup[128];
        snprintf(backup, sizeof backup, "%s/progress.json.bak", home);
        unlink(backup);
        file_write("progress.json", odd[i]);
        struct progress *p = load();
        assert_false(progress_passed(p, "01"));
        progress_note_check(p, "01", true);
        progress_note_reading(p, "01", 2, 3);
        progress_note_prediction(p, "q", 1);
        progress_free(p);
        p = load();
        assert_true(progress_passed(p, "01"));
        assert_int_equal(progress_reading_line(p, "01"), 2);
        progress_free(p);
    }
    /* Fields of a newer version survive. */
    file_write("progress.json", odd[4]);
    struct progress *p = load();
    progress_note_check(p, "01", true);
    progress_free(p);
    char command[160];
    snprintf(command, sizeof command, "grep -q kept '%s/progress.json'", home);
    assert_int_equal(system(command), 0);
}

static void test_without_a_home_notes_stay_in_memory(void **state)
{
    (void)state;
    file_write("file", "no folder");
    char path[128];
    snprintf(path, sizeof path, "%s/file/below", home);
    setenv("RINGSIDE_HOME", path, 1);
    struct progress *p = load();
    assert_non_null(progress_warning(p));
    progress_note_check(p, "01", true);
    assert_true(progress_passed(p, "01"));
    assert_null(progress_warning(p));
    progress_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_notes_are_there_next_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_sessions_lose_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_broken_file_costs_at_most_the_last_note, setup, teardown),
        cmocka_unit_test_setup_teardown(test_odd_contents_harm_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_a_home_notes_stay_in_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
