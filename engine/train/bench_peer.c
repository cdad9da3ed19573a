#include "engine/train/bench_peer.h"

#include "engine/base/paths.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Importing PyTorch from a slow disk takes its time. */
#define READY_MS 60000
enum { ANSWER_MS = 120000 };

struct bench_peer {
    pid_t pid;
    FILE *to;
    int from;
    char name[48];
    bool slow;
};

/* Runs one of the known Pythons with these words; the ends of its pipes come back. False: it cannot be started. */
static bool start(const char *python, const char *script, int threads, int batch, struct bench_peer *p)
{
    int in[2], out[2];
    char threads_text[16], batch_text[16];
    snprintf(threads_text, sizeof threads_text, "%d", threads);
    snprintf(batch_text, sizeof batch_text, "%d", batch);
    /* What keeps ranks from spinning is not for the peer: it runs as it would by itself. */
    char *words[] = {"env",
                     "-u",
                     "GOMP_SPINCOUNT",
                     "-u",
                     "OMP_NUM_THREADS",
                     "-u",
                     "OMP_WAIT_POLICY",
                     (char *)python,
                     (char *)script,
                     "--serve",
                     threads_text,
                     batch_text,
                     NULL};
    if (pipe(in) != 0)
        return false;
    if (pipe(out) != 0) {
        close(in[0]), close(in[1]);
        return false;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    for (int fd = 3; fd < 64;
         fd++) /* MPI's descriptors and the other ends: it must see the end of its input */
        posix_spawn_file_actions_addclose(&actions, fd);
    /* The ranks block SIGTERM for a thread of theirs to take. */
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int failed = posix_spawnp(&p->pid, words[0], &actions, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]), close(out[1]);
    p->from = out[0];
    p->to = failed ? NULL : fdopen(in[1], "w");
    if (failed)
        close(in[1]);
    return !failed && p->to;
}

/* One line of an answer; false where none comes in time. */
static bool answer(struct bench_peer *p, char *line, size_t size, int timeout_ms)
{
    for (size_t n = 0; n + 1 < size;) {
        struct pollfd wait = {.fd = p->from, .events = POLLIN};
        int ready = poll(&wait, 1, timeout_ms);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0 || read(p->from, line + n, 1) != 1)
            return false;
        if (line[n] == '\n') {
            line[n] = 0;
            return true;
        }
        n++;
    }
    return false;
}

static bool greet(struct bench_peer *p, const json_t *description)
{
    char line[128], version[32], blas[32];
    char *text = json_dumps(description, JSON_COMPACT);
    bool ok = text && fprintf(p->to, "%s\n", text) > 0 && fflush(p->to) == 0 &&
              answer(p, line, sizeof line, READY_MS) &&
              sscanf(line, "ready %31s %*s %31s", version, blas) == 2;
    if (ok) {
        snprintf(p->name, sizeof p->name, "PyTorch %.30s", version);
        p->slow = !strcmp(blas, "reference");
    }
    free(text);
    return ok;
}

struct bench_peer *bench_peer_open(const json_t *description, int threads, int batch, struct error *e)
{
    /* The first in PATH, and the system's own, which distributions' packages belong to. */
    static const char *const pythons[] = {"python3", "/usr/bin/python3"};
    char data[PATH_MAX], script[PATH_MAX];
    if (!path_data(data, e) || !path_join(script, data, "exercises/models/torch_twin.py", e))
        return NULL;
    for (size_t i = 0; i < sizeof pythons / sizeof *pythons; i++) {
        struct bench_peer *p = calloc(1, sizeof *p);
        if (!p)
            break;
        p->from = -1;
        if (start(pythons[i], script, threads, batch, p) && greet(p, description))
            return p;
        bench_peer_close(p);
    }
    error_set(e, ERROR_MISSING,
              "there is no peer to compare the training step with: neither python3 nor /usr/bin/python3 has "
              "PyTorch (Debian: apt install python3-torch)");
    return NULL;
}

void bench_peer_close(struct bench_peer *p)
{
    if (!p)
        return;
    if (p->to)
        fclose(p->to); /* the end of its input is its end */
    if (p->from >= 0)
        close(p->from);
    if (p->pid > 0) {
        kill(p->pid, SIGTERM); /* it may still be importing */
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    free(p);
}

bool bench_peer_run(struct bench_peer *p, double seconds, long *samples, double *taken, struct error *e)
{
    char line[128];
    if (fprintf(p->to, "%g\n", seconds) > 0 && fflush(p->to) == 0 &&
        answer(p, line, sizeof line, ANSWER_MS) && sscanf(line, "%ld %lf", samples, taken) == 2)
        return true;
    return error_set(e, ERROR_FAILED, "%s ended without an answer; the run's log says more", p->name);
}

bool bench_peer_is_slow(const struct bench_peer *p)
{
    return p->slow;
}

const char *bench_peer_name(const struct bench_peer *p)
{
    return p->name;
}
