/*
 * help.c - draws the list of keys over the view.
 */
#include "tui/help.h"

#include "tui/keymap.h"

enum { LINES_MAX = 48 };

const struct key_binding help_keys[] = {
    {KEY_CODE_UP, 1, "scroll", NULL},
    {KEY_CODE_DOWN, 2, "scroll", NULL},
    {KEY_CODE_ESCAPE, 3, "close", NULL},
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

void help_draw(struct help_overlay *help, struct canvas *c, struct rect area, const struct key_binding *view,
               const struct key_binding *application)
{
    struct key_help lines[LINES_MAX];
    int own = keymap_help(view, c->utf8, lines, LINES_MAX);
    int count = own + keymap_help(application, c->utf8, lines + own, LINES_MAX - own);
    int names = 0, texts = 0;
    for (int i = 0; i < count; i++) {
        int n = text_columns(lines[i].names), t = text_columns(lines[i].text);
        names = n > names ? n : names;
        texts = t > texts ? t : texts;
    }
    if (names > area.cols / 3)
        names = area.cols / 3;
    /* One blank line between the view's keys and the application's. */
    int total = count + (own > 0 && own < count), width = names + texts + 9;
    struct rect box = {0, 0, total + 4, width < area.cols - 2 ? width : area.cols - 2};
    if (box.rows > area.rows)
        box.rows = area.rows;
    box.row = area.row + (area.rows - box.rows) / 2;
    box.col = area.col + (area.cols - box.cols) / 2;
    canvas_fill(c, box, ' ', ROLE_TEXT, 0);
    struct rect inside = canvas_box(c, box, "Keys", ROLE_BORDER);
    if (box.rows >= total + 4)
        rect_cut_rows(&inside, 1);
    int visible = inside.rows < total ? inside.rows : total;
    if (help->first > total - visible)
        help->first = total - visible;
    for (int row = 0; row < visible; row++) {
        int line = help->first + row;
        if (own > 0 && own < count) {
            if (line == own)
                continue;
            line -= line > own;
        }
        canvas_text(c, inside.row + row, inside.col + 2, names, ROLE_KEY, ATTR_BOLD, lines[line].names);
        canvas_text(c, inside.row + row, inside.col + names + 4, inside.cols - names - 5, ROLE_TEXT, 0,
                    lines[line].text);
    }
    if (help->first > 0)
        canvas_put(c, box.row, box.col + box.cols - 3, 0x25b2, ROLE_MUTED, 0);
    if (help->first + visible < total)
        canvas_put(c, box.row + box.rows - 1, box.col + box.cols - 3, 0x25bc, ROLE_MUTED, 0);
}
