/* The course's description: what is read, what is refused, how lessons are found. */
#include "tui/course.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct course *load(const char *text, struct error *e)
{
    char file[] = "/tmp/ringside-course-XXXXXX";
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    *e = (struct error){0};
    struct course *course = course_load_file(file, e);
    unlink(file);
    return course;
}

static const char good[] =
    "local function lesson(n, t) return {name=n, title=t, minutes=15, question='Why?', requires={'01-a'},\n"
    "  tiers={'cpu', 'cluster'}, exercise=n} end\n"
    "return { title='Course', lessons={ lesson('01-a', 'A'), lesson('02-ring', 'B'), {name='10-ring-two'} } "
    "}";

static void test_a_course_is_read(void **state)
{
    (void)state;
    struct error e;
    struct course *c = load(good, &e);
    assert_non_null(c);
    assert_string_equal(c->title, "Course");
    assert_int_equal(c->count, 3);
    assert_string_equal(c->lessons[1].title, "B");
    assert_string_equal(c->lessons[1].requires[0], "01-a");
    assert_null(c->lessons[1].requires[1]);
    assert_string_equal(c->lessons[1].tiers[1], "cluster");
    assert_int_equal(c->lessons[1].minutes, 15);
    assert_string_equal(c->lessons[2].title, "10-ring-two"); /* its name, where there is no title */
    assert_string_equal(c->lessons[2].exercise, "");
    course_free(c);
}

static void test_lessons_are_found(void **state)
{
    (void)state;
    struct error e;
    struct course *c = load(good, &e);
    assert_int_equal(course_find(c, "02-ring"), 1);
    assert_int_equal(course_find(c, "2"), 1);
    assert_int_equal(course_find(c, "10"), 2);
    assert_int_equal(course_find(c, "two"), 2);
    assert_int_equal(course_find(c, "ring"), -1); /* two have it */
    assert_int_equal(course_find(c, "3"), -1);
    assert_int_equal(course_find(c, ""), -1);
    assert_int_equal(course_find(NULL, "1"), -1);
    assert_int_equal(course_find_exercise(c, "02-ring"), 1);
    assert_int_equal(course_find_exercise(c, ""), -1);
    course_free(c);
}

static void test_wrong_courses_are_refused_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } wrong[] = {
        {"return {", "expected"},
        {"return 5", "return a table"},
        {"return {}", "no list `lessons`"},
        {"return {lessons={5}}", "lesson 1 is not a table"},
        {"return {lessons={{title='x'}}}", "needs a name"},
        {"return {lessons={{name='../../etc/passwd'}}}", "needs a name"},
        {"return {lessons={{name='01-a', exercise='a/b'}}}", "no name of an exercise"},
        {"while true do end", "too long"},
        {"local t = {} while true do t[#t + 1] = ('x') .. #t end", "memory"},
        {"os.execute('true')", "os"},
        {"\033Lua", "bytecode"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct error e;
        assert_null(load(wrong[i].text, &e));
        assert_int_equal(e.kind, ERROR_INPUT);
        if (!strstr(e.text, wrong[i].reason) && strcmp(wrong[i].reason, "bytecode") != 0)
            fail_msg("'%s' does not say '%s'", e.text, wrong[i].reason);
    }
    struct error e = {0};
    assert_null(course_load_file("/nowhere/course.lua", &e));
    assert_non_null(strstr(e.text, "/nowhere/course.lua"));
}

static void test_languages_fall_back_to_english(void **state)
{
    (void)state;
    char folder[] = "/tmp/ringside-lessons-XXXXXX", command[512], path[PATH_MAX];
    struct error e = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(
        command, sizeof command,
        "cd %s && mkdir -p exercises lessons/en lessons/de && touch lessons/course.lua lessons/en/01-a.md "
        "lessons/en/02-b.md lessons/de/01-a.md",
        folder);
    assert_int_equal(system(command), 0);
    setenv("RINGSIDE_DATA", folder, 1);
    assert_true(course_lesson_file("01-a", "de", path, &e));
    assert_non_null(strstr(path, "/de/01-a.md"));
    assert_true(course_lesson_file("02-b", "de", path, &e));
    assert_non_null(strstr(path, "/en/02-b.md"));
    assert_true(course_lesson_file("01-a", "../en", path, &e)); /* no language: English */
    assert_non_null(strstr(path, "/en/01-a.md"));
    assert_false(course_lesson_file("03-c", NULL, path, &e));
    assert_false(course_lesson_file("../../x", NULL, path, &e));
    unsetenv("RINGSIDE_DATA");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_course_is_read),
        cmocka_unit_test(test_lessons_are_found),
        cmocka_unit_test(test_wrong_courses_are_refused_with_a_reason),
        cmocka_unit_test(test_languages_fall_back_to_english),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
