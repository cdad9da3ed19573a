/*
 * lua_file.h - what a Lua file describes (a model, a cluster), as JSON.
 *
 * The file runs in the sandbox of engine/base, in a process of its own that is ended after LUA_FILE_SECONDS. Not for use
 * inside ranks, which get the JSON with their job.
 */
#ifndef RINGSIDE_SPEC_LUA_FILE_H
#define RINGSIDE_SPEC_LUA_FILE_H

#include "engine/base/lua_api.h"

#include <limits.h>

enum { LUA_FILE_SECONDS = 5 };

/* What there is to take from a script that has run: lua_api_description, lua_api_cluster. */
typedef json_t *lua_file_taker(struct lua_api *api, struct error *e);

/* A new reference; NULL: e names the file and line. */
json_t *lua_file_describe(const char *path, lua_file_taker *take, struct error *e);

/* What has no name of its own is called as its file is, without the ending, where that fits into `size` bytes. */
void lua_file_name(json_t *object, const char *path, size_t size);

/* A folder of such files, below the program's data: "exercises/models". what: "model", for the sentences. */
struct lua_shelf {
    const char *folder, *what;
};

/* The file that a name stands for: "resnet20" on the shelf, or a path (has a slash, or ends in .lua). */
bool lua_shelf_find(const struct lua_shelf *shelf, const char *name, char path[PATH_MAX], struct error *e);
/* The names on the shelf, sorted, NULL after the last; free with lua_shelf_free. */
char **lua_shelf_names(const struct lua_shelf *shelf, struct error *e);
void lua_shelf_free(char **names);
/* "resnet20.lua" is "resnet20"; NULL: no such file, or memory is short. To be freed. */
char *lua_shelf_name(const char *file);

#endif
