/*
 * help.h - the `?` overlay: every key of the view on top and of the application, from their tables.
 */
#ifndef RINGSIDE_TUI_HELP_H
#define RINGSIDE_TUI_HELP_H

#include "tui/view.h"

struct help_overlay {
    bool open;
    int first; /* line shown first, where the list is longer than the window */
};

extern const struct key_binding help_keys[]; /* for the footer while the overlay is open */

void help_open(struct help_overlay *help);
void help_key(struct help_overlay *help, int key);
void help_draw(struct help_overlay *help, struct canvas *c, struct rect area, const struct key_binding *view,
               const struct key_binding *application);

#endif
