/* A lesson's Markdown as slides: what each says, which picture it has, what the instructor reads. */
#include "tui/banner.h"
#include "tui/slides.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct slides read_slides(const char *markdown, int count)
{
    struct slides s;
    struct error e = {0};
    assert_true(slides_read(&s, markdown, &e));
    assert_int_equal(s.count, count);
    return s;
}

/* The only slide of a section's text says this. */
static void says(const char *markdown, const char *expected)
{
    char text[2000];
    snprintf(text, sizeof text, "## A\n\n%s", markdown);
    struct slides s = read_slides(text, 1);
    assert_string_equal(s.slides[0].text, expected);
    slides_free(&s);
}

static void test_sections(void **state)
{
    (void)state;
    struct slides s = read_slides(
        "# Title\n\n**Why?** · 5 minutes\n\nMore.\n\n## First\n\nOne. Two.\n\n### Second\n\n"
        "```lua\nx = 1\n```\n\nLeads. On.\n\n```\ndrawing\n```\n\nAfter it.\n\n#### no slide\n\ntext\n",
        4);
    assert_string_equal(s.slides[0].heading, "Title");
    assert_string_equal(s.slides[0].text, "**Why?** · 5 minutes\n\n");
    assert_null(s.slides[0].picture);
    assert_string_equal(s.slides[1].heading, "First");
    assert_string_equal(s.slides[1].text, "- One\n\n");
    assert_string_equal(s.slides[2].heading, "Second");
    assert_string_equal(s.slides[2].info, "lua");
    assert_string_equal(s.slides[2].picture, "x = 1\n");
    assert_int_equal(s.slides[2].picture_line, 13);
    assert_int_equal(s.slides[2].part, 1);
    assert_int_equal(s.slides[3].parts, 2);
    assert_string_equal(s.slides[3].text, "Leads.\n\n");
    assert_string_equal(s.slides[3].picture, "drawing\n");
    slides_free(&s);
    s = read_slides("No heading. At all.\n", 1);
    assert_string_equal(s.slides[0].heading, "");
    slides_free(&s);
    s = read_slides("", 1);
    slides_free(&s);
    s = read_slides("## Alone\n\n## Another\n", 2);
    assert_string_equal(s.slides[0].text, "");
    slides_free(&s);
}

static void test_shortening(void **state)
{
    (void)state;
    /* Each item's first clause, one with a forced break whole. */
    says("- It ends; that is all.\n- *Two* `a.b c.d` here. More of it.\n",
         "- It ends; that is all\n\n- *Two* `a.b c.d` here\n\n");
    says("1. Which one\\\n   (a) this · (b) that\n2. Second. Rest.\n",
         "1. Which one  \n(a) this · (b) that\n\n2. Second\n\n");
    /* A long one at a clause of at most 72 columns, never inside brackets or code. */
    says("- One rank sends 2(N-1)/N V: less than two vectors, however many ranks there are in the ring\n",
         "- One rank sends 2(N-1)/N V: less than two vectors\n\n");
    says("- Open the exercise of this lesson (`e` here, or `ringside exercise start 01-welcome` in a "
         "shell).\n",
         "- Open the exercise of this lesson\n\n");
    /* No sentence ends in an abbreviation or an initial. */
    says("P. Patarasu wrote e.g. this. Not that.\n", "- P. Patarasu wrote e.g. this\n\n");
    /* A bold lead is but a name: the sentence behind it belongs to it. */
    says("**A ring.** The ranks sit in a circle. They talk.\n",
         "- **A ring.** The ranks sit in a circle\n\n");
    /* For readers only. */
    says("Said. Yes.\n\n(The answers: 1 b.)\n", "- Said\n\n");
    /* With a list one paragraph opens the section; formulas stay. */
    says("Lead. In.\n\n    a = b\n\n- item\n\nNot this.\n", "Lead.\n\n``` \na = b\n```\n\n- item\n\n");
}

static void test_own_words(void **state)
{
    (void)state;
    struct slides s = read_slides(
        "## Long heading\n\nText. Text.\n\n```slide\n# Short\n\n- mine\n```\n\n```notes\nAsk them.\n```\n\n"
        "```table\na | b\n1 | 2\n```\n\n### Gone\n\nx\n\n```slide skip\n```\n\n## Played\n\nWords.\n\n"
        "```slide replay first 8\n# On tape\n```\n",
        2);
    assert_string_equal(s.slides[0].heading, "Short");
    assert_string_equal(s.slides[0].text, "- mine\n");
    assert_string_equal(s.slides[0].info, "table");
    assert_string_equal(s.slides[0].notes, "Ask them.\n");
    assert_string_equal(s.slides[1].heading, "On tape");
    assert_string_equal(s.slides[1].info, "replay");
    assert_string_equal(s.slides[1].picture, "first 8");
    /* Without notes: what readers read, in full. */
    assert_string_equal(s.slides[1].notes, "Words.\n\n");
    slides_free(&s);
    /* Notes behind the last picture belong to it. */
    s = read_slides("## A\n\n```\nx\n```\n\n```notes\nlate\n```\n", 1);
    assert_string_equal(s.slides[0].notes, "late\n");
    slides_free(&s);
    /* Of a live block the instructor has the question, the right choice and the reason. */
    s = read_slides("## A\n\n```quiz q\nHow many?\n- 7\n+ 14\n> Two halves.\n```\n", 1);
    assert_non_null(strstr(s.slides[0].notes, "How many?"));
    assert_non_null(strstr(s.slides[0].notes, "- **14**"));
    assert_non_null(strstr(s.slides[0].notes, "> Two halves."));
    slides_free(&s);
}

/* Whatever stands in a file, it becomes slides or is refused; nothing is lost in memory (the sanitizers look). */
static void test_anything(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "# ", "## ", "\n",   "\n\n", "```",  "```slide\n", "```notes\n", "- ",       "1. ",  "**",    "`",
        "(",  ". ",  "\\\n", "> ",   "    ", "a",          "word ",      "\xc3\xa4", "\xff", "~~~~~", "|"};
    uint32_t seed = 1;
    for (int n = 0; n < 3000; n++) {
        char text[400] = "";
        size_t length = 0;
        struct slides s;
        for (int i = 0; i < 24; i++) {
            seed = seed * 1664525u + 1013904223u;
            length += (size_t)snprintf(text + length, sizeof text - length, "%s",
                                       pieces[(seed >> 16) % (sizeof pieces / sizeof *pieces)]);
        }
        assert_true(slides_read(&s, text, NULL));
        for (int i = 0; i < s.count; i++) {
            assert_true(s.slides[i].part >= 1 && s.slides[i].part <= s.slides[i].parts);
            free(slide_picture(&s.slides[i]));
        }
        slides_free(&s);
    }
}

static void test_banner(void **state)
{
    (void)state;
    /* A: 4 pixels, one blank, B: 4. */
    assert_int_equal(banner_lines("ab", BANNER_SMALL, 9), 1);
    assert_int_equal(banner_lines("ab", BANNER_SMALL, 8), 0);
    assert_int_equal(banner_lines("ab", BANNER_LARGE, 18), 1);
    assert_int_equal(banner_lines("ab ab", BANNER_SMALL, 12), 2);
    assert_int_equal(banner_lines("a\xe4\xbd\xa0", BANNER_SMALL, 99), 0); /* no such letter */
    assert_int_equal(banner_rows(2, BANNER_SMALL, true), 7);
    assert_int_equal(banner_rows(1, BANNER_SMALL, false), 5);
    struct canvas c;
    assert_true(canvas_init(&c, 5, 12, true));
    canvas_clear(&c);
    assert_int_equal(banner_draw(&c, canvas_whole(&c), BANNER_SMALL, false, ROLE_TITLE, "L"), 3);
    static const uint32_t expected[3][4] = {
        {0x2588, ' ', ' ', ' '}, {0x2588, ' ', ' ', ' '}, {0x2580, 0x2580, 0x2580, 0x2580}};
    for (int row = 0; row < 3; row++)
        for (int col = 0; col < 4; col++)
            assert_int_equal(c.cells[row * 12 + col].glyph, expected[row][col]);
    canvas_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sections), cmocka_unit_test(test_shortening), cmocka_unit_test(test_own_words),
        cmocka_unit_test(test_anything), cmocka_unit_test(test_banner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
