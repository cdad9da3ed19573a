/*
 * keymap.h - one table of keys per view feeds the dispatcher, the footer, the `?` overlay and key scripts.
 *
 * Two neighbours in a table that share a label (and differ in action, as "up" and "down" do) become one entry
 * of the footer, "↑↓ select"; neighbours that share an action or a help text become one line of the overlay.
 */
#ifndef RINGSIDE_TUI_KEYMAP_H
#define RINGSIDE_TUI_KEYMAP_H

#include "tui/view.h"

#include <stddef.h>

enum { KEY_NAME_SIZE = 24 };

/* What the application itself does with a key that the view on top leaves alone. */
enum { GLOBAL_HELP = 1, GLOBAL_BACK, GLOBAL_QUIT, GLOBAL_REDRAW, GLOBAL_SUSPEND };
extern const struct key_binding keymap_global[];
extern const struct key_binding keymap_home_global[]; /* of the bottom view: q leaves the program */

/* The action bound to a key, or 0. */
int keymap_action(const struct key_binding *keys, int key);

/* "Enter", "PgDn", "Ctrl-L", "q", and arrows as arrows where Unicode can be shown. */
void key_name(int key, bool utf8, char name[KEY_NAME_SIZE]);
/* The key of a name as used in key scripts ("Down", "C-l", "Enter", "q"); 0 where there is none. */
int key_parse(const char *name);

/* Draws the footer in one row: as many entries as fit; those of `always` at the right end are kept. */
void keymap_footer(struct canvas *c, struct rect row, const struct key_binding *keys,
                   const struct key_binding *always);
/* The key of what the footer shows at this column: the one whose name is there, else the entry's first; or 0. */
int keymap_footer_key(struct rect row, bool utf8, const struct key_binding *keys,
                      const struct key_binding *always, int col);

/* One line of the overlay: the joined names of its keys and its text. */
struct key_help {
    char names[64];
    const char *text;
};
/* Lists the lines of a table (its entries without any text are left out); returns how many, at most `limit`.
 */
int keymap_help(const struct key_binding *keys, bool utf8, struct key_help *lines, int limit);

#endif
