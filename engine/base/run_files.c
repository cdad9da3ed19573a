/*
 * run_files.c - the small files of a run: written whole or not at all, read with a sentence where they are
 * wrong.
 */
#include "engine/base/event.h"
#include "engine/base/files.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const state_names[] = {
    [RUN_PENDING] = "pending", [RUN_RUNNING] = "running",     [RUN_DONE] = "done",
    [RUN_FAILED] = "failed",   [RUN_CANCELLED] = "cancelled", [RUN_LOST] = "lost",
};
enum { STATES = sizeof state_names / sizeof *state_names };

const char *run_state_name(enum run_state state)
{
    return (unsigned)state < STATES ? state_names[state] : "unknown";
}

bool run_state_ended(enum run_state state)
{
    return state != RUN_PENDING && state != RUN_RUNNING;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, text, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        length -= (size_t)n;
    }
    return true;
}

static bool write_whole(const char *dir, const char *file, const char *text, bool sync, struct error *e)
{
    char path[PATH_MAX], fresh[PATH_MAX], name[NAME_MAX];
    snprintf(name, sizeof name, ".%.100s.%ld", file, (long)getpid());
    if (!path_join(path, dir, file, e) || !path_join(fresh, dir, name, e))
        return false;
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return error_errno(e, ERROR_FAILED, "%s cannot be written", path);
    bool ok = write_all(fd, text, strlen(text)) && (!sync || fsync(fd) == 0);
    int saved = errno;
    if (close(fd) != 0 && ok)
        ok = false, saved = errno; /* a network filesystem may say only now that the disk is full */
    if (ok && rename(fresh, path) != 0)
        ok = false, saved = errno;
    if (!ok) {
        unlink(fresh);
        errno = saved;
        return error_errno(e, ERROR_FAILED, "%s cannot be written", path);
    }
    return true;
}

bool rundir_write(const char *dir, const char *file, const char *text, struct error *e)
{
    return write_whole(dir, file, text, true, e);
}

json_t *rundir_read_json(const char *dir, const char *file, struct error *e)
{
    char path[PATH_MAX];
    return path_join(path, dir, file, e) ? file_json(path, e) : NULL;
}

bool run_status_write(const char *dir, const struct run_status *status, struct error *e)
{
    json_t *object = json_object();
    event_set_text(object, "state", run_state_name(status->state));
    event_set_text(object, "host", status->host);
    event_set_integer(object, "pid", status->pid);
    event_set_number(object, "started", status->started);
    event_set_number(object, "heartbeat", status->heartbeat);
    event_set_integer(object, "version", status->version);
    event_set_text(object, "reason", status->reason);
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    json_decref(object);
    if (!text)
        return error_set(e, ERROR_FAILED, "the run's status cannot be written: out of memory");
    /* A heartbeat is replaced two seconds later: only the last word is worth a disk's flush. */
    bool ok = write_whole(dir, "status.json", text, run_state_ended(status->state), e);
    free(text);
    return ok;
}

bool run_status_read(const char *dir, struct run_status *status, struct error *e)
{
    *status = (struct run_status){0};
    json_t *object = rundir_read_json(dir, "status.json", e);
    if (!object)
        return false;
    const char *name = event_text(object, "state", "");
    int state = 0;
    while (state < STATES && strcmp(name, state_names[state]) != 0)
        state++;
    if (state == STATES) {
        error_set(e, ERROR_INPUT, "%s/status.json: unknown state '%s'", dir, name);
        json_decref(object);
        return false;
    }
    status->state = (enum run_state)state;
    snprintf(status->host, sizeof status->host, "%s", event_text(object, "host", ""));
    snprintf(status->reason, sizeof status->reason, "%s", event_text(object, "reason", ""));
    status->pid = (long)event_integer(object, "pid", 0);
    status->started = event_number(object, "started", 0);
    status->heartbeat = event_number(object, "heartbeat", 0);
    status->version = (int)event_integer(object, "version", 0);
    json_decref(object);
    if (run_state_ended(status->state))
        return true;
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    bool gone =
        !strcmp(host, status->host) && status->pid > 0 && kill((pid_t)status->pid, 0) != 0 && errno == ESRCH;
    bool stale = now() - status->heartbeat > RUN_STALE_S;
    if (gone || stale) {
        status->state = RUN_LOST;
        status->gone = gone;
        snprintf(status->reason, sizeof status->reason, "its supervisor (process %ld on %s) %s", status->pid,
                 status->host, gone ? "is gone" : "gives no sign of life");
    }
    return true;
}

bool run_status_look(const char *dir, struct run_status *status)
{
    char path[PATH_MAX];
    struct error e = {0};
    if (run_status_read(dir, status, &e))
        return true;
    if (!path_join(path, dir, "status.json", NULL) || access(path, F_OK) != 0)
        return false;
    size_t folder = strlen(dir);
    const char *why = !strncmp(e.text, dir, folder) && e.text[folder] == '/' ? e.text + folder + 1 : e.text;
    *status = (struct run_status){.state = RUN_LOST};
    snprintf(status->reason, sizeof status->reason, "%.*s", (int)sizeof status->reason - 1, why);
    return true;
}

bool rundir_request_stop(const char *dir, struct error *e)
{
    char path[PATH_MAX];
    if (!path_join(path, dir, "stop", e))
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0)
        return error_errno(e, ERROR_FAILED, "the run cannot be asked to stop: %s", path);
    close(fd);
    return true;
}

bool rundir_stop_requested(const char *dir)
{
    char path[PATH_MAX];
    return path_join(path, dir, "stop", NULL) && access(path, F_OK) == 0;
}

bool rundir_request_bucket(const char *dir, long bytes, struct error *e)
{
    char text[32];
    snprintf(text, sizeof text, "%ld\n", bytes);
    return rundir_write(dir, "bucket", text, e);
}

long rundir_bucket_requested(const char *dir)
{
    char path[PATH_MAX], text[32], *end;
    FILE *f = path_join(path, dir, "bucket", NULL) ? file_stream(path, sizeof text, NULL) : NULL;
    bool got = f && fgets(text, sizeof text, f);
    if (f)
        fclose(f);
    long bytes = got ? strtol(text, &end, 10) : -1;
    return got && end > text && bytes >= 0 ? bytes : -1;
}

void rundir_note_attached(const char *dir, long step)
{
    char path[PATH_MAX], host[64] = "";
    if (!path_join(path, dir, "attached.jsonl", NULL))
        return;
    gethostname(host, sizeof host - 1);
    json_t *note = json_object();
    event_set_integer(note, "pid", getpid());
    event_set_text(note, "host", host);
    event_set_number(note, "time", now());
    event_set_integer(note, "step", step);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd >= 0) {
        event_write(fd, note, NULL);
        close(fd);
    } else {
        json_decref(note);
    }
}
