/*
 * present_state.c - writes, lists and reads the files.
 */
#include "tui/present_state.h"

#include "engine/base/event.h"
#include "engine/base/files.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool folder(char path[PATH_MAX], struct error *e)
{
    char home[PATH_MAX];
    return ringside_home(home, e) && path_join(path, home, "present", e) && path_make(path, e);
}

/* FILE.json with another ending; false: FILE is no such name. */
static bool beside(const char *file, const char *ending, char path[PATH_MAX])
{
    size_t length = strlen(file), room = strlen(ending) + 1;
    if (length < 5 || strcmp(file + length - 5, ".json") != 0 || length - 5 + room > PATH_MAX)
        return false;
    memcpy(path, file, length - 5);
    memcpy(path + length - 5, ending, room);
    return true;
}

/* Whole or not at all: a reader never sees half of it. */
static bool replace(const char *path, const json_t *object, struct error *e)
{
    char temporary[PATH_MAX + 32];
    snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
    if (json_dump_file(object, temporary, JSON_COMPACT) == 0 && rename(temporary, path) == 0)
        return true;
    error_errno(e, ERROR_FAILED, "%s cannot be written, so nothing can follow this presentation", path);
    unlink(temporary);
    return false;
}

static bool of_this_host(const struct present_state *s)
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    return !strcmp(host, s->host);
}

static bool process_gone(const struct present_state *s)
{
    return of_this_host(s) && (s->pid <= 0 || (kill((pid_t)s->pid, 0) != 0 && errno == ESRCH));
}

bool present_state_lost(const struct present_state *s, double now)
{
    return of_this_host(s) ? process_gone(s) : now - s->beat > PRESENT_LOST_S;
}

static void remove_files(const struct present_state *s)
{
    char want[PATH_MAX];
    unlink(s->file);
    if (beside(s->file, ".want", want))
        unlink(want);
}

bool present_state_begin(struct present_state *s, struct error *e)
{
    struct present_state list[PRESENT_MAX];
    char path[PATH_MAX], name[128];
    int count = present_state_list(list);
    for (int i = 0; i < count; i++)
        if (process_gone(&list[i]))
            remove_files(&list[i]);
    gethostname(s->host, sizeof s->host - 1);
    s->pid = getpid();
    snprintf(name, sizeof name, "%s-%ld.json", s->host, s->pid);
    return folder(path, e) && path_join(s->file, path, name, e);
}

bool present_state_write(struct present_state *s, double now, struct error *e)
{
    if (!*s->file)
        return true;
    s->beat = now;
    json_t *object = json_object();
    event_set_text(object, "lesson", s->lesson);
    event_set_text(object, "host", s->host);
    event_set_integer(object, "pid", s->pid);
    event_set_integer(object, "slide", s->slide);
    event_set_integer(object, "slides", s->slides);
    json_object_set_new(object, "blank", json_boolean(s->blank));
    event_set_number(object, "started", s->started);
    event_set_number(object, "beat", s->beat);
    bool ok = replace(s->file, object, e);
    json_decref(object);
    return ok;
}

void present_state_end(struct present_state *s)
{
    if (*s->file)
        remove_files(s);
    s->file[0] = '\0';
}

bool present_state_read(const char *file, struct present_state *s)
{
    json_t *object = file_json(file, NULL);
    if (!json_is_object(object)) {
        json_decref(object);
        return false;
    }
    *s = (struct present_state){.pid = (long)event_integer(object, "pid", 0),
                                .slide = (int)event_integer(object, "slide", 0),
                                .slides = (int)event_integer(object, "slides", 0),
                                .blank = json_is_true(json_object_get(object, "blank")),
                                .started = event_number(object, "started", 0),
                                .beat = event_number(object, "beat", 0)};
    snprintf(s->file, sizeof s->file, "%s", file);
    snprintf(s->lesson, sizeof s->lesson, "%s", event_text(object, "lesson", ""));
    snprintf(s->host, sizeof s->host, "%s", event_text(object, "host", ""));
    json_decref(object);
    return *s->lesson != '\0';
}

static int newest_first(const void *a, const void *b)
{
    const struct present_state *x = a, *y = b;
    return (x->started < y->started) - (x->started > y->started);
}

int present_state_list(struct present_state list[PRESENT_MAX])
{
    char path[PATH_MAX], file[PATH_MAX];
    int count = 0;
    DIR *dir = folder(path, NULL) ? opendir(path) : NULL;
    for (struct dirent *entry; dir && count < PRESENT_MAX && (entry = readdir(dir));) {
        const char *ending = strrchr(entry->d_name, '.');
        if (ending && !strcmp(ending, ".json") && path_join(file, path, entry->d_name, NULL) &&
            present_state_read(file, &list[count]))
            count++;
    }
    if (dir)
        closedir(dir);
    qsort(list, (size_t)count, sizeof *list, newest_first);
    return count;
}

bool present_want_write(const struct present_state *s, const struct present_want *want, struct error *e)
{
    char path[PATH_MAX];
    if (!beside(s->file, ".want", path))
        return error_set(e, ERROR_FAILED, "there is no presentation to steer");
    json_t *object = json_object();
    event_set_integer(object, "slide", want->slide);
    event_set_integer(object, "blank", want->blank);
    json_object_set_new(object, "restart", json_boolean(want->restart));
    bool ok = replace(path, object, e);
    json_decref(object);
    return ok;
}

bool present_want_take(const struct present_state *s, struct present_want *want)
{
    char path[PATH_MAX], taken[PATH_MAX];
    /* Moved aside first: what the notes write meanwhile is not lost. */
    if (!beside(s->file, ".want", path) || !beside(s->file, ".taken", taken) || rename(path, taken) != 0)
        return false;
    json_t *object = file_json(taken, NULL);
    unlink(taken);
    *want = (struct present_want){.slide = (int)event_integer(object, "slide", -1),
                                  .blank = (int)event_integer(object, "blank", -1),
                                  .restart = json_is_true(json_object_get(object, "restart"))};
    json_decref(object);
    return true;
}
