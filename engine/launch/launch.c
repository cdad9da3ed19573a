/*
 * launch.c - makes a run's directory and starts its supervisor.
 */
#include "engine/launch/launch.h"

#include "engine/base/event.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "engine/launch/coroutine.h"
#include "engine/launch/lua_host.h"
#include "engine/launch/plan.h"
#include "engine/launch/replay.h"
#include "engine/launch/supervise.h"
#include "engine/spec/data_name.h"
#include "engine/spec/model_lua.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A supervisor answers in milliseconds; a shared filesystem that hangs must not hang the application for
 * ever. */
enum { READY_MS = 30000, READY_FD = 3, SCRIPT_LIMIT = 4 << 20 };

/* --- the supervisor's start --- */

/* In a grandchild of the caller: becomes the supervisor. Only async-signal-safe calls. */
static void become_supervisor(const char *program, const char *dir, int ready)
{
    setsid();
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int i = 1; i < SIGRTMIN; i++)
        sigaction(i, &standard, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (ready == READY_FD)
        fcntl(ready, F_SETFD, 0);
    else
        dup2(ready, READY_FD);
    char fd[] = {'0' + READY_FD, 0};
    char *argv[] = {(char *)"ringside", (char *)"--supervise", (char *)dir, fd, NULL};
    execv(program, argv);
    static const char text[] = "1the run's supervisor (ringside) cannot be started\n";
    if (write(READY_FD, text, sizeof text - 1) < 0)
        _exit(126);
    _exit(127);
}

/* Reads "0\n", or the error's kind and its sentence. */
static bool read_answer(int fd, struct error *e)
{
    char text[sizeof e->text + 16];
    size_t used = 0;
    for (;;) {
        struct pollfd p = {fd, POLLIN, 0};
        int r = poll(&p, 1, READY_MS);
        if (r < 0 && errno == EINTR)
            continue;
        if (r == 0)
            return error_set(e, ERROR_FAILED,
                             "the run's supervisor has not answered for %d s; does the disk hang?",
                             READY_MS / 1000);
        ssize_t n = read(fd, text + used, sizeof text - 1 - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n > 0)
            used += (size_t)n;
        if (n <= 0 || used == sizeof text - 1)
            break;
    }
    text[used] = 0;
    text[strcspn(text, "\n")] = 0;
    if (!strcmp(text, "0"))
        return true;
    if (text[0] >= '1' && text[0] <= '3')
        return error_set(e, (enum error_kind)(text[0] - '0'), "%s", text + 1);
    return error_set(e, ERROR_FAILED, "the run's supervisor ended at its start");
}

/* Twice a fork, so that nobody has to wait for the supervisor. */
static bool start_supervisor(const char *dir, struct error *e)
{
    char program[PATH_MAX];
    int ready[2];
    if (!path_program("ringside", program, e))
        return false;
    if (pipe2(ready, O_CLOEXEC) != 0)
        return error_errno(e, ERROR_FAILED, "no pipe to the run's supervisor");
    pid_t pid = fork();
    if (pid < 0) {
        error_errno(e, ERROR_FAILED, "the run's supervisor cannot be started");
        close(ready[0]), close(ready[1]);
        return false;
    }
    if (pid == 0) {
        if (fork() == 0)
            become_supervisor(program, dir, ready[1]);
        _exit(0);
    }
    close(ready[1]);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    bool ok = read_answer(ready[0], e);
    close(ready[0]);
    return ok;
}

static void close_inherited(int keep)
{
    DIR *list = opendir("/proc/self/fd");
    if (!list)
        return;
    for (struct dirent *entry; (entry = readdir(list));) {
        int fd = atoi(entry->d_name);
        if (fd > 2 && fd != keep && fd != dirfd(list))
            close(fd);
    }
    closedir(list);
}

/* A relative path in the environment is the caller's: ranks begin in the run's directory. */
static void keep_path(const char *variable)
{
    const char *given = getenv(variable);
    char path[PATH_MAX];
    if (given && *given && *given != '/' && realpath(given, path))
        setenv(variable, path, 1);
}

int supervise_main(int argc, char **argv)
{
    const char *dir = argv[0];
    int ready = argc > 1 ? atoi(argv[1]) : -1;
    close_inherited(ready);
    if (ready >= 0)
        fcntl(ready, F_SETFD, FD_CLOEXEC);
    setsid(); /* it is one already, unless somebody calls this by hand */
    struct error e = {0};
    char log[PATH_MAX];
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC), text = -1;
    if (path_join(log, dir, "log", &e))
        text = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (null >= 0)
        dup2(null, 0);
    if (text < 0) {
        error_errno(&e, ERROR_FAILED, "%s cannot be written", log);
    } else {
        dup2(text, 1);
        dup2(text, 2);
    }
    close_inherited(ready);
    struct job job = {0};
    struct plan plan;
    plan_init(&plan);
    int code = 1;
    keep_path("RINGSIDE_CUDA_PLUGIN");
    keep_path("RINGSIDE_DATA");
    if (text >= 0 && chdir(dir) == 0 && job_load(&job, dir, &e) && plan_make(&plan, &job, dir, &e)) {
        code = supervise(dir, &plan, ready);
    } else {
        if (e.kind == ERROR_NONE)
            error_errno(&e, ERROR_FAILED, "%s cannot be entered", dir);
        if (ready >= 0)
            dprintf(ready, "%d%s\n", (int)e.kind, e.text);
    }
    plan_clear(&plan);
    job_clear(&job);
    return code;
}

/* --- the run's directory --- */

/* A path of the caller's as it is from everywhere. */
static bool make_absolute(const char *name, char path[PATH_MAX], struct error *e)
{
    char real[PATH_MAX];
    if (!realpath(path, real))
        return error_errno(e, ERROR_INPUT, "%s: %s cannot be opened", name, path);
    json_t *text = json_string(real); /* as job.json has to hold it */
    if (!text)
        return error_set(e, ERROR_INPUT, "%s: the name of %s is not UTF-8; rename it", name, path);
    json_decref(text);
    memcpy(path, real, strlen(real) + 1);
    return true;
}

static char *read_file(const char *path, struct error *e)
{
    FILE *f = fopen(path, "re");
    char *text = f ? malloc(SCRIPT_LIMIT + 1) : NULL;
    size_t n = text ? fread(text, 1, SCRIPT_LIMIT + 1, f) : 0;
    if (!f || (text && ferror(f)))
        error_errno(e, ERROR_INPUT, "%s cannot be read", path);
    else if (!text || n > SCRIPT_LIMIT)
        error_set(e, ERROR_INPUT, "%s is larger than the %d MiB a script may have", path, SCRIPT_LIMIT >> 20);
    bool ok = f && text && !ferror(f) && n <= SCRIPT_LIMIT;
    if (f)
        fclose(f);
    if (!ok) {
        free(text);
        return NULL;
    }
    text[n] = 0;
    return text;
}

/* The script that ranks run is copied, so that the learner may edit while it runs. */
static bool copy_script(struct job *job, const char *dir, struct error *e)
{
    char *text = read_file(job->rank_script.script, e);
    if (!text)
        return false;
    if (!*job->rank_script.shown)
        snprintf(job->rank_script.shown, sizeof job->rank_script.shown, "%s", job->rank_script.script);
    bool ok =
        rundir_write(dir, "script.lua", text, e) && path_join(job->rank_script.script, dir, "script.lua", e);
    free(text);
    return ok;
}

static bool write_job(const struct job *job, const char *dir, struct error *e)
{
    json_t *object = job_to_json(job);
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(object);
    bool ok = text && rundir_write(dir, "job.json", text, e);
    if (!text)
        error_set(e, ERROR_FAILED, "out of memory");
    free(text);
    return ok;
}

/* Takes away what a failed start has made; never what was there before. */
static void undo(const char *dir)
{
    static const char *const files[] = {"script.lua", "replay.json", "events.jsonl", "status.json",
                                        ".reserve",   "log",         "job.json"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (path_join(path, dir, files[i], NULL))
            unlink(path);
    rmdir(dir);
}

/* Ranks know no Lua: they get the description itself. The name is kept for the eye. */
static bool read_model(json_t **layers, char *name, size_t size, struct error *e)
{
    if (*layers ? !model_check(*layers, e) : !(*layers = model_description(name, e)))
        return false;
    snprintf(name, size, "%s", event_text(*layers, "name", "model"));
    return true;
}

static bool read_job_model(struct job *job, struct error *e)
{
    struct job_train *t = &job->train;
    struct job_bench *b = &job->bench;
    struct job_sim *s = &job->sim;
    switch (job->kind) {
    case JOB_TRAIN: return read_model(&t->layers, t->model, sizeof t->model, e);
    case JOB_BENCH: return read_model(&b->layers, b->model, sizeof b->model, e);
    case JOB_SIM: return s->ask || read_model(&s->layers, s->model, sizeof s->model, e);
    default: return true;
    }
}

/* A run that this one goes on with or tests, by its path: ids are looked up here, where there is a home for runs. */
static bool find_run(char run[PATH_MAX], struct error *e)
{
    char dir[PATH_MAX];
    if (!*run)
        return true;
    if (!rundir_find_trained(run, dir, e))
        return false;
    memcpy(run, dir, strlen(dir) + 1);
    return true;
}

/* Makes a copy whose parts are its own; job_clear it. */
static bool prepare(const struct job *given, struct job *job, struct error *e)
{
    *job = *given;
    json_incref(job->train.layers);
    json_incref(job->bench.layers);
    json_incref(job->sim.layers);
    json_incref(job->sim.cluster);
    json_incref(job->sim.ask);
    if (!job_validate(job, e) || !read_job_model(job, e))
        return false;
    if (job->kind == JOB_TRAIN && !data_name_resolve(job->train.data, e))
        return error_wrap(e, "data");
    if (job->kind == JOB_TRAIN && job->train.reproducible)
        strcpy(job->train.algo, "tree"); /* the only one whose sums do not depend on the number of ranks */
    if (job->kind == JOB_TRAIN && (!find_run(job->train.resume, e) || !find_run(job->train.eval, e)))
        return false;
    if (job->kind == JOB_RANKS && !make_absolute("script", job->rank_script.script, e))
        return false;
    if ((job->kind == JOB_SCRIPT || job->kind == JOB_CHECK) && !make_absolute("file", job->script.file, e))
        return false;
    if (job->kind == JOB_CHECK && !make_absolute("exercise", job->script.directory, e))
        return false;
    if (!*job->label)
        job_default_label(job, job->label, sizeof job->label);
    return plan_check_machine(job, e);
}

/*
 * A home on a disk that is full or read-only is something the machine lacks, not an answer of the run; a place that
 * the user named (out) is his to choose again.
 */
static bool no_place(const char *out, struct error *e)
{
    if (e && e->kind == ERROR_FAILED) {
        struct error cause = *e;
        bool full = strstr(cause.text, strerror(ENOSPC)) || strstr(cause.text, strerror(EDQUOT));
        error_set(e, out ? ERROR_INPUT : ERROR_MISSING, "%s: %s; %s%s", out ? "out" : "no run can be started",
                  cause.text, full ? "free some space, or " : "",
                  out    ? "name a folder that you may write to"
                  : full ? "set RINGSIDE_HOME to another folder"
                         : "set RINGSIDE_HOME to a folder that you may write to");
    }
    return false;
}

/* The rest of a start, in a directory that is ours; out: as the user named it, or NULL. */
static bool start_in(struct job *job, const char *dir, const char *out, struct error *e)
{
    bool ok = (job->kind != JOB_RANKS || copy_script(job, dir, e)) && write_job(job, dir, e) &&
              start_supervisor(dir, e);
    if (!ok)
        undo(dir);
    return ok || no_place(out, e);
}

bool launch_start(const struct job *job, char dir[PATH_MAX], struct error *e)
{
    struct job resolved;
    bool ok =
        prepare(job, &resolved, e) &&
        (rundir_create(NULL, resolved.label, dir, e) ? start_in(&resolved, dir, NULL, e) : no_place(NULL, e));
    job_clear(&resolved);
    return ok;
}

static bool is_empty_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder)
        return false;
    int n = 0;
    while (n <= 2 && readdir(folder))
        n++;
    closedir(folder);
    return n <= 2;
}

/* The caller's folder, made where it is not there. */
static bool make_place(const char *out, char dir[PATH_MAX], struct error *e)
{
    struct stat st;
    if (stat(out, &st) == 0 && !is_empty_folder(out))
        return error_set(e, ERROR_INPUT, "out: %s exists and is not an empty folder; name another one", out);
    return (path_make(out, e) &&
            (realpath(out, dir) || error_errno(e, ERROR_FAILED, "%s cannot be found", out))) ||
           no_place(out, e);
}

bool launch_start_in(const struct job *job, const char *out, char dir[PATH_MAX], struct error *e)
{
    struct job resolved;
    bool ok = prepare(job, &resolved, e) && make_place(out, dir, e) && start_in(&resolved, dir, out, e) &&
              rundir_link(dir, resolved.label, e);
    job_clear(&resolved);
    return ok;
}

bool launch_replay(const char *recording, double speed, char dir[PATH_MAX], struct error *e)
{
    struct job job = {0};
    char real[PATH_MAX], label[80];
    if (!realpath(recording, real))
        return error_errno(e, ERROR_INPUT, "%s cannot be opened", recording);
    if (!job_load(&job, real, e))
        return error_wrap(e, "this recording cannot be played");
    snprintf(label, sizeof label, "replay-%.60s", job.label);
    snprintf(job.label, sizeof job.label, "%.63s", label);
    bool ok = rundir_create(NULL, label, dir, e) || no_place(NULL, e);
    if (ok) {
        ok = replay_write(dir, real, speed, e) && write_job(&job, dir, e) && start_supervisor(dir, e);
        if (!ok) {
            undo(dir);
            no_place(NULL, e);
        }
    }
    job_clear(&job);
    return ok;
}

bool launch_find_recording(const char *name, char dir[PATH_MAX], struct error *e)
{
    char data[PATH_MAX], folder[PATH_MAX], job[PATH_MAX];
    if (!strchr(name, '/') && path_data(data, NULL) && path_join(folder, data, "lessons/recordings", NULL) &&
        path_join(folder, folder, name, NULL) && path_join(job, folder, "job.json", NULL) &&
        access(job, F_OK) == 0) {
        memcpy(dir, folder, strlen(folder) + 1);
        return true;
    }
    return rundir_find(name, dir, e);
}

bool launch_stop(const char *dir, struct error *e)
{
    struct run_status status;
    if (!run_status_read(dir, &status, e))
        return false;
    if (run_state_ended(status.state))
        return true;
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    if (!rundir_stop_requested(dir))
        return rundir_request_stop(dir, e);
    if (!strcmp(host, status.host) && status.pid > 1 && kill((pid_t)status.pid, SIGTERM) != 0 &&
        errno != ESRCH)
        return error_errno(e, ERROR_FAILED, "the supervisor of %s cannot be signalled", rundir_id(dir));
    return true;
}

bool launch_set_bucket(const char *dir, long bytes, struct error *e)
{
    struct run_status status;
    struct job job;
    if (!run_status_read(dir, &status, e) || !job_load(&job, dir, e))
        return false;
    bool trains = job.kind == JOB_TRAIN && !*job.train.eval;
    job_clear(&job);
    if (!trains)
        return error_set(e, ERROR_INPUT, "%s trains nothing, so it has no gradients to put into buckets",
                         rundir_id(dir));
    if (run_state_ended(status.state))
        return error_set(e, ERROR_INPUT, "%s has ended already (%s)", rundir_id(dir),
                         run_state_name(status.state));
    return rundir_request_bucket(dir, bytes, e);
}

bool launch_worker(int argc, char **argv, int *code)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } workers[] = {
        {"--supervise", supervise_main},
        {"--replay", replay_main},
        {"--coroutine-ranks", coroutine_main},
        {"--lua-host", lua_host_main},
    };
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++) {
        if (argc >= 3 && !strcmp(argv[1], workers[i].name)) {
            *code = workers[i].run(argc - 2, argv + 2);
            return true;
        }
    }
    return false;
}
