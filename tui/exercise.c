#include "tui/exercise.h"

#include "engine/base/files.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "tui/course.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool root(char path[PATH_MAX], struct error *e)
{
    char data[PATH_MAX];
    return path_data(data, e) && path_join(path, data, "exercises", e);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_exercise(const char *all, const char *name)
{
    char folder[PATH_MAX], check[PATH_MAX];
    return name[0] != '.' && strlen(name) < sizeof((struct exercise_files *)0)->name &&
           path_join(folder, all, name, NULL) && path_join(check, folder, "check.lua", NULL) &&
           access(check, F_OK) == 0;
}

bool exercise_list(char ***names, int *count, struct error *e)
{
    char all[PATH_MAX];
    *names = NULL;
    *count = 0;
    DIR *folder = root(all, e) ? opendir(all) : NULL;
    if (!folder)
        return error_errno(e, ERROR_MISSING, "the folder of the exercises cannot be read");
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(folder));) {
        if (!is_exercise(all, entry->d_name))
            continue;
        char **more = realloc(*names, (size_t)(*count + 1) * sizeof(char *));
        char *name = strdup(entry->d_name);
        if (more)
            *names = more;
        ok = more && name;
        if (ok)
            (*names)[(*count)++] = name;
        else
            free(name);
    }
    closedir(folder);
    if (!ok) {
        while (*count > 0)
            free((*names)[--*count]);
        free(*names);
        *names = NULL;
        return error_set(e, ERROR_FAILED, "out of memory for the list of exercises");
    }
    if (*count > 0)
        qsort(*names, (size_t)*count, sizeof(char *), by_name);
    return true;
}

void exercise_title(const char *name, char *title, size_t size)
{
    struct course *course = course_load(NULL);
    int i = course_find_exercise(course, name);
    snprintf(title, size, "%s", i >= 0 ? course->lessons[i].title : name);
    course_free(course);
}

bool exercise_learner_file(const char *name, char path[PATH_MAX], struct error *e)
{
    char home[PATH_MAX], work[PATH_MAX], file[80];
    snprintf(file, sizeof file, "%.64s.lua", name);
    return ringside_home(home, e) && path_join(work, home, "work", e) && path_join(path, work, file, e);
}

/* Whether `typed` means `name`: the whole, the number in front (with or without its 0), or a part. */
enum { NO_MATCH, PART, WHOLE };
static int match(const char *typed, const char *name)
{
    size_t digits = strspn(typed, "0123456789");
    if (strcmp(typed, name) == 0)
        return WHOLE;
    if (digits > 0 && typed[digits] == 0 && isdigit((unsigned char)name[0]))
        return atoi(typed) == atoi(name) ? WHOLE : NO_MATCH;
    return *typed && strstr(name, typed) ? PART : NO_MATCH;
}

static bool resolve(const char *typed, char *name, size_t size, struct error *e)
{
    char **names, known[400] = "";
    int count, found = 0, best = NO_MATCH;
    if (!exercise_list(&names, &count, e))
        return false;
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        int m = match(typed, names[i]);
        if (m > best)
            found = 0, best = m;
        if (m == best && m != NO_MATCH && found++ == 0)
            snprintf(name, size, "%s", names[i]);
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", names[i]);
        free(names[i]);
    }
    free(names);
    if (found == 1)
        return true;
    return error_set(e, ERROR_INPUT, "%s exercise '%.60s'; there are: %s",
                     found ? "more than one exercise is meant by" : "there is no", typed, known);
}

bool exercise_find(struct exercise_files *x, const char *name, const char *file, struct error *e)
{
    char all[PATH_MAX];
    *x = (struct exercise_files){0};
    if (!resolve(name, x->name, sizeof x->name, e) || !root(all, e) || !path_join(x->folder, all, x->name, e))
        return false;
    if (!*file)
        return exercise_learner_file(x->name, x->file, e);
    snprintf(x->file, sizeof x->file, "%s", file);
    return true;
}

bool exercise_make_file(const struct exercise_files *x, bool *made, struct error *e)
{
    char folder[PATH_MAX], starter[PATH_MAX], part[PATH_MAX + 8];
    *made = false;
    if (access(x->file, F_OK) == 0)
        return true;
    snprintf(folder, sizeof folder, "%s", x->file);
    char *slash = strrchr(folder, '/');
    if (slash && slash != folder) {
        *slash = 0;
        if (!path_make(folder, e))
            return false;
    }
    if (!path_join(starter, x->folder, "start.lua", e))
        return false;
    snprintf(part, sizeof part, "%s.part", x->file);
    FILE *from = file_stream(starter, 0, NULL), *to = from ? fopen(part, "wb") : NULL;
    char block[4096];
    bool ok = from && to;
    for (size_t n; ok && (n = fread(block, 1, sizeof block, from)) > 0;)
        ok = fwrite(block, 1, n, to) == n;
    ok = ok && !ferror(from) && fflush(to) == 0 && fsync(fileno(to)) == 0;
    if (from)
        fclose(from);
    if (to && fclose(to) != 0)
        ok = false;
    /* link fails where somebody made the file meanwhile: nothing is overwritten. */
    ok = ok && (link(part, x->file) == 0 || errno == EEXIST);
    if (!ok)
        error_errno(e, ERROR_FAILED, "%s cannot be written", x->file);
    if (to)
        unlink(part);
    *made = ok;
    return ok;
}
