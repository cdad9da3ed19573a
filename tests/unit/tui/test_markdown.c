/* Lessons as lines: blocks, wrapping, tables, links, Lua, search. */
#include "tui/markdown.h"
#include "tui/plain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *rendered(const char *text, int width)
{
    struct md_doc doc;
    char *out;
    size_t size;
    struct error e = {0};
    assert_true(markdown_render(&doc, text, width, &e));
    FILE *file = open_memstream(&out, &size);
    for (int i = 0; i < doc.count; i++) {
        assert_in_range(doc.lines[i].count, 0, width < MD_LEAST_WIDTH ? MD_LEAST_WIDTH : width);
        plain_print_cells(doc.lines[i].cells, doc.lines[i].count, true, file);
    }
    fclose(file);
    markdown_free(&doc);
    return out;
}

static void renders_as(const char *text, int width, const char *expected)
{
    char *out = rendered(text, width);
    assert_string_equal(out, expected);
    free(out);
}

static void test_blocks(void **state)
{
    (void)state;
    renders_as("# Title\n\nOne two\nthree *four* `five`.\n\n## Part\n\n---\n", 20,
               "Title\n────────────────────\n\nOne two three four\nfive.\n\nPart\n\n────────────────────\n");
    renders_as("- one\n- two two two two two\n  - three\n\n1. a\n\n2. b\n", 20,
               "  • one\n  • two two two two\n    two\n      • three\n\n 1. a\n\n 2. b\n");
    renders_as("> quoted words go on\n> here\n>\n> and here\n", 20,
               "▌ quoted words go on\n▌ here\n▌\n▌ and here\n");
    renders_as("a\\\nb  \nc\n", 20, "a\nb\nc\n");
    renders_as("<div>\nhidden\n</div>\n\n<!-- too -->\n\nshown\n", 20, "shown\n");
    renders_as("", 20, "");
}

static void test_code_keeps_its_blanks_and_goes_on_in_the_next_line(void **state)
{
    (void)state;
    renders_as("```\nif x  then\n    y = 123456789012345\n```\n", 20,
               "│ if x  then\n│     y = 1234567890\n│ 12345\n");
}

static void test_words_longer_than_the_line_are_cut(void **state)
{
    (void)state;
    renders_as("abcdefghijklmnopqrstuvwxyz0123 x", 20, "abcdefghijklmnopqrst\nuvwxyz0123 x\n");
    renders_as("你好你好你好你好你好你好", 21, "你好你好你好你好你好\n你好\n");
}

static void test_links_are_numbered(void **state)
{
    (void)state;
    renders_as("See [MPI](https://mpi.org) and [next](04-x.md) and <https://a.b>.", 60,
               "See MPI [1] and next and https://a.b.\n\n[1] https://mpi.org\n");
}

static void test_tables_align_and_wrap(void **state)
{
    (void)state;
    renders_as("```table\nN | time\n--|--\n2 | 12.5\n16 | 3\n```\n", 40,
               " N  time\n──  ────\n 2  12.5\n16     3\n");
    renders_as("```table\nname  long words\na b   one two three four\n```\n", 20,
               "name  long words\n────  ──────────────\na b   one two three\n      four\n");
    /* Without rows, and with more columns than a table takes. */
    renders_as("```table\n```\n", 40, "");
    char *out = rendered("```table\n1|2|3|4|5|6|7|8|9|10|11|12|13|14|15\n```\n", 200);
    assert_non_null(strstr(out, "12|13|14|15"));
    free(out);
}

static void test_lua_is_coloured_across_lines(void **state)
{
    (void)state;
    struct md_doc doc;
    assert_true(
        markdown_render(&doc, "```lua\nlocal s = [[a\nend]] -- x\nreturn \"y\", 12\n```\n", 40, NULL));
    assert_int_equal(doc.count, 3);
    assert_int_equal(doc.lines[0].cells[2].role, ROLE_SERIES3);  /* local */
    assert_int_equal(doc.lines[0].cells[12].role, ROLE_SERIES5); /* [[a */
    assert_int_equal(doc.lines[1].cells[2].role, ROLE_SERIES5);  /* end, in the string */
    assert_int_equal(doc.lines[1].cells[8].role, ROLE_MUTED);    /* -- */
    assert_int_equal(doc.lines[2].cells[9].role, ROLE_SERIES5);  /* "y" */
    assert_int_equal(doc.lines[2].cells[14].role, ROLE_SERIES2); /* 12 */
    markdown_free(&doc);
}

static void test_source_lines_and_search(void **state)
{
    (void)state;
    struct md_doc doc;
    assert_true(markdown_render(&doc, "# A\n\ntext\n\n## Find Me\n\nend\n", 40, NULL));
    assert_int_equal(doc.heading_count, 2);
    const struct md_line *line = &doc.lines[doc.headings[1].line];
    assert_int_equal(line->source, 5);
    assert_int_equal(markdown_find(line, "find m", 0), 0);
    assert_int_equal(markdown_find(line, "ME", 0), 5);
    assert_int_equal(markdown_find(line, "ME", 6), -1);
    assert_int_equal(markdown_find(line, "", 0), -1);
    markdown_free(&doc);
}

static void test_any_bytes_at_any_width(void **state)
{
    (void)state;
    char text[400];
    uint32_t seed = 1;
    static const char alphabet[] = "ab #*_`>-1.|\n\n[](): \t~\xe4\xbd\xa0\xff\\<&";
    for (int round = 0; round < 300; round++) {
        for (size_t i = 0; i < sizeof text - 1; i++) {
            seed = seed * 1664525u + 1013904223u;
            text[i] = alphabet[(seed >> 16) % (sizeof alphabet - 1)];
        }
        text[sizeof text - 1] = '\0';
        if (round % 3 == 0)
            memcpy(text, "```table\n", 9);
        /* Nested lists and quotes may take more than a tiny width has: only the memory is looked at here. */
        struct md_doc doc;
        assert_true(markdown_render(&doc, text, 1 + round % 90, NULL));
        markdown_free(&doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_code_keeps_its_blanks_and_goes_on_in_the_next_line),
        cmocka_unit_test(test_words_longer_than_the_line_are_cut),
        cmocka_unit_test(test_links_are_numbered),
        cmocka_unit_test(test_tables_align_and_wrap),
        cmocka_unit_test(test_lua_is_coloured_across_lines),
        cmocka_unit_test(test_source_lines_and_search),
        cmocka_unit_test(test_any_bytes_at_any_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
