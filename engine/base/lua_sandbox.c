#include "engine/base/lua_sandbox.h"
#include "engine/base/files.h"

#include "engine/base/lua_json.h"
#include "engine/base/lua_message.h"
#include "engine/base/timing.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Instructions between two looks at the clock: some ten microseconds. */
enum { HOOK_INSTRUCTIONS = 2000 };

struct lua_sandbox {
    lua_State *L;
    size_t used, cap;
    double seconds, deadline,
        held; /* on the monotonic clock; deadline 0: none; held > 0: since when it stands */
    bool expired;
    lua_print_function *print;
    void *print_self;
    char shown[512], chunk[64]; /* as named by the learner; as Lua names it in its messages */
    char *text;                 /* of the script, for the messages */
    size_t length;
};

double lua_sandbox_seconds(void)
{
    const char *text = getenv("RINGSIDE_SCRIPT_SECONDS");
    double seconds = text ? atof(text) : 0;
    return seconds > 0 && seconds < 86400 ? seconds : LUA_SANDBOX_SECONDS;
}

struct lua_sandbox *lua_sandbox_of(lua_State *L)
{
    struct lua_sandbox *s;
    memcpy(&s, lua_getextraspace(L), sizeof(void *));
    return s;
}

lua_State *lua_sandbox_state(struct lua_sandbox *s)
{
    return s->L;
}

static void *allocate(void *self, void *block, size_t old, size_t size)
{
    struct lua_sandbox *s = self;
    if (!block)
        old = 0; /* it is a type then */
    if (size == 0) {
        free(block);
        s->used -= old;
        return NULL;
    }
    if (size > old && (size - old > s->cap || s->used > s->cap - (size - old)))
        return NULL;
    void *moved = realloc(block, size);
    if (moved)
        s->used += size - old;
    return moved;
}

/* --- time -------------------------------------------------------------------------------------------------- */

static void look_at_clock(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    struct lua_sandbox *s = lua_sandbox_of(L);
    if (s->deadline <= 0 || s->held > 0 || timing_now() < s->deadline)
        return;
    /* From now on at every instruction, so that no pcall in a loop swallows it for ever. */
    s->expired = true;
    lua_sethook(L, look_at_clock, LUA_MASKCOUNT, 1);
    luaL_error(L, LUA_MESSAGE_TOO_LONG, s->seconds);
}

bool lua_sandbox_expired(const struct lua_sandbox *s)
{
    return s->expired;
}

void lua_sandbox_clock_start(struct lua_sandbox *s)
{
    s->deadline = s->seconds > 0 ? timing_now() + s->seconds : 0;
    s->held = 0;
}

void lua_sandbox_clock_hold(struct lua_sandbox *s)
{
    if (s->held <= 0)
        s->held = timing_now();
}

void lua_sandbox_clock_go_on(struct lua_sandbox *s)
{
    if (s->held > 0 && s->deadline > 0)
        s->deadline += timing_now() - s->held;
    s->held = 0;
}

/* --- the library ------------------------------------------------------------------------------------------- */

static int sandbox_print(lua_State *L)
{
    struct lua_sandbox *s = lua_sandbox_of(L);
    int n = lua_gettop(L);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = 1; i <= n; i++) {
        if (i > 1)
            luaL_addchar(&b, '\t');
        luaL_tolstring(L, i, NULL);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    lua_show_nul(L);
    if (s->print)
        s->print(L, s->print_self, lua_tostring(L, -1));
    return 0;
}

static int xpcall_end(lua_State *L, int status, lua_KContext context)
{
    (void)context;
    bool ok = status == LUA_OK || status == LUA_YIELD;
    if (!ok) {
        lua_pushvalue(L, 1);
        lua_insert(L, -2);
        lua_pcall(L, 1, 1, 0);
        lua_replace(L, 2);
        lua_settop(L, 2);
    }
    lua_pushboolean(L, ok);
    lua_insert(L, 2);
    return lua_gettop(L) - 1;
}

/*
 * Lua's own xpcall calls its handler where the error is, and an error of the hook is where no hook looks at the
 * clock. So here the handler is called after the stack has been unwound.
 */
static int sandbox_xpcall(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_pushvalue(L, 1);
    lua_copy(L, 2, 1);
    lua_replace(L, 2); /* handler, function, arguments */
    return xpcall_end(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, xpcall_end), 0);
}

/* A finalizer runs where no hook looks at the clock. */
static int sandbox_setmetatable(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_argexpected(L, lua_isnil(L, 2) || lua_istable(L, 2), 2, "nil or table");
    if (lua_istable(L, 2)) {
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL)
            return luaL_error(L, "a metatable with __gc (a finalizer) is not allowed here");
        lua_pop(L, 1);
    }
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
        return luaL_error(L, "cannot change a protected metatable");
    lua_settop(L, 2);
    lua_setmetatable(L, 1);
    return 1;
}

static int sandbox_collectgarbage(lua_State *L)
{
    const char *what = luaL_optstring(L, 1, "collect");
    if (!strcmp(what, "count")) {
        lua_pushnumber(L, (double)lua_sandbox_of(L)->used / 1024);
        return 1;
    }
    if (strcmp(what, "collect") != 0)
        return luaL_error(
            L, "collectgarbage(\"%s\") is not available here: only \"collect\" and \"count\" are", what);
    lua_pushinteger(L, 0);
    return 1;
}

/* A global that is not there: a word of another language, or a library that is left out on purpose. */
static int missing_global(lua_State *L)
{
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
    const char *advice = name ? lua_message_foreign(name) : NULL;
    if (advice)
        return luaL_error(L, "'%s' %s", name, advice);
    lua_pushnil(L);
    return 1;
}

static const luaL_Reg libraries[] = {
    {LUA_GNAME, luaopen_base},        {LUA_COLIBNAME, luaopen_coroutine}, {LUA_TABLIBNAME, luaopen_table},
    {LUA_STRLIBNAME, luaopen_string}, {LUA_MATHLIBNAME, luaopen_math},    {LUA_UTF8LIBNAME, luaopen_utf8},
};

static const char *const left_out[] = {"load",    "loadstring", "loadfile", "dofile",
                                       "require", "module",     "warn"};

static const luaL_Reg replaced[] = {
    {"print", sandbox_print},
    {"xpcall", sandbox_xpcall},
    {"setmetatable", sandbox_setmetatable},
    {"collectgarbage", sandbox_collectgarbage},
    {NULL, NULL},
};

static int pristine; /* its address is the key of the sealed globals in the registry */

static int open_libraries(lua_State *L)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        luaL_requiref(L, libraries[i].name, libraries[i].func, 1);
        lua_pop(L, 1);
    }
    lua_pushglobaltable(L);
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        lua_pushnil(L);
        lua_setfield(L, -2, left_out[i]);
    }
    luaL_setfuncs(L, replaced, 0);
    lua_getfield(L, -1, LUA_STRLIBNAME);
    lua_pushnil(L);
    lua_setfield(L, -2, "dump");
    lua_pop(L, 1);
    lua_getfield(L, -1, LUA_MATHLIBNAME);
    lua_getfield(L, -1, "randomseed");
    lua_pushinteger(L, 42);
    lua_call(L, 1, 0);
    lua_pop(L, 1);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, missing_global);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
    return 0;
}

static int copy_globals(lua_State *L)
{
    lua_newtable(L);
    lua_pushglobaltable(L);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_rawset(L, 1);
    }
    lua_settop(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &pristine);
    return 0;
}

void lua_sandbox_seal(struct lua_sandbox *s)
{
    lua_pushcfunction(s->L, copy_globals);
    if (lua_pcall(s->L, 0, 0, 0) != LUA_OK)
        lua_pop(s->L, 1);
}

bool lua_sandbox_is_pristine(struct lua_sandbox *s, int key, int value)
{
    lua_State *L = s->L;
    key = lua_absindex(L, key), value = lua_absindex(L, value);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &pristine) != LUA_TTABLE) {
        lua_pop(L, 1);
        return false;
    }
    lua_pushvalue(L, key);
    lua_rawget(L, -2);
    bool same = lua_rawequal(L, -1, value);
    lua_pop(L, 2);
    return same;
}

/* Never reached: every entry into Lua is a protected call. */
static int panic(lua_State *L)
{
    (void)L;
    return 0;
}

struct lua_sandbox *lua_sandbox_open(const struct lua_limits *limits, struct error *e)
{
    struct lua_sandbox *s = calloc(1, sizeof *s);
    if (!s) {
        error_set(e, ERROR_FAILED, "out of memory for a Lua sandbox");
        return NULL;
    }
    s->cap = limits->memory_bytes;
    s->seconds = limits->seconds;
    s->L = lua_newstate(allocate, s);
    if (s->L) {
        memcpy(lua_getextraspace(s->L), &s, sizeof(void *));
        lua_atpanic(s->L, panic);
        lua_pushcfunction(s->L, open_libraries);
    }
    if (!s->L || lua_pcall(s->L, 0, 0, 0) != LUA_OK) {
        lua_sandbox_close(s);
        error_set(e, ERROR_FAILED, "out of memory for a Lua sandbox");
        return NULL;
    }
    lua_sethook(s->L, look_at_clock, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
    lua_sandbox_seal(s);
    return s;
}

void lua_sandbox_close(struct lua_sandbox *s)
{
    if (!s)
        return;
    if (s->L)
        lua_close(s->L); /* without finalizers (sandbox_setmetatable) nothing of the learner's runs in it */
    free(s->text);
    free(s);
}

void lua_sandbox_print_to(struct lua_sandbox *s, lua_print_function *print, void *self)
{
    s->print = print;
    s->print_self = self;
}

/* --- running ----------------------------------------------------------------------------------------------- */

bool lua_sandbox_load(struct lua_sandbox *s, const char *text, size_t length, const char *shown,
                      struct lua_fault *f)
{
    const char *base = strrchr(shown, '/');
    base = base ? base + 1 : shown;
    snprintf(s->shown, sizeof s->shown, "%s", shown);
    /* Lua cuts longer names in its messages (LUA_IDSIZE), and this one has to be found again in them. */
    snprintf(s->chunk, sizeof s->chunk, "=%.50s", base);
    if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) /* what some editors put before UTF-8 */
        text += 3, length -= 3;
    free(s->text);
    s->text = malloc(length + 1);
    if (!s->text) {
        lua_sandbox_explain(s, "not enough memory", 0, f);
        return false;
    }
    memcpy(s->text, text, length);
    s->text[length] = 0;
    s->length = length;
    if (luaL_loadbufferx(s->L, text, length, s->chunk, "t") == LUA_OK)
        return true;
    lua_sandbox_explain(s, lua_tostring(s->L, -1), 0, f);
    lua_pop(s->L, 1);
    return false;
}

int lua_sandbox_line(lua_State *L)
{
    lua_Debug ar;
    for (int level = 0; lua_getstack(L, level, &ar); level++)
        if (lua_getinfo(L, "Sl", &ar) && ar.currentline > 0)
            return ar.currentline;
    return 0;
}

/* Message handler: keeps the line of an error that does not carry it. */
static int note_line(lua_State *L)
{
    lua_pushinteger(L, lua_sandbox_line(L));
    lua_setfield(L, LUA_REGISTRYINDEX, "error line");
    return 1;
}

bool lua_sandbox_call(struct lua_sandbox *s, int arguments, int results, struct lua_fault *f)
{
    lua_State *L = s->L;
    int handler = lua_gettop(L) - arguments;
    lua_pushcfunction(L, note_line);
    lua_insert(L, handler);
    lua_sandbox_clock_start(s);
    int status = lua_pcall(L, arguments, results, handler);
    s->deadline = 0;
    lua_remove(L, handler);
    if (status == LUA_OK)
        return true;
    lua_getfield(L, LUA_REGISTRYINDEX, "error line");
    int line = status == LUA_ERRMEM ? 0 : (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    lua_sandbox_explain(s, lua_tostring(L, -1), line, f);
    lua_pop(L, 1);
    return false;
}

/* --- faults ------------------------------------------------------------------------------------------------ */

static void copy_line(const char *text, size_t length, int line, char *out, size_t size)
{
    const char *end = text + length;
    for (int i = 1; i < line && text; i++) {
        text = memchr(text, '\n', (size_t)(end - text));
        text = text ? text + 1 : NULL;
    }
    *out = 0;
    if (!text || line < 1)
        return;
    while (text < end && (*text == ' ' || *text == '\t'))
        text++;
    size_t n = 0;
    while (text + n < end && text[n] != '\n' && text[n] != '\r')
        n++;
    bool cut = n >= size - 3;
    if (cut)
        for (n = size - 4; n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80;)
            n--;
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
    while (n > 0 && out[n - 1] == ' ')
        n--;
    snprintf(out + n, size - n, "%s", cut ? "..." : "");
}

void lua_sandbox_explain(struct lua_sandbox *s, const char *message, int line, struct lua_fault *f)
{
    memset(f, 0, sizeof *f);
    snprintf(f->file, sizeof f->file, "%s", s->shown);
    if (!message)
        message = "the script raised an error that is no text";
    const char *chunk = s->chunk + 1, *position = message;
    while (*chunk && *position == *chunk)
        position++, chunk++;
    if (*s->chunk && !*chunk && *position == ':') {
        char *after;
        long n = strtol(position + 1, &after, 10);
        if (*after == ':') {
            line = (int)n;
            message = after + 1;
            while (*message == ' ')
                message++;
        }
    }
    f->line = line;
    copy_line(s->text ? s->text : "", s->length, line, f->source, sizeof f->source);
    /* "for i in range(3):" is found out in the line that follows: to Lua the colon begins a method call. */
    if (line > 1 && (!strncmp(message, "'do' expected", 13) || !strncmp(message, "'then' expected", 15))) {
        char before[sizeof f->source];
        copy_line(s->text ? s->text : "", s->length, line - 1, before, sizeof before);
        size_t n = strlen(before);
        if (n > 0 && before[n - 1] == ':') {
            memcpy(f->source, before, sizeof before);
            f->line = line - 1;
        }
    }
    lua_message_translate(message, f->source, (double)s->cap / (1 << 20), f->what, sizeof f->what, f->todo,
                          sizeof f->todo);
}

void lua_fault_sentence(const struct lua_fault *f, char *text, size_t size)
{
    char where[600], seen[256] = "";
    if (f->line > 0)
        snprintf(where, sizeof where, "%s:%d", f->file, f->line);
    else
        snprintf(where, sizeof where, "%s", f->file);
    if (*f->source)
        snprintf(seen, sizeof seen, " (line %d: %s)", f->line, f->source);
    snprintf(text, size, "%s: %s%s%s%s", where, f->what, *f->todo ? "; " : "", f->todo, seen);
}

bool lua_fault_error(const struct lua_fault *f, struct error *e)
{
    if (e) {
        e->kind = ERROR_INPUT;
        lua_fault_sentence(f, e->text, sizeof e->text);
    }
    return false;
}

char *lua_script_read(const char *path, size_t *length, struct error *e)
{
    struct stat st;
    FILE *file = file_stream(path, 0, e);
    if (!file)
        return NULL;
    char *text = NULL;
    if (fstat(fileno(file), &st) != 0) {
        error_errno(e, ERROR_INPUT, "%s cannot be read", path);
    } else if (st.st_size > LUA_SANDBOX_SCRIPT_MAX) {
        error_set(e, ERROR_INPUT, "%s has %lld bytes: a script may have at most %d MiB", path,
                  (long long)st.st_size, LUA_SANDBOX_SCRIPT_MAX >> 20);
    } else if (!(text = malloc((size_t)st.st_size + 1))) {
        error_set(e, ERROR_FAILED, "out of memory for %s", path);
    } else {
        *length = fread(text, 1, (size_t)st.st_size, file);
        if (ferror(file)) {
            error_errno(e, ERROR_INPUT, "%s cannot be read", path);
            free(text);
            text = NULL;
        } else {
            text[*length] = 0;
        }
    }
    fclose(file);
    return text;
}
