#include "engine/spec/lua_file.h"

#include "engine/base/event.h"
#include "engine/base/lua_jail.h"
#include "engine/base/paths.h"
#include "engine/base/timing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child's own clock has a better sentence: it gets the first word. Far more than any description needs. */
#define GRACE_S 1.5
enum { ANSWER_MAX = 16 << 20, MEMORY = 64 << 20 };

/* --- names and files --------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool find_folder(const struct lua_shelf *shelf, char path[PATH_MAX], struct error *e)
{
    char data[PATH_MAX];
    return path_data(data, e) && path_join(path, data, shelf->folder, e);
}

void lua_shelf_free(char **names)
{
    for (char **p = names; p && *p; p++)
        free(*p);
    free(names);
}

char *lua_shelf_name(const char *file)
{
    size_t n = strlen(file);
    return n > 4 && *file != '.' && !strcmp(file + n - 4, ".lua") ? strndup(file, n - 4) : NULL;
}

char **lua_shelf_names(const struct lua_shelf *shelf, struct error *e)
{
    char folder[PATH_MAX];
    if (!find_folder(shelf, folder, e))
        return NULL;
    DIR *list = opendir(folder);
    if (!list) {
        error_errno(e, ERROR_MISSING, "the folder of the %ss, %s, cannot be read", shelf->what, folder);
        return NULL;
    }
    size_t count = 0;
    char **names = calloc(1, sizeof *names);
    for (struct dirent *entry; names && (entry = readdir(list));) {
        char *name = lua_shelf_name(entry->d_name);
        char **larger = name ? realloc(names, (count + 2) * sizeof *names) : NULL;
        if (!larger) {
            free(name);
            continue;
        }
        names = larger;
        names[count++] = name;
        names[count] = NULL;
    }
    closedir(list);
    if (names)
        qsort(names, count, sizeof *names, by_name);
    else
        error_set(e, ERROR_FAILED, "out of memory for the names of the %ss", shelf->what);
    return names;
}

static bool none_of_that_name(const struct lua_shelf *shelf, const char *name, struct error *e)
{
    char list[512] = "";
    size_t used = 0;
    char **names = lua_shelf_names(shelf, e);
    if (!names)
        return false;
    for (char **p = names; *p && used < sizeof list; p++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                 p == names ? ""
                                 : p[1]     ? ", "
                                            : " and ",
                                 *p);
    lua_shelf_free(names);
    return error_set(e, ERROR_INPUT,
                     "there is no %s \"%.64s\"; the %ss are %s, and a file of your own is named with its "
                     "ending: %.64s.lua",
                     shelf->what, name, shelf->what, list, name);
}

static bool is_path(const char *name)
{
    size_t n = strlen(name);
    return strchr(name, '/') || (n > 4 && !strcmp(name + n - 4, ".lua"));
}

bool lua_shelf_find(const struct lua_shelf *shelf, const char *name, char path[PATH_MAX], struct error *e)
{
    char file[PATH_MAX];
    if (is_path(name))
        return path_join(path, name, "", e);
    int n = snprintf(file, sizeof file, "%s.lua", name);
    return n > 0 && n < PATH_MAX && find_folder(shelf, path, e) && path_join(path, path, file, e) &&
           (access(path, R_OK) == 0 || none_of_that_name(shelf, name, e));
}

/* --- the child --------------------------------------------------------------------------------------------- */

struct script {
    const char *text, *shown;
    size_t length;
    lua_file_taker *take;
};

/* Less where RINGSIDE_SCRIPT_SECONDS says so. */
static double seconds_allowed(void)
{
    double seconds = lua_sandbox_seconds();
    return seconds < LUA_FILE_SECONDS ? seconds : LUA_FILE_SECONDS;
}

/* {"described": ...} or {"error": "sentence"}. */
static json_t *run_script(const struct script *s)
{
    const struct lua_limits limits = {MEMORY, seconds_allowed()};
    struct lua_api api = {0};
    struct lua_fault fault;
    struct error e = {0};
    json_t *answer = json_object(), *described = NULL;
    api.sandbox = lua_sandbox_open(&limits, &e);
    if (api.sandbox && lua_api_open(&api, &e)) {
        if (!lua_api_run(&api, s->text, s->length, s->shown, &fault)) {
            lua_fault_error(&fault, &e);
        } else {
            described = s->take(&api, &e);
            if (!described)
                error_wrap(&e, "%s", s->shown);
        }
    }
    if (described)
        json_object_set_new(answer, "described", described);
    else
        event_set_text(answer, "error", e.text);
    lua_api_close(&api);
    lua_sandbox_close(api.sandbox);
    return answer;
}

static _Noreturn void child(const struct script *s, int fd)
{
    lua_jail_enter(fd);
    char *text = json_dumps(run_script(s), JSON_COMPACT);
    size_t length = text ? strlen(text) : 0, sent = 0;
    while (sent < length) {
        ssize_t n = write(fd, text + sent, length - sent);
        if (n < 0 && errno != EINTR)
            break;
        sent += n > 0 ? (size_t)n : 0;
    }
    _exit(0);
}

/* --- the parent -------------------------------------------------------------------------------------------- */

/* All that the child says before it closes its end; the caller frees it. NULL: nothing in time. */
static char *receive(int fd, size_t *length)
{
    double deadline = timing_now() + seconds_allowed() + GRACE_S;
    size_t used = 0, room = 0;
    char *text = NULL;
    for (;;) {
        if (used == room) {
            room = room ? 2 * room : 16 << 10;
            char *larger = room <= ANSWER_MAX ? realloc(text, room) : NULL;
            if (!larger)
                break;
            text = larger;
        }
        struct pollfd p = {fd, POLLIN, 0};
        double left = deadline - timing_now();
        int ready = left > 0 ? poll(&p, 1, (int)(1000 * left) + 1) : 0;
        if (ready == 0)
            break;
        ssize_t n = ready > 0 ? read(fd, text + used, room - used) : -1;
        if (n == 0 && used > 0) {
            *length = used;
            return text;
        }
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        used += n > 0 ? (size_t)n : 0;
    }
    free(text);
    return NULL;
}

static json_t *ask_child(const struct script *s, struct error *e)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        error_errno(e, ERROR_FAILED, "no pipe to the process that reads %s", s->shown);
        return NULL;
    }
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        error_errno(e, ERROR_FAILED, "the process that reads %s cannot be started", s->shown);
        close(ends[0]), close(ends[1]);
        return NULL;
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        child(s, ends[1]);
    }
    close(ends[1]);
    size_t length = 0;
    char *text = receive(ends[0], &length);
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(ends[0]);
    json_t *answer = text ? json_loadb(text, length, 0, NULL) : NULL;
    free(text);
    if (!answer)
        error_set(e, ERROR_INPUT,
                  "%s: its process did not come to an end within %g s; look for a loop that never ends, or a "
                  "text pattern that never finishes",
                  s->shown, seconds_allowed());
    return answer;
}

json_t *lua_file_describe(const char *path, lua_file_taker *take, struct error *e)
{
    struct script script = {.shown = path, .take = take};
    char *text = lua_script_read(path, &script.length, e);
    script.text = text;
    json_t *answer = text ? ask_child(&script, e) : NULL;
    free(text);
    if (!answer)
        return NULL;
    json_t *described = json_incref(json_object_get(answer, "described"));
    if (!described)
        error_set(e, ERROR_INPUT, "%s", event_text(answer, "error", "the file could not be read"));
    json_decref(answer);
    return described;
}

void lua_file_name(json_t *object, const char *path, size_t size)
{
    const char *slash = strrchr(path, '/');
    char *name = lua_shelf_name(slash ? slash + 1 : path);
    if (name && !json_object_get(object, "name") && strlen(name) < size)
        event_set_text(object, "name", name);
    free(name);
}
