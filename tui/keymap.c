/*
 * keymap.c - names of keys, the footer and the lines of the overlay, all from the views' tables.
 */
#include "tui/keymap.h"

#include "tui/text.h"

#include <stdio.h>
#include <string.h>

enum { FOOTER_KEYS_MAX = 8 };
enum { CONTROL_C = 3, CONTROL_L = 12, CONTROL_Z = 26 };

const struct key_binding keymap_global[] = {
    {'?', GLOBAL_HELP, N_("help"), N_("this list of keys")},
    {'q', GLOBAL_BACK, N_("back"), N_("go back")},
    {KEY_CODE_ESCAPE, GLOBAL_BACK, NULL, NULL},
    {CONTROL_L, GLOBAL_REDRAW, NULL, N_("draw the screen anew")},
    {CONTROL_Z, GLOBAL_SUSPEND, NULL, N_("put Ringside aside (fg brings it back); jobs go on")},
    {CONTROL_C, GLOBAL_QUIT, NULL, N_("leave Ringside; jobs go on")},
    {0, 0, NULL, NULL},
};

const struct key_binding keymap_home_global[] = {
    {'?', GLOBAL_HELP, N_("help"), N_("this list of keys")},
    {'q', GLOBAL_QUIT, N_("quit"), N_("leave Ringside; jobs go on")},
    {CONTROL_C, GLOBAL_QUIT, NULL, NULL},
    {CONTROL_L, GLOBAL_REDRAW, NULL, N_("draw the screen anew")},
    {CONTROL_Z, GLOBAL_SUSPEND, NULL, N_("put Ringside aside (fg brings it back); jobs go on")},
    {0, 0, NULL, NULL},
};

static const struct {
    int key;
    const char *name, *shown; /* shown: with Unicode */
} names[] = {
    {KEY_CODE_UP, "Up", "↑"},
    {KEY_CODE_DOWN, "Down", "↓"},
    {KEY_CODE_LEFT, "Left", "←"},
    {KEY_CODE_RIGHT, "Right", "→"},
    {KEY_CODE_PAGE_UP, N_("PgUp"), NULL},
    {KEY_CODE_PAGE_DOWN, N_("PgDn"), NULL},
    {KEY_CODE_HOME, N_("Home"), NULL},
    {KEY_CODE_END, N_("End"), NULL},
    {KEY_CODE_ENTER, "Enter", NULL},
    {KEY_CODE_ESCAPE, "Esc", NULL},
    {KEY_CODE_TAB, "Tab", NULL},
    {KEY_CODE_BACKTAB, "BackTab", NULL},
    {KEY_CODE_BACKSPACE, N_("Bksp"), NULL},
    {' ', N_("Space"), NULL},
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
            snprintf(name, KEY_NAME_SIZE, "%s", utf8 && names[i].shown ? names[i].shown : _(names[i].name));
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

/* One entry of the footer: the names of the keys of a run of neighbours with one label. */
struct footer_entry {
    char shown[KEY_NAME_SIZE * 2];
    const char *label;
    int keys[FOOTER_KEYS_MAX], ends[FOOTER_KEYS_MAX]; /* ends: the column behind each name */
    int count;
};

/* Takes the next entry and moves *keys on behind it. */
static bool footer_next(const struct key_binding **keys, bool utf8, struct footer_entry *entry)
{
    const struct key_binding *k = *keys;
    while (k && k->action && !k->label)
        k++;
    if (!k || !k->action)
        return false;
    *entry = (struct footer_entry){.label = _(k->label)};
    const char *label = k->label;
    size_t used = 0;
    for (; k->action && (!k->label || !strcmp(k->label, label)); k++) {
        if (!k->label)
            continue;
        char name[KEY_NAME_SIZE];
        key_name(k->key, utf8, name);
        bool words = strlen(name) > 1 && (unsigned char)name[0] < 0x80;
        int n =
            snprintf(entry->shown + used, sizeof entry->shown - used, "%s%s", used && words ? "/" : "", name);
        if (n > 0)
            used += (size_t)n;
        if (used >= sizeof entry->shown)
            used = sizeof entry->shown - 1;
        if (entry->count < FOOTER_KEYS_MAX) {
            entry->keys[entry->count] = k->key;
            entry->ends[entry->count++] = text_columns(entry->shown);
        }
    }
    *keys = k;
    return true;
}

static int entry_columns(const struct footer_entry *entry)
{
    return text_columns(entry->shown) + 1 + text_columns(entry->label) + 2;
}

/* Walks over the entries that fit, from left to right; place() gets each with its column and ends the walk by false. */
static void footer_walk(struct rect row, bool utf8, const struct key_binding *keys,
                        const struct key_binding *always,
                        bool (*place)(void *self, const struct footer_entry *entry, int col), void *self)
{
    struct footer_entry entry;
    int kept = 0;
    for (const struct key_binding *k = always; footer_next(&k, utf8, &entry);)
        kept += entry_columns(&entry);
    int col = row.col + 1, end = row.col + row.cols - kept;
    for (const struct key_binding *k = keys; footer_next(&k, utf8, &entry);)
        if (col + entry_columns(&entry) <= end) {
            if (!place(self, &entry, col))
                return;
            col += entry_columns(&entry);
        }
    if (col < end)
        col = end;
    for (const struct key_binding *k = always; footer_next(&k, utf8, &entry);) {
        if (!place(self, &entry, col))
            return;
        col += entry_columns(&entry);
    }
}

struct footer_drawing {
    struct canvas *c;
    int row;
};

static bool footer_draw_entry(void *self, const struct footer_entry *entry, int col)
{
    struct footer_drawing *d = self;
    int used = canvas_text(d->c, d->row, col, 32, ROLE_KEY, ATTR_BOLD, entry->shown);
    canvas_text(d->c, d->row, col + used + 1, 32, ROLE_MUTED, 0, entry->label);
    return true;
}

void keymap_footer(struct canvas *c, struct rect row, const struct key_binding *keys,
                   const struct key_binding *always)
{
    struct footer_drawing drawing = {c, row.row};
    if (row.rows > 0)
        footer_walk(row, c->utf8, keys, always, footer_draw_entry, &drawing);
}

struct footer_search {
    int col, key;
};

static bool footer_find_entry(void *self, const struct footer_entry *entry, int col)
{
    struct footer_search *search = self;
    int at = search->col - col;
    if (at < 0 || at >= entry_columns(entry) - 2)
        return true;
    search->key = entry->keys[0];
    for (int i = entry->count - 1; i > 0; i--)
        if (at >= entry->ends[i - 1] && at < entry->ends[i])
            search->key = entry->keys[i];
    return false;
}

int keymap_footer_key(struct rect row, bool utf8, const struct key_binding *keys,
                      const struct key_binding *always, int col)
{
    struct footer_search search = {.col = col};
    footer_walk(row, utf8, keys, always, footer_find_entry, &search);
    return search.key;
}

int mouse_key(enum mouse what, int row, int col)
{
    enum { MOST = 4095 };
    row = row < 0 ? 0 : row > MOST ? MOST : row;
    col = col < 0 ? 0 : col > MOST ? MOST : col;
    return KEY_CODE_MOUSE | (int)what << 24 | row << 12 | col;
}

enum mouse mouse_parse(int key, int *row, int *col)
{
    *row = key >> 12 & 4095;
    *col = key & 4095;
    return (enum mouse)(key >> 24 & 3);
}

int keymap_help(const struct key_binding *keys, bool utf8, struct key_help *lines, int limit)
{
    int count = 0, last_action = 0;
    for (const struct key_binding *k = keys; k && k->action; k++) {
        char name[KEY_NAME_SIZE];
        key_name(k->key, utf8, name);
        struct key_help *last = count ? &lines[count - 1] : NULL;
        bool same =
            last && ((!k->help && k->action == last_action) || (k->help && !strcmp(_(k->help), last->text)));
        if (same) {
            size_t used = strlen(last->names);
            snprintf(last->names + used, sizeof last->names - used, " %s", name);
        } else if (k->help && count < limit) {
            last = &lines[count++];
            snprintf(last->names, sizeof last->names, "%s", name);
            last->text = _(k->help);
        }
        last_action = k->action;
    }
    return count;
}
