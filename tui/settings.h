/*
 * settings.h - what the learner has chosen: $RINGSIDE_HOME/settings.json.
 *
 * {"version": 1, "theme": "auto", "glyphs": "auto", "language": "auto", "mouse": true}
 *
 * One small file that people can read; written whole or not at all (temporary file, fsync, rename). Fields it does
 * not know are kept. A file that cannot be read counts as nothing chosen; the next choice sets it aside as
 * settings.json.broken. Environment variables of the moment (NO_COLOR, RINGSIDE_THEME) come
 * before it.
 */
#ifndef RINGSIDE_TUI_SETTINGS_H
#define RINGSIDE_TUI_SETTINGS_H

#include "engine/base/error.h"
#include "tui/theme.h"

enum settings_glyphs { GLYPHS_AUTO, GLYPHS_UNICODE, GLYPHS_ASCII }; /* auto: by the locale's encoding */

struct settings {
    enum theme theme;
    enum settings_glyphs glyphs;
    char language[16]; /* "en", "de"; "": by LANGUAGE, LC_ALL, LC_MESSAGES and LANG */
    bool mouse;
};

/* What holds where nothing was chosen. */
extern const struct settings settings_defaults;

/*
 * Always fills *settings. False where the file could not be used: then *e is a sentence for the learner, and the
 * defaults hold. No file is no error.
 */
bool settings_load(struct settings *settings, struct error *e);
bool settings_save(const struct settings *settings, struct error *e);

#endif
