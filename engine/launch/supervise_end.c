/*
 * supervise_end.c - how a run ended, in one sentence, and the last lines of its stream.
 */
#include "engine/launch/supervisor.h"

#include "engine/base/event.h"
#include "engine/base/paths.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The rank that mpirun names, with its signal; the ranks themselves may have told of it, without. */
static void name_dead_rank(struct supervisor *s)
{
    const struct mpirun_log *m = &s->mpirun;
    bool told = s->fault_rank >= 0;
    if (s->cancelled || !m->found || m->rank < 0 || s->stage >= STAGE_TERM)
        return;
    if (told && (s->fault_rank != m->rank || !m->signal))
        return;
    if (m->signal == 0 && *s->sentence)
        return; /* it ended by itself, with a sentence */
    char text[512], tail[300] = "";
    const char *host = *m->host ? m->host : s->status.host;
    if (m->signal) {
        const char *name = strsignal(m->signal);
        snprintf(text, sizeof text, "rank %d on %.64s was ended by signal %d (%s): %s", m->rank, host,
                 m->signal, name,
                 m->signal == SIGKILL ? "somebody killed it, or the host ran out of memory"
                 : m->signal == SIGTERM || m->signal == SIGINT || m->signal == SIGHUP
                     ? "somebody asked it to end"
                     : "the program has a fault; the log says more");
    } else {
        runlog_tail(&s->log, tail, sizeof tail);
        snprintf(text, sizeof text, "rank %d on %.64s ended with exit code %d; the log is %.300s/log",
                 m->rank, host, m->exit_code, s->dir);
    }
    if (told)
        snprintf(s->sentence, sizeof s->sentence, "%s%s%s", text,
                 *s->waiting_for ? "; the others wait for: " : "", s->waiting_for);
    else
        supervisor_fault(s, m->rank, m->host, "dead", s->waiting_for, text);
}

static void explain_failure(struct supervisor *s)
{
    if (*s->sentence)
        return;
    char tail[300], how[64];
    runlog_tail(&s->log, tail, sizeof tail);
    if (WIFSIGNALED(s->worker.status))
        snprintf(how, sizeof how, "was ended by signal %d (%s)", WTERMSIG(s->worker.status),
                 strsignal(WTERMSIG(s->worker.status)));
    else
        snprintf(how, sizeof how, "ended with exit code %d", WEXITSTATUS(s->worker.status));
    snprintf(s->sentence, sizeof s->sentence, "%s %s%s%s", rundir_id(s->plan->argv[0]), how,
             *tail ? "; its last words: " : " without a word", tail);
}

/* Checkpoints that were being written when their rank was killed. All ranks are gone: nobody writes them now. */
static void remove_unfinished(const struct supervisor *s)
{
    char folder[PATH_MAX];
    DIR *list = path_join(folder, s->dir, "checkpoints", NULL) ? opendir(folder) : NULL;
    if (!list)
        return;
    for (struct dirent *entry; (entry = readdir(list));) {
        size_t length = strlen(entry->d_name), suffix = strlen(".part");
        if (length > suffix && !strcmp(entry->d_name + length - suffix, ".part"))
            unlinkat(dirfd(list), entry->d_name, 0);
    }
    closedir(list);
}

bool supervisor_conclude(struct supervisor *s)
{
    if (s->plan->ranks > 0) {
        name_dead_rank(s);
        remove_unfinished(s);
    }
    bool exited_well = s->worker.ended && WIFEXITED(s->worker.status) && WEXITSTATUS(s->worker.status) == 0;
    /* A check's "no", or the recording of a run that failed: it ran to its end all the same. */
    bool answered = s->done && s->worker.ended && WIFEXITED(s->worker.status);
    bool ok = exited_well && json_object_get(s->done, "ok") != json_false() && !s->stream_broken;
    enum run_state state = ok ? RUN_DONE : RUN_FAILED;
    if ((s->plan->check || s->plan->replay) && answered && !s->stream_broken && s->stage == STAGE_RUN)
        state = RUN_DONE;
    if (s->cancelled && !s->stream_broken) {
        state = RUN_CANCELLED, ok = false;
        snprintf(s->sentence, sizeof s->sentence, "stopped on request");
    }
    if (s->stage >= STAGE_TERM && !s->cancelled)
        ok = false, state = RUN_FAILED;
    if (state == RUN_FAILED)
        explain_failure(s);
    else if (state == RUN_DONE)
        s->sentence[0] = 0;
    snprintf(s->status.reason, sizeof s->status.reason, "%.255s", s->sentence);

    stream_release_reserve(&s->stream);
    s->stream_broken = false; /* the last words are tried again */
    supervisor_append(s, supervisor_job_event(state, -1, s->sentence));
    json_t *done = s->done ? s->done : event_new("done", -1);
    s->done = NULL;
    json_object_set_new(done, "ok", json_boolean(ok));
    if (!s->plan->replay) {
        json_object_del(done, "t");
        event_set_number(done, "wall_s", stream_now(&s->stream));
    }
    supervisor_append(s, done);
    supervisor_beat(s, state);
    return ok;
}
