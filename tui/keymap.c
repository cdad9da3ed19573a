/*
 * keymap.c - names of keys, the footer and the lines of the overlay, all from the views' tables.
 */
#include "tui/keymap.h"

#include <stdio.h>
#include <string.h>

enum { CONTROL_C = 3, CONTROL_L = 12, CONTROL_Z = 26 };

const struct key_binding keymap_global[] = {
    {'?', GLOBAL_HELP, "help", "this list of keys"},
    {'q', GLOBAL_BACK, "back", "go back"},
    {KEY_CODE_ESCAPE, GLOBAL_BACK, NULL, NULL},
    {CONTROL_L, GLOBAL_REDRAW, NULL, "draw the screen anew"},
    {CONTROL_Z, GLOBAL_SUSPEND, NULL, "put Ringside aside (fg brings it back); jobs go on"},
    {CONTROL_C, GLOBAL_QUIT, NULL, "leave Ringside; jobs go on"},
    {0, 0, NULL, NULL},
};

const struct key_binding keymap_home_global[] = {
    {'?', GLOBAL_HELP, "help", "this list of keys"},
    {'q', GLOBAL_QUIT, "quit", "leave Ringside; jobs go on"},
    {CONTROL_C, GLOBAL_QUIT, NULL, NULL},
    {CONTROL_L, GLOBAL_REDRAW, NULL, "draw the screen anew"},
    {CONTROL_Z, GLOBAL_SUSPEND, NULL, "put Ringside aside (fg brings it back); jobs go on"},
    {0, 0, NULL, NULL},
};

static const struct {
    int key;
    const char *name, *shown; /* shown: with Unicode */
} names[] = {
    {KEY_CODE_UP, "Up", "↑"},           {KEY_CODE_DOWN, "Down", "↓"},
    {KEY_CODE_LEFT, "Left", "←"},       {KEY_CODE_RIGHT, "Right", "→"},
    {KEY_CODE_PAGE_UP, "PgUp", NULL},   {KEY_CODE_PAGE_DOWN, "PgDn", NULL},
    {KEY_CODE_HOME, "Home", NULL},      {KEY_CODE_END, "End", NULL},
    {KEY_CODE_ENTER, "Enter", NULL},    {KEY_CODE_ESCAPE, "Esc", NULL},
    {KEY_CODE_TAB, "Tab", NULL},        {KEY_CODE_BACKTAB, "BackTab", NULL},
    {KEY_CODE_BACKSPACE, "Bksp", NULL}, {' ', "Space", NULL},
};

int keymap_action(const struct key_binding *keys, int key)
{
    for (; keys && keys->action; keys++)
        if (keys->key == key)
            return keys->action;
    return 0;
}

void key_name(int key, bool utf8, char name[KEY_NAME_SIZE])
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].key == key) {
            snprintf(name, KEY_NAME_SIZE, "%s", utf8 && names[i].shown ? names[i].shown : names[i].name);
            return;
        }
    if (key > 0 && key < 32) {
        snprintf(name, KEY_NAME_SIZE, "Ctrl-%c", key + '@');
        return;
    }
    int length = key > 0 && key < KEY_CODE_BASE ? utf8_put(name, (uint32_t)key) : 0;
    name[length] = '\0';
}

int key_parse(const char *name)
{
    static const struct {
        const char *name;
        int key;
    } aliases[] = {
        {"Escape", KEY_CODE_ESCAPE},      {"Return", KEY_CODE_ENTER},        {"PageUp", KEY_CODE_PAGE_UP},
        {"PageDown", KEY_CODE_PAGE_DOWN}, {"Backspace", KEY_CODE_BACKSPACE}, {"S-Tab", KEY_CODE_BACKTAB},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, name))
            return names[i].key;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (!strcmp(aliases[i].name, name))
            return aliases[i].key;
    if (name[0] == 'C' && name[1] == '-' && name[2] >= 'a' && name[2] <= 'z' && !name[3])
        return name[2] - 'a' + 1;
    const char *rest = name;
    uint32_t glyph = utf8_next(&rest);
    return glyph && glyph != 0xfffd && !*rest ? (int)glyph : 0;
}

/* One entry of the footer: the keys of the run of neighbours with one label. Moves *keys on behind it. */
static bool footer_entry(const struct key_binding **keys, bool utf8, char shown[KEY_NAME_SIZE * 2],
                         const char **label)
{
    const struct key_binding *k = *keys;
    while (k && k->action && !k->label)
        k++;
    if (!k || !k->action)
        return false;
    *label = k->label;
    size_t used = 0;
    char previous[KEY_NAME_SIZE] = "";
    for (; k->action && (!k->label || !strcmp(k->label, *label)); k++) {
        if (!k->label)
            continue;
        char name[KEY_NAME_SIZE];
        key_name(k->key, utf8, name);
        bool words = strlen(name) > 1 && (unsigned char)name[0] < 0x80;
        int n = snprintf(shown + used, KEY_NAME_SIZE * 2 - used, "%s%s", *previous && words ? "/" : "", name);
        if (n > 0)
            used += (size_t)n;
        if (used >= KEY_NAME_SIZE * 2)
            used = KEY_NAME_SIZE * 2 - 1;
        memcpy(previous, name, sizeof previous);
    }
    *keys = k;
    return true;
}

static int entry_columns(const char *shown, const char *label)
{
    return text_columns(shown) + 1 + text_columns(label) + 2;
}

static int entry_draw(struct canvas *c, int row, int col, const char *shown, const char *label)
{
    int used = canvas_text(c, row, col, 32, ROLE_KEY, ATTR_BOLD, shown);
    used += 1 + canvas_text(c, row, col + used + 1, 32, ROLE_MUTED, 0, label);
    return used + 2;
}

void keymap_footer(struct canvas *c, struct rect row, const struct key_binding *keys,
                   const struct key_binding *always)
{
    if (row.rows < 1)
        return;
    const char *label;
    char shown[KEY_NAME_SIZE * 2];
    int kept = 0;
    for (const struct key_binding *k = always; footer_entry(&k, c->utf8, shown, &label);)
        kept += entry_columns(shown, label);
    int col = row.col + 1, end = row.col + row.cols - kept;
    for (const struct key_binding *k = keys; footer_entry(&k, c->utf8, shown, &label);)
        if (col + entry_columns(shown, label) <= end)
            col += entry_draw(c, row.row, col, shown, label);
    if (col < end)
        col = end;
    for (const struct key_binding *k = always; footer_entry(&k, c->utf8, shown, &label);)
        col += entry_draw(c, row.row, col, shown, label);
}

int keymap_help(const struct key_binding *keys, bool utf8, struct key_help *lines, int limit)
{
    int count = 0, last_action = 0;
    for (const struct key_binding *k = keys; k && k->action; k++) {
        char name[KEY_NAME_SIZE];
        key_name(k->key, utf8, name);
        struct key_help *last = count ? &lines[count - 1] : NULL;
        bool same =
            last && ((!k->help && k->action == last_action) || (k->help && !strcmp(k->help, last->text)));
        if (same) {
            size_t used = strlen(last->names);
            snprintf(last->names + used, sizeof last->names - used, " %s", name);
        } else if (k->help && count < limit) {
            last = &lines[count++];
            snprintf(last->names, sizeof last->names, "%s", name);
            last->text = k->help;
        }
        last_action = k->action;
    }
    return count;
}
