/*
 * help.c - draws the list of keys over the view.
 */
#include "tui/help.h"

#include "tui/keymap.h"
#include "tui/text.h"
#include "tui/wrap.h"

enum { LINES_MAX = 48 };

const struct key_binding help_keys[] = {
    {KEY_CODE_UP, 1, N_("scroll"), NULL},
    {KEY_CODE_DOWN, 2, N_("scroll"), NULL},
    {KEY_CODE_ESCAPE, 3, N_("close"), NULL},
    {0, 0, NULL, NULL},
};

void help_open(struct help_overlay *help)
{
    *help = (struct help_overlay){.open = true};
}

void help_key(struct help_overlay *help, int key)
{
    if (key == KEY_CODE_UP || key == 'k')
        help->first--;
    else if (key == KEY_CODE_DOWN || key == 'j')
        help->first++;
    else
        help->open = false;
    if (help->first < 0)
        help->first = 0;
}

/* Rows a line takes: its text is wrapped beside its keys. */
static int line_rows(const struct key_help *line, int cols)
{
    int rows = wrap_rows(line->text, cols);
    return rows > 1 ? rows : 1;
}

void help_draw(struct help_overlay *help, struct canvas *c, struct rect area, const struct key_binding *view,
               const struct key_binding *application)
{
    struct key_help lines[LINES_MAX];
    int own = keymap_help(view, c->utf8, lines, LINES_MAX);
    int count = own + keymap_help(application, c->utf8, lines + own, LINES_MAX - own);
    int names = 0, texts = 0, total = 0;
    for (int i = 0; i < count; i++) {
        int n = text_columns(lines[i].names), t = text_columns(lines[i].text);
        names = n > names ? n : names;
        texts = t > texts ? t : texts;
    }
    if (names > area.cols / 3)
        names = area.cols / 3;
    int width = names + texts + 9;
    struct rect box = {0, 0, 0, width < area.cols - 2 ? width : area.cols - 2};
    int cols = box.cols - names - 8;
    /* One blank line between the view's keys and the application's. */
    for (int i = 0; i < count; i++)
        total += line_rows(&lines[i], cols) + (i == own && own > 0);
    box.rows = total + 4 < area.rows ? total + 4 : area.rows;
    box.row = area.row + (area.rows - box.rows) / 2;
    box.col = area.col + (area.cols - box.cols) / 2;
    canvas_fill(c, box, ' ', ROLE_TEXT, 0);
    struct rect inside = canvas_box(c, box, _("Keys"), ROLE_BORDER);
    rect_cut_rows(&inside, box.rows >= total + 4);
    int visible = inside.rows < total ? inside.rows : total;
    if (help->first > total - visible)
        help->first = total - visible;
    int row = inside.row - help->first, end = inside.row + visible;
    for (int i = 0; i < count; i++) {
        row += i == own && own > 0;
        int rows = line_rows(&lines[i], cols);
        if (row >= inside.row && row + rows <= end) {
            canvas_text(c, row, inside.col + 2, names, ROLE_KEY, ATTR_BOLD, lines[i].names);
            wrap_text(c, (struct rect){row, inside.col + names + 4, rows, cols}, ROLE_TEXT, 0, lines[i].text);
        }
        row += rows;
    }
    if (help->first > 0)
        canvas_put(c, box.row, box.col + box.cols - 3, 0x25b2, ROLE_MUTED, 0);
    if (help->first + visible < total)
        canvas_put(c, box.row + box.rows - 1, box.col + box.cols - 3, 0x25bc, ROLE_MUTED, 0);
}
