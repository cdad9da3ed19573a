/*
 * settings.c - reads and keeps what the learner has chosen.
 */
#include "tui/settings.h"

#include "engine/base/files.h"
#include "engine/base/rundir.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SETTINGS_VERSION = 1 };

static const char file_name[] = "settings.json";

const struct settings settings_defaults = {.mouse = true};

static const char *const theme_names[] = {"auto", "dark", "light", "contrast", NULL};
static const char *const glyph_names[] = {"auto", "unicode", "ascii", NULL};

/* The number of a choice by its name; the first where the file has none of these. */
static int choice(const json_t *root, const char *key, const char *const *names)
{
    const char *text = json_string_value(json_object_get(root, key));
    for (int i = 0; text && names[i]; i++)
        if (!strcmp(names[i], text))
            return i;
    return 0;
}

static bool settings_file(char path[PATH_MAX + 64], char home[PATH_MAX], struct error *e)
{
    if (!ringside_home(home, e))
        return false;
    snprintf(path, PATH_MAX + 64, "%s/%s", home, file_name);
    return true;
}

bool settings_load(struct settings *settings, struct error *e)
{
    char home[PATH_MAX], path[PATH_MAX + 64];
    *settings = settings_defaults;
    if (!settings_file(path, home, NULL))
        return true; /* the progress says so */
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return true;
    struct error why = {0};
    json_t *root = file_json(path, &why);
    if (!json_is_object(root)) {
        if (root)
            error_set(&why, ERROR_INPUT, "%s, line 1: this is no JSON object", path);
        json_decref(root);
        return error_set(e, ERROR_INPUT, "%s; so the defaults hold: mend it, or choose anew with ,",
                         why.text);
    }
    settings->theme = (enum theme)choice(root, "theme", theme_names);
    settings->glyphs = (enum settings_glyphs)choice(root, "glyphs", glyph_names);
    const char *language = json_string_value(json_object_get(root, "language"));
    if (language && strcmp(language, "auto") != 0 && strlen(language) < sizeof settings->language)
        snprintf(settings->language, sizeof settings->language, "%s", language);
    const json_t *mouse = json_object_get(root, "mouse");
    settings->mouse = json_is_boolean(mouse) ? json_is_true(mouse) : settings_defaults.mouse;
    json_decref(root);
    return true;
}

bool settings_save(const struct settings *settings, struct error *e)
{
    char home[PATH_MAX], path[PATH_MAX + 64], broken[PATH_MAX + 80];
    if (!settings_file(path, home, e))
        return false;
    json_t *root = file_json(path, NULL);
    if (!json_is_object(root)) {
        snprintf(broken, sizeof broken, "%s.broken", path);
        rename(path, broken); /* where there is one at all */
        json_decref(root);
        root = json_object();
    }
    json_object_set_new(root, "version", json_integer(SETTINGS_VERSION));
    json_object_set_new(root, "theme", json_string(theme_names[settings->theme]));
    json_object_set_new(root, "glyphs", json_string(glyph_names[settings->glyphs]));
    json_object_set_new(root, "language", json_string(*settings->language ? settings->language : "auto"));
    json_object_set_new(root, "mouse", json_boolean(settings->mouse));
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    json_decref(root);
    bool ok = text ? rundir_write(home, file_name, text, e) : error_set(e, ERROR_FAILED, "out of memory");
    free(text);
    return ok;
}
