#include "engine/base/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The tests of the build tree lie up to three folders below the programs. */
enum { LEVELS_UP = 4 };

/* The folder of the running program. */
static bool program_folder(char folder[PATH_MAX], struct error *e)
{
    ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (n <= 0)
        return error_errno(e, ERROR_FAILED, "the program cannot find its own file (/proc/self/exe)");
    folder[n] = 0;
    char *slash = strrchr(folder, '/');
    if (slash)
        *(slash == folder ? slash + 1 : slash) = 0;
    return true;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Cuts the last part off a path; false at the root. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return false;
    *slash = 0;
    return true;
}

bool path_join(char out[PATH_MAX], const char *a, const char *b, struct error *e)
{
    size_t length = strlen(a);
    const char *between = !*b || (length && a[length - 1] == '/') ? "" : "/"; /* nothing to add: a as it is */
    char joined[PATH_MAX];
    int n = snprintf(joined, sizeof joined, "%s%s%s", a, between, b);
    if (n < 0 || n >= PATH_MAX)
        return error_set(e, ERROR_INPUT, "the path %.60s.../%.60s is longer than this system allows", a, b);
    memcpy(out, joined, (size_t)n + 1);
    return true;
}

bool path_data(char path[PATH_MAX], struct error *e)
{
    const char *given = getenv("RINGSIDE_DATA");
    char probe[PATH_MAX], folder[PATH_MAX];
    if (given && *given) {
        if (!path_join(probe, given, "exercises", e))
            return false;
        if (!is_folder(probe))
            return error_set(e, ERROR_MISSING,
                             "RINGSIDE_DATA is %s, but there is no folder %s; unset it or correct it", given,
                             probe);
        return path_join(path, given, "", e);
    }
    if (!program_folder(folder, e))
        return false;
    char up[PATH_MAX];
    memcpy(up, folder, strlen(folder) + 1);
    for (int level = 0; level < LEVELS_UP && go_up(up); level++) {
        static const char *const places[] = {"share/ringside", ""};
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            char data[PATH_MAX];
            if (!path_join(data, up, places[i], e) || !path_join(probe, data, "exercises", e))
                return false;
            if (is_folder(probe)) {
                memcpy(path, data, strlen(data) + 1);
                return true;
            }
        }
    }
    return error_set(
        e, ERROR_MISSING,
        "the course (folders lessons and exercises) is not beside %s; install ringside again, or set "
        "RINGSIDE_DATA to the folder that holds them",
        folder);
}

bool path_locale(char path[PATH_MAX], struct error *e)
{
    static const char *const places[] = {"locale", "share/locale"};
    char up[PATH_MAX], folder[PATH_MAX];
    if (!program_folder(up, e))
        return false;
    for (int level = 0; level < LEVELS_UP; level++) {
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            if (path_join(folder, up, places[i], NULL) && is_folder(folder)) {
                memcpy(path, folder, strlen(folder) + 1);
                return true;
            }
        if (!go_up(up))
            break;
    }
    return error_set(e, ERROR_MISSING,
                     "there are no translations beside the program; it was built without msgfmt");
}

bool path_program(const char *name, char path[PATH_MAX], struct error *e)
{
    char folder[PATH_MAX], up[PATH_MAX], probe[PATH_MAX];
    if (!program_folder(folder, e))
        return false;
    memcpy(up, folder, strlen(folder) + 1);
    for (int level = 0; level < LEVELS_UP; level++) {
        struct stat st;
        if (!path_join(probe, up, name, e))
            return false;
        if (access(probe, X_OK) == 0 && stat(probe, &st) == 0 && S_ISREG(st.st_mode)) {
            memcpy(path, probe, strlen(probe) + 1);
            return true;
        }
        if (!go_up(up))
            break;
    }
    return error_set(e, ERROR_MISSING,
                     "the program %s is not in %s; build it with 'make', or install ringside again", name,
                     folder);
}

bool path_make(const char *path, struct error *e)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof part)
        return error_set(e, ERROR_INPUT, "the path %.60s... is longer than this system allows", path);
    if (is_folder(path))
        return true;
    memcpy(part, path, length + 1);
    for (char *p = part + 1;; p++) {
        if (*p && *p != '/')
            continue;
        char at = *p;
        *p = 0;
        if (mkdir(part, 0777) != 0) {
            int saved = errno;
            if (!is_folder(part)) {
                errno = saved == EEXIST ? ENOTDIR : saved;
                return error_errno(e, ERROR_FAILED, "the folder %s cannot be made", part);
            }
        }
        *p = at;
        if (!at)
            return true;
    }
}
