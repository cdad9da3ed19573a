/*
 * rundir.c - where runs lie, how they are named, found and removed.
 */
#include "engine/base/rundir.h"

#include "engine/base/event.h"
#include "engine/base/paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NAME_TRIES = 1000, STAMP = 15 /* YYYYmmdd-HHMMSS */ };

bool ringside_home(char path[PATH_MAX], struct error *e)
{
    const char *given = getenv("RINGSIDE_HOME");
    if (given && *given) {
        if (given[0] == '/') {
            if (!path_join(path, given, "", e))
                return false;
        } else { /* children may run elsewhere: always absolute */
            char here[PATH_MAX];
            if (!getcwd(here, sizeof here))
                return error_errno(e, ERROR_FAILED, "the present folder cannot be found");
            if (!path_join(path, here, given, e))
                return false;
        }
    } else {
        const char *home = getenv("HOME");
        if (!home || !*home) {
            const struct passwd *user = getpwuid(getuid());
            home = user ? user->pw_dir : NULL;
        }
        if (!home || !*home)
            return error_set(e, ERROR_INPUT,
                             "neither RINGSIDE_HOME nor HOME is set: set RINGSIDE_HOME to a folder "
                             "that ringside may write to");
        if (!path_join(path, home, ".local/share/ringside", e))
            return false;
    }
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        path[--length] = 0;
    struct error cause = {0};
    if (!path_make(path, &cause))
        return error_set(
            e, ERROR_MISSING,
            "ringside has no place for its files: %s; set RINGSIDE_HOME to a folder you may write to",
            cause.text);
    return true;
}

bool runs_root(char path[PATH_MAX], struct error *e)
{
    char home[PATH_MAX];
    return ringside_home(home, e) && path_join(path, home, "runs", e) && path_make(path, e);
}

const char *rundir_id(const char *dir)
{
    const char *slash = strrchr(dir, '/');
    return slash && slash[1] ? slash + 1 : dir;
}

/* A label as part of a file's name: letters, digits, '.', '_' and '-'; anything else becomes '-'. */
static void name_from_label(const char *label, char *name, size_t size)
{
    size_t n = 0;
    for (const char *p = label; *p && n + 1 < size && n < 60; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
                     *p == '_' || (*p == '.' && n > 0);
        if (plain)
            name[n++] = *p;
        else if (n > 0 && name[n - 1] != '-')
            name[n++] = '-';
    }
    while (n > 0 && name[n - 1] == '-')
        n--;
    name[n] = 0;
    if (n == 0)
        snprintf(name, size, "run");
}

/* Tries root/STAMP-label, -2, -3 ... until make() takes one. make returns 0, or -1 with errno. */
static bool claim_name(const char *root, const char *label,
                       int (*make)(const char *path, const char *argument), const char *argument,
                       char path[PATH_MAX], struct error *e)
{
    char name[64], stamp[32], id[128];
    name_from_label(label, name, sizeof name);
    time_t now = time(NULL);
    struct tm tm;
    localtime_r(&now, &tm);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
    for (int i = 1; i <= NAME_TRIES; i++) {
        if (i == 1)
            snprintf(id, sizeof id, "%s-%s", stamp, name);
        else
            snprintf(id, sizeof id, "%s-%s-%d", stamp, name, i);
        if (!path_join(path, root, id, e))
            return false;
        if (make(path, argument) == 0)
            return true;
        if (errno != EEXIST)
            return error_errno(e, ERROR_FAILED, "the run's folder %s cannot be made", path);
    }
    return error_set(e, ERROR_FAILED, "the run's folder %s and %d like it exist already", path, NAME_TRIES);
}

static int make_folder(const char *path, const char *argument)
{
    (void)argument;
    return mkdir(path, 0777);
}

static int make_link(const char *path, const char *argument)
{
    return symlink(argument, path);
}

bool rundir_create(const char *root, const char *label, char dir[PATH_MAX], struct error *e)
{
    char own[PATH_MAX];
    if (!root) {
        if (!runs_root(own, e))
            return false;
        root = own;
    } else if (!path_make(root, e)) {
        return false;
    }
    return claim_name(root, label, make_folder, NULL, dir, e);
}

bool rundir_link(const char *dir, const char *label, struct error *e)
{
    char root[PATH_MAX], target[PATH_MAX], link[PATH_MAX];
    if (!runs_root(root, e))
        return false;
    if (!realpath(dir, target))
        return error_errno(e, ERROR_FAILED, "%s cannot be found", dir);
    return claim_name(root, label, make_link, target, link, e);
}

static bool is_run(const char *dir)
{
    char path[PATH_MAX];
    return path_join(path, dir, "job.json", NULL) && access(path, F_OK) == 0;
}

/* Newest first: by the time in the name; within one second by when job.json was written; then by name. */
static int newest_first(const void *pa, const void *pb)
{
    const char *a = *(char *const *)pa, *b = *(char *const *)pb;
    const char *ida = rundir_id(a), *idb = rundir_id(b);
    int order = strncmp(idb, ida, STAMP);
    if (order)
        return order;
    char path[PATH_MAX];
    struct stat sa = {0}, sb = {0};
    if (path_join(path, a, "job.json", NULL) && stat(path, &sa) == 0 &&
        path_join(path, b, "job.json", NULL) && stat(path, &sb) == 0) {
        if (sa.st_mtim.tv_sec != sb.st_mtim.tv_sec)
            return sa.st_mtim.tv_sec < sb.st_mtim.tv_sec ? 1 : -1;
        if (sa.st_mtim.tv_nsec != sb.st_mtim.tv_nsec)
            return sa.st_mtim.tv_nsec < sb.st_mtim.tv_nsec ? 1 : -1;
    }
    return strverscmp(idb, ida);
}

void rundir_list_free(char **dirs, int count)
{
    for (int i = 0; dirs && i < count; i++)
        free(dirs[i]);
    free(dirs);
}

bool rundir_list(char ***dirs, int *count, struct error *e)
{
    *dirs = NULL, *count = 0;
    char root[PATH_MAX];
    if (!runs_root(root, e))
        return false;
    DIR *folder = opendir(root);
    if (!folder)
        return error_errno(e, ERROR_FAILED, "the folder of runs %s cannot be read", root);
    int room = 0;
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(folder));) {
        char dir[PATH_MAX];
        if (entry->d_name[0] == '.' || !path_join(dir, root, entry->d_name, NULL) || !is_run(dir))
            continue;
        if (*count == room) {
            room = room ? 2 * room : 64;
            char **grown = realloc(*dirs, (size_t)room * sizeof *grown);
            ok = grown != NULL;
            if (ok)
                *dirs = grown;
        }
        if (ok)
            ok = ((*dirs)[*count] = strdup(dir)) != NULL;
        if (ok)
            ++*count;
    }
    closedir(folder);
    if (!ok) {
        rundir_list_free(*dirs, *count);
        *dirs = NULL, *count = 0;
        return error_set(e, ERROR_FAILED, "out of memory while listing the runs");
    }
    if (*count > 1)
        qsort(*dirs, (size_t)*count, sizeof **dirs, newest_first);
    return true;
}

/* Whether a person started it: neither an exercise's check nor asked for by another run's script. */
static bool started_by_hand(const char *dir)
{
    json_t *job = rundir_read_json(dir, "job.json", NULL);
    bool by_hand =
        job && strcmp(event_text(job, "kind", ""), "check") != 0 && !*event_text(job, "parent", "");
    json_decref(job);
    return by_hand;
}

/* How well a name fits an id, best first; the label comes after the stamp and may have got a number ("-2"). */
enum fit { FIT_ID, FIT_LABEL, FIT_BEGIN, FIT_PART, FITS };

static bool fits(const char *id, const char *name, enum fit fit)
{
    size_t length = strlen(name);
    const char *label = strlen(id) > STAMP && id[STAMP] == '-' ? id + STAMP + 1 : "";
    switch (fit) {
    case FIT_ID: return !strcmp(id, name);
    case FIT_LABEL:
        if (strncmp(label, name, length) != 0)
            return false;
        label += length;
        return !*label || (*label == '-' && label[1] && strspn(label + 1, "0123456789") == strlen(label + 1));
    case FIT_BEGIN: return !strncmp(id, name, length);
    default: return strstr(id, name) != NULL;
    }
}

static bool find_in_list(const char *name, char **dirs, int count, char dir[PATH_MAX], struct error *e)
{
    if (!strcmp(name, "last")) {
        if (count == 0)
            return error_set(e, ERROR_INPUT, "there is no run yet; 'ringside train' starts one");
        int pick = 0;
        while (pick < count && !started_by_hand(dirs[pick]))
            pick++;
        return path_join(dir, dirs[pick < count ? pick : 0], "", e);
    }
    for (enum fit fit = FIT_ID; fit < FITS; fit++) {
        int found = -1, matches = 0;
        char names[256] = "";
        for (int i = 0; i < count; i++) {
            const char *id = rundir_id(dirs[i]);
            if (!fits(id, name, fit))
                continue;
            found = i;
            if (++matches <= 3) {
                size_t used = strlen(names);
                snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", id);
            }
        }
        if (matches == 1)
            return path_join(dir, dirs[found], "", e);
        if (matches > 1)
            return error_set(e, ERROR_INPUT, "'%s' may mean %d runs (%s%s); give more of the id", name,
                             matches, names, matches > 3 ? ", ..." : "");
    }
    return error_set(e, ERROR_INPUT, "there is no run '%s'; 'ringside runs list' shows the ids", name);
}

bool rundir_find(const char *name, char dir[PATH_MAX], struct error *e)
{
    if (!*name)
        return error_set(e, ERROR_INPUT, "a run is named by its id, a part of it, its path, or 'last'");
    bool found;
    if (strchr(name, '/')) {
        if (!is_run(name))
            return error_set(e, ERROR_INPUT, "%s is not a run: there is no job.json in it", name);
        found = realpath(name, dir) != NULL;
        if (!found)
            error_errno(e, ERROR_INPUT, "%s cannot be opened", name);
        return found;
    }
    char **dirs;
    int count;
    if (!rundir_list(&dirs, &count, e))
        return false;
    found = find_in_list(name, dirs, count, dir, e);
    rundir_list_free(dirs, count);
    return found || (is_run(name) && realpath(name, dir)); /* or a folder here, given without a slash */
}

/* Whether it trains or has trained: a run of --eval only tests, and a replay is another run's events. */
static bool trained(const char *dir)
{
    char replay[PATH_MAX];
    json_t *job = rundir_read_json(dir, "job.json", NULL);
    bool yes = job && !strcmp(event_text(job, "kind", ""), "train") &&
               !*event_text(json_object_get(job, "train"), "eval", "") &&
               path_join(replay, dir, "replay.json", NULL) && access(replay, F_OK) != 0;
    json_decref(job);
    return yes;
}

bool rundir_find_trained(const char *name, char dir[PATH_MAX], struct error *e)
{
    if (strcmp(name, "last") != 0)
        return rundir_find(name, dir, e);
    char **dirs;
    int count, pick = 0;
    if (!rundir_list(&dirs, &count, e))
        return false;
    while (pick < count && !trained(dirs[pick]))
        pick++;
    bool found = pick < count
                     ? path_join(dir, dirs[pick], "", e)
                     : error_set(e, ERROR_INPUT, "no run has trained yet; 'ringside train' starts one");
    rundir_list_free(dirs, count);
    return found;
}

/* Removes what is in an open folder; does not follow links. */
static bool remove_inside(int folder, struct error *e)
{
    DIR *list = fdopendir(folder);
    if (!list) {
        close(folder);
        return error_errno(e, ERROR_FAILED, "a folder of the run cannot be read");
    }
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(list));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (unlinkat(dirfd(list), entry->d_name, 0) == 0)
            continue;
        int inner = openat(dirfd(list), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        ok = inner >= 0 && remove_inside(inner, e) && unlinkat(dirfd(list), entry->d_name, AT_REMOVEDIR) == 0;
        if (!ok)
            error_errno(e, ERROR_FAILED, "%s cannot be removed", entry->d_name);
    }
    closedir(list);
    return ok;
}

/* Links in runs_root that lead to a folder which is gone. */
static void remove_dead_links(void)
{
    char root[PATH_MAX], path[PATH_MAX];
    DIR *folder = runs_root(root, NULL) ? opendir(root) : NULL;
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct stat st;
        if (path_join(path, root, entry->d_name, NULL) && lstat(path, &st) == 0 && S_ISLNK(st.st_mode) &&
            stat(path, &st) != 0 && errno == ENOENT)
            unlink(path);
    }
    closedir(folder);
}

bool rundir_delete(const char *dir, struct error *e)
{
    if (!is_run(dir))
        return error_set(e, ERROR_INPUT, "%s is not a run: there is no job.json in it", dir);
    char real[PATH_MAX];
    if (!realpath(dir, real))
        return error_errno(e, ERROR_FAILED, "%s cannot be found", dir);
    int folder = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return error_errno(e, ERROR_FAILED, "%s cannot be opened", dir);
    if (!remove_inside(folder, e))
        return error_wrap(e, "%s could not be deleted", rundir_id(dir));
    if (rmdir(real) != 0)
        return error_errno(e, ERROR_FAILED, "%s could not be deleted", rundir_id(dir));
    remove_dead_links();
    return true;
}
