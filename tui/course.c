/*
 * course.c - reads lessons/course.lua.
 */
#include "tui/course.h"

#include "engine/base/lua_sandbox.h"
#include "engine/base/paths.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Far more than a list of fifty lessons needs. */
enum { MEMORY_MAX = 8 << 20, INSTRUCTIONS_MAX = 10000000, LESSONS_MAX = 500 };

struct budget {
    size_t used;
};

static void *allocate(void *data, void *block, size_t old, size_t size)
{
    struct budget *budget = data;
    if (!block)
        old = 0; /* then Lua passes a type here */
    if (size > old && budget->used + (size - old) > MEMORY_MAX)
        return NULL;
    void *moved = NULL;
    if (size == 0) {
        free(block);
    } else if (!(moved = realloc(block, size))) {
        return NULL;
    }
    budget->used = budget->used - old + size;
    return moved;
}

static void too_long(lua_State *L, lua_Debug *unused)
{
    (void)unused;
    luaL_error(L, "it runs too long: a course file is a plain table");
}

/* A field's text, or the fallback; NULL where memory is short. Other types than text count as absent. */
static char *field_text(lua_State *L, int table, const char *key, const char *fallback)
{
    const char *text = lua_getfield(L, table, key) == LUA_TSTRING ? lua_tostring(L, -1) : fallback;
    char *copy = strdup(text);
    lua_pop(L, 1);
    return copy;
}

static void field_list(lua_State *L, int table, const char *key, char **list)
{
    if (lua_getfield(L, table, key) == LUA_TTABLE)
        for (int i = 0; i < COURSE_LIST_MAX && lua_rawgeti(L, -1, i + 1) == LUA_TSTRING; i++) {
            list[i] = strdup(lua_tostring(L, -1));
            lua_pop(L, 1);
        }
    lua_settop(L, table);
}

/* A lesson's name becomes a file's name: letters, digits, '-' and '_' only. */
static bool name_valid(const char *name)
{
    return *name &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == strlen(name);
}

/* The lesson's table is on top of the stack. */
static bool lesson_read(lua_State *L, struct course_lesson *lesson, int number, struct error *e)
{
    if (!lua_istable(L, -1))
        return error_set(e, ERROR_INPUT, "lesson %d is not a table", number);
    int table = lua_gettop(L);
    lesson->name = field_text(L, table, "name", "");
    lesson->title = field_text(L, table, "title", lesson->name ? lesson->name : "");
    lesson->question = field_text(L, table, "question", "");
    lesson->track = field_text(L, table, "track", "core");
    lesson->exercise = field_text(L, table, "exercise", "");
    if (!lesson->name || !lesson->title || !lesson->question || !lesson->track || !lesson->exercise)
        return error_set(e, ERROR_FAILED, "out of memory");
    if (!name_valid(lesson->name))
        return error_set(e, ERROR_INPUT, "lesson %d needs a name such as \"04-ring-allreduce\"", number);
    if (*lesson->exercise && !name_valid(lesson->exercise))
        return error_set(e, ERROR_INPUT, "lesson %s: '%s' is no name of an exercise", lesson->name,
                         lesson->exercise);
    if (lua_getfield(L, table, "minutes") == LUA_TNUMBER) {
        double minutes = lua_tonumber(L, -1);
        lesson->minutes = minutes > 0 && minutes < 10000 ? (int)minutes : 0;
    }
    lua_settop(L, table);
    field_list(L, table, "requires", lesson->requires);
    field_list(L, table, "tiers", lesson->tiers);
    return true;
}

static bool course_read(lua_State *L, const char *file, struct course *course, struct error *e)
{
    /* "t": text only, since crafted bytecode can break the interpreter. */
    size_t size;
    char *text = lua_script_read(file, &size, e), at[PATH_MAX + 1];
    if (!text)
        return false;
    snprintf(at, sizeof at, "@%s", file);
    bool loaded = luaL_loadbufferx(L, text, size, at, "t") == LUA_OK;
    free(text);
    if (!loaded || lua_pcall(L, 0, 1, 0) != LUA_OK) {
        const char *why = lua_tostring(L, -1);
        return error_set(e, ERROR_INPUT, "%s", why ? why : "it cannot be read");
    }
    if (!lua_istable(L, 1))
        return error_set(e, ERROR_INPUT, "it has to return a table with title and lessons");
    course->title = field_text(L, 1, "title", "Ringside");
    if (lua_getfield(L, 1, "lessons") != LUA_TTABLE)
        return error_set(e, ERROR_INPUT, "the table it returns has no list `lessons`");
    lua_Unsigned length = lua_rawlen(L, -1);
    if (length > LESSONS_MAX)
        return error_set(e, ERROR_INPUT, "more than %d lessons", LESSONS_MAX);
    course->lessons = calloc(length ? length : 1, sizeof *course->lessons);
    if (!course->lessons || !course->title)
        return error_set(e, ERROR_FAILED, "out of memory");
    for (int i = 0; i < (int)length; i++) {
        lua_settop(L, 2);
        lua_rawgeti(L, 2, i + 1);
        course->count = i + 1; /* so that what was read of it is freed */
        if (!lesson_read(L, &course->lessons[i], i + 1, e))
            return false;
    }
    return true;
}

struct course *course_load_file(const char *file, struct error *e)
{
    struct budget budget = {0};
    struct course *course = calloc(1, sizeof *course);
    lua_State *L = lua_newstate(allocate, &budget);
    bool ok = course && L;
    if (!ok) {
        error_set(e, ERROR_FAILED, "out of memory");
    } else {
        lua_sethook(L, too_long, LUA_MASKCOUNT, INSTRUCTIONS_MAX);
        ok = course_read(L, file, course, e);
        if (!ok)
            error_wrap(e, "the course %s", file);
    }
    if (L)
        lua_close(L);
    if (!ok) {
        course_free(course);
        return NULL;
    }
    return course;
}

struct course *course_load(struct error *e)
{
    char data[PATH_MAX], file[PATH_MAX];
    if (!path_data(data, e) || !path_join(file, data, "lessons/course.lua", e))
        return NULL;
    return course_load_file(file, e);
}

void course_free(struct course *course)
{
    if (!course)
        return;
    for (int i = 0; i < course->count; i++) {
        struct course_lesson *lesson = &course->lessons[i];
        free(lesson->name);
        free(lesson->title);
        free(lesson->question);
        free(lesson->track);
        free(lesson->exercise);
        for (int k = 0; k < COURSE_LIST_MAX; k++) {
            free(lesson->requires[k]);
            free(lesson->tiers[k]);
        }
    }
    free(course->lessons);
    free(course->title);
    free(course);
}

int course_find(const struct course *course, const char *name)
{
    if (!course || !name || !*name)
        return -1;
    char *end;
    long number = strtol(name, &end, 10);
    bool numeric = !*end;
    int found = -1, matches = 0;
    for (int i = 0; i < course->count; i++) {
        const char *own = course->lessons[i].name;
        if (!strcmp(own, name))
            return i;
        char *rest;
        long own_number = strtol(own, &rest, 10);
        if (numeric ? rest != own && own_number == number : strstr(own, name) != NULL) {
            found = i;
            matches++;
        }
    }
    return matches == 1 ? found : -1;
}

int course_find_exercise(const struct course *course, const char *exercise)
{
    for (int i = 0; course && exercise && *exercise && i < course->count; i++)
        if (!strcmp(course->lessons[i].exercise, exercise))
            return i;
    return -1;
}

static bool lang_valid(const char *lang)
{
    return lang && *lang && strlen(lang) < 16 &&
           strspn(lang, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == strlen(lang);
}

bool course_lesson_file(const char *name, const char *lang, char path[PATH_MAX], struct error *e)
{
    char data[PATH_MAX];
    if (!path_data(data, e))
        return false;
    if (!name_valid(name))
        return error_set(e, ERROR_INPUT, "'%s' is no name of a lesson; 'ringside lesson' lists them", name);
    *path = '\0';
    const char *const languages[] = {lang_valid(lang) ? lang : "en", "en"};
    for (int i = 0; i < 2; i++) {
        char file[PATH_MAX];
        if (strlen(name) > 128)
            break;
        snprintf(file, sizeof file, "lessons/%s/%s.md", languages[i], name);
        if (!path_join(path, data, file, e))
            return false;
        if (!access(path, R_OK))
            return true;
    }
    return error_set(e, ERROR_INPUT, "the lesson %s has no readable file %s", name, path);
}

int course_number(const struct course_lesson *lesson, int index)
{
    int number = atoi(lesson->name);
    return number > 0 ? number : index + 1;
}
