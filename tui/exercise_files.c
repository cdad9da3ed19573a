#include "tui/exercise_files.h"

#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "tui/markdown.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whole or not at all: written beside, flushed, renamed. */
static bool copy_file(const char *from, const char *to, struct error *e)
{
    char *text = markdown_read(from, e), part[PATH_MAX + 8];
    if (!text)
        return false;
    snprintf(part, sizeof part, "%s.part", to);
    size_t length = strlen(text);
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool ok = fd >= 0 && write(fd, text, length) == (ssize_t)length && fsync(fd) == 0;
    if (fd >= 0 && close(fd) != 0)
        ok = false;
    ok = ok && rename(part, to) == 0;
    if (!ok) {
        error_errno(e, ERROR_FAILED, "%s cannot be written", to);
        unlink(part);
    }
    free(text);
    return ok;
}

bool exercise_files_open(struct exercise_files *x, const char *name, struct error *e)
{
    char data[PATH_MAX], all[PATH_MAX], home[PATH_MAX], work[PATH_MAX], lua[80], starter[PATH_MAX];
    struct stat st;
    *x = (struct exercise_files){0};
    if (!name || !*name || strlen(name) >= sizeof x->name || strchr(name, '/') || name[0] == '.')
        return error_set(e, ERROR_INPUT, "'%s' is no exercise; 'ringside exercise list' shows them",
                         name ? name : "");
    snprintf(x->name, sizeof x->name, "%s", name);
    if (!path_data(data, e) || !path_join(all, data, "exercises", e) || !path_join(x->folder, all, name, e))
        return false;
    if (stat(x->folder, &st) != 0 || !S_ISDIR(st.st_mode))
        return error_set(e, ERROR_INPUT, "there is no exercise '%s'; 'ringside exercise list' shows them",
                         name);
    snprintf(lua, sizeof lua, "%s.lua", name);
    if (!ringside_home(home, e) || !path_join(work, home, "work", e) || !path_make(work, e) ||
        !path_join(x->file, work, lua, e) || !path_join(starter, x->folder, "start.lua", e))
        return false;
    return stat(x->file, &st) == 0 || copy_file(starter, x->file, e);
}

bool exercise_files_reset(const struct exercise_files *x, char backup[PATH_MAX], struct error *e)
{
    char starter[PATH_MAX];
    if (!path_join(starter, x->folder, "start.lua", e))
        return false;
    for (int i = 1; i < 1000; i++) {
        struct stat st;
        if (snprintf(backup, PATH_MAX, "%s.%d", x->file, i) >= PATH_MAX)
            return error_set(e, ERROR_FAILED, "the path of a backup of %s is too long", x->file);
        if (stat(backup, &st) == 0)
            continue;
        return copy_file(x->file, backup, e) && copy_file(starter, x->file, e);
    }
    return error_set(e, ERROR_FAILED, "there are 999 backups of %s already: delete some", x->file);
}

int exercise_files_hints(const struct exercise_files *x, char *hints[EXERCISE_MAX_HINTS])
{
    char path[PATH_MAX];
    char *text = path_join(path, x->folder, "hints.md", NULL) ? markdown_read(path, NULL) : NULL;
    int count = 0;
    if (!text)
        return 0;
    const char *at = !strncmp(text, "## ", 3) ? text : strstr(text, "\n## ");
    while (at && count < EXERCISE_MAX_HINTS) {
        at += *at == '\n';
        const char *next = strstr(at, "\n## ");
        hints[count] = next ? strndup(at, (size_t)(next - at + 1)) : strdup(at);
        if (!hints[count])
            break;
        count++;
        at = next;
    }
    free(text);
    return count;
}
