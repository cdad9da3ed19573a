#include "tui/doctor.h"

#include "engine/base/event.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "engine/base/units.h"
#include "engine/launch/gpus.h"
#include "engine/launch/local.h"
#include "engine/launch/probe.h"
#include "engine/launch/site.h"
#include "engine/launch/slots.h"
#include "tui/queue_info.h"
#include "tui/text.h"
#include "tui/text_plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Open MPI maps some 4 MiB a rank and takes more for large messages; below this it is told to use files elsewhere. */
#define SHM_COMFORTABLE (256LL << 20)
#define HOME_COMFORTABLE (100LL << 20)

const char *finding_result_name(enum finding_result result)
{
    static const char *const names[] = {"found", "warning", "missing"};
    return names[result];
}

static bool terminfo_has(const char *term)
{
    const char *home = getenv("HOME"), *own = getenv("TERMINFO");
    char mine[PATH_MAX] = "";
    if (home)
        snprintf(mine, sizeof mine, "%.4000s/.terminfo", home);
    const char *places[] = {
        own, mine, "/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/lib/terminfo"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char path[PATH_MAX];
        if (!places[i] || !*places[i])
            continue;
        snprintf(path, sizeof path, "%.4000s/%c/%.64s", places[i], term[0], term);
        if (access(path, R_OK) == 0)
            return true;
        snprintf(path, sizeof path, "%.4000s/%x/%.64s", places[i], (unsigned)term[0],
                 term); /* as on case-blind disks */
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

static void examine_terminal(struct finding *f)
{
    *f = (struct finding){.what = "terminal"};
    const char *term = getenv("TERM"), *color = getenv("COLORTERM");
    struct winsize size = {0};
    int fd = isatty(1) ? 1 : isatty(2) ? 2 : isatty(0) ? 0 : -1;
    if (fd < 0) {
        f->result = FINDING_WARNING;
        snprintf(f->text, sizeof f->text, _("no terminal here"));
        snprintf(f->cause, sizeof f->cause, _("neither input nor output is a terminal"));
        snprintf(f->cure, sizeof f->cure,
                 _("the application opens in a terminal; every command works without one"));
        return;
    }
    ioctl(fd, TIOCGWINSZ, &size);
    const char *colors = color && strstr(color, "truecolor") ? _("true colour")
                         : term && strstr(term, "256")       ? _("256 colours")
                         : getenv("NO_COLOR")                ? _("no colour (NO_COLOR)")
                                                             : _("8 colours or fewer");
    snprintf(f->text, sizeof f->text, "%.64s, %s, %s, %dx%d", term && *term ? term : _("TERM is not set"),
             colors, text_is_utf8() ? "UTF-8" : _("no UTF-8"), size.ws_col, size.ws_row);
    if (!term || !*term || !strcmp(term, "dumb") || !terminfo_has(term)) {
        f->result = FINDING_WARNING;
        snprintf(f->cause, sizeof f->cause,
                 _("this machine does not know how to draw on a terminal of the kind '%.64s'"),
                 term ? term : "");
        snprintf(f->cure, sizeof f->cure, _("set TERM=xterm-256color, or TERM=vt100 at worst"));
    } else if (!text_is_utf8()) {
        f->result = FINDING_WARNING;
        snprintf(f->cause, sizeof f->cause,
                 _("the locale is not UTF-8, so plots are drawn with ASCII characters"));
        snprintf(f->cure, sizeof f->cure, "export LC_ALL=C.UTF-8");
    } else if (size.ws_col && (size.ws_col < 80 || size.ws_row < 24)) {
        f->result = FINDING_WARNING;
        snprintf(f->cause, sizeof f->cause, _("smaller than 80x24: views show one pane at a time"));
        snprintf(f->cure, sizeof f->cure, _("enlarge the window, or choose a smaller font"));
    }
}

static void examine_home(struct finding *f)
{
    *f = (struct finding){.what = "home", .needed = true};
    char root[PATH_MAX], probe[PATH_MAX], path[PATH_MAX];
    struct error e = {0};
    struct statvfs fs;
    snprintf(probe, sizeof probe, ".write-test-%ld", (long)getpid());
    if (!runs_root(root, &e) || !rundir_write(root, probe, "ringside\n", &e)) {
        f->result = FINDING_MISSING;
        snprintf(f->text, sizeof f->text, _("no folder to keep runs in"));
        snprintf(f->cause, sizeof f->cause, "%.760s", e.text);
        snprintf(f->cure, sizeof f->cure,
                 _("set RINGSIDE_HOME to a folder that you may write to, or free some space"));
        return;
    }
    if (path_join(path, root, probe, NULL))
        unlink(path);
    long long left =
        statvfs(root, &fs) == 0 ? (long long)fs.f_bavail * (long long)fs.f_frsize : HOME_COMFORTABLE;
    char room[32];
    units_show_bytes((double)left, room, sizeof room);
    snprintf(f->text, sizeof f->text, _("%.180s, %s free"), root, room);
    if (left < HOME_COMFORTABLE) {
        f->result = FINDING_WARNING;
        snprintf(f->cause, sizeof f->cause, _("little space is left for runs"));
        snprintf(f->cure, sizeof f->cure, _("ringside runs prune, or set RINGSIDE_HOME to another disk"));
    }
}

static void examine_course(struct finding *f)
{
    *f = (struct finding){.what = "course", .needed = true};
    char data[PATH_MAX];
    struct error e = {0};
    if (path_data(data, &e)) {
        snprintf(f->text, sizeof f->text, "%.250s", data);
        return;
    }
    f->result = FINDING_MISSING;
    snprintf(f->cause, sizeof f->cause, "%.760s", e.text);
    snprintf(f->cure, sizeof f->cure, _("install ringside again (make install PREFIX=...)"));
}

static bool examine_mpirun(struct finding *f)
{
    *f = (struct finding){.what = "mpirun", .needed = true};
    char path[PATH_MAX], out[1024], err[1024];
    struct error e = {0};
    if (!machine_find("mpirun", path)) {
        f->result = FINDING_MISSING;
        snprintf(f->cause, sizeof f->cause, _("there is no mpirun in PATH"));
        snprintf(f->cure, sizeof f->cure, "%s", machine_mpi_cure);
        return false;
    }
    char *argv[] = {path, (char *)"--version", NULL};
    int code = probe_command(argv, 15, out, sizeof out, err, sizeof err, &e);
    out[strcspn(out, "\n")] = 0;
    if (code != 0) {
        err[strcspn(err, "\n")] = 0;
        f->result = FINDING_MISSING;
        snprintf(f->cause, sizeof f->cause, _("%.200s --version fails: %.400s"), path,
                 code < 0 ? e.text : err);
        snprintf(f->cure, sizeof f->cure, "%s", machine_mpi_cure);
        return false;
    }
    snprintf(f->text, sizeof f->text, "%.100s (%.140s)", out, path);
    if (!strstr(out, "Open MPI") && !strstr(out, "OpenRTE")) {
        f->result = FINDING_WARNING;
        snprintf(f->cause, sizeof f->cause, _("this mpirun is not Open MPI's, for which ringside was built"));
        snprintf(f->cure, sizeof f->cure, "%s", machine_mpi_cure);
    }
    return true;
}

/* Returns the probe's answer, so that oneDNN's version need not be asked for again. */
static json_t *examine_ranks(struct finding *f, bool mpirun)
{
    *f = (struct finding){.what = "ranks", .needed = true};
    struct error e = {0};
    json_t *answer = mpirun ? local_probe(&e) : NULL;
    if (answer) {
        const json_t *first = json_array_get(json_object_get(answer, "ranks"), 0);
        snprintf(f->text, sizeof f->text, _("2 ranks start on %.64s and reach each other (%.100s)"),
                 event_text(first, "host", "this host"), event_text(answer, "mpi", "MPI"));
        return answer;
    }
    f->result = FINDING_MISSING;
    if (!mpirun) {
        snprintf(f->cause, sizeof f->cause, _("ranks cannot be started without mpirun"));
        snprintf(f->cure, sizeof f->cure,
                 _("mend mpirun first; until then exercises run their ranks as coroutines"));
    } else {
        snprintf(f->cause, sizeof f->cause, "%.760s", e.text);
        snprintf(
            f->cure, sizeof f->cure,
            _("load the MPI that ringside was built with, or build it again ('make clean', then 'make')"));
    }
    return NULL;
}

static void examine_onednn(struct finding *f, const json_t *answer)
{
    *f = (struct finding){.what = "oneDNN", .needed = true};
    char rank[PATH_MAX], out[2048], err[1024];
    struct error e = {0};
    json_t *alone = NULL;
    const char *version = event_text(answer, "dnnl", NULL);
    if (!version && path_program("ringside-rank", rank, &e)) {
        char *argv[] = {rank, (char *)"--probe", NULL};
        if (probe_command(argv, 15, out, sizeof out, err, sizeof err, &e) == 0)
            alone = event_parse(out, strcspn(out, "\n"));
        else if (e.kind == ERROR_NONE)
            error_set(&e, ERROR_MISSING, "ringside-rank does not start: %.*s", (int)strcspn(err, "\n"), err);
        version = event_text(alone, "dnnl", NULL);
    }
    if (version) {
        snprintf(f->text, sizeof f->text, _("version %.60s: the CPU's convolutions and matrix products"),
                 version);
    } else {
        f->result = FINDING_MISSING;
        snprintf(f->cause, sizeof f->cause, "%.760s", *e.text ? e.text : _("ringside-rank gave no answer"));
        snprintf(f->cure, sizeof f->cure,
                 _("install oneDNN (Debian: apt install libdnnl2 or libdnnl-dev; Fedora, RHEL: dnf "
                   "install onednn; spack load onednn) and build ringside again if it was moved"));
    }
    json_decref(alone);
}

/* "no GPU: this host has no driver; take another": its cause and its cure. */
static void set_missing(struct finding *f, const char *text)
{
    const char *cause = strncmp(text, "no GPU: ", 8) == 0 ? text + 8 : text, *end = strstr(cause, "; ");
    f->result = FINDING_MISSING;
    snprintf(f->cause, sizeof f->cause, "%.*s", end ? (int)(end - cause) : 700, cause);
    snprintf(f->cure, sizeof f->cure, "%.400s%s", end ? end + 2 : "", end ? "" : _("jobs run on the CPU"));
}

/* ringside-rank loads the plugin and asks the GPUs. */
static void examine_cuda(struct finding *f)
{
    *f = (struct finding){.what = "CUDA plugin"};
    struct error e = {0};
    json_t *answer = gpus_report(&e);
    const char *missing = event_text(answer, "missing", answer ? NULL : e.text);
    const json_t *gpus = json_object_get(answer, "gpus"), *first = json_array_get(gpus, 0);
    if (missing) {
        set_missing(f, missing);
    } else {
        size_t count = json_array_size(gpus);
        snprintf(f->text, sizeof f->text,
                 text_plural("%zu GPU: %.120s; %.32s; %.60s", "%zu GPUs: %.120s; %.32s; %.60s", (long)count),
                 count, event_text(first, "text", ""), event_text(answer, "nccl", _("no NCCL")),
                 event_text(answer, "build", ""));
        if (!event_text(answer, "nccl", NULL)) {
            f->result = FINDING_WARNING;
            snprintf(f->cause, sizeof f->cause, "%.700s", event_text(answer, "nccl_missing", ""));
            snprintf(f->cure, sizeof f->cure,
                     _("until then ranks with a GPU each sum their gradients in the host's memory, which is "
                       "slower"));
        }
    }
    json_decref(answer);
}

static void examine_shm(struct finding *f)
{
    *f = (struct finding){.what = "/dev/shm"};
    long long left = machine_shm_free();
    char room[32];
    units_show_bytes(left > 0 ? (double)left : 0, room, sizeof room);
    if (left >= SHM_COMFORTABLE) {
        snprintf(f->text, sizeof f->text, _("%s free: ranks of one host exchange data through it"), room);
        return;
    }
    f->result = FINDING_WARNING;
    snprintf(f->text, sizeof f->text, _("%s free"), room);
    snprintf(f->cause, sizeof f->cause, "%s",
             left < 0 ? _("there is no /dev/shm that may be written")
                      : _("ranks of one host exchange data through it"));
    snprintf(f->cure, sizeof f->cure,
             _("ringside uses files in TMPDIR instead where it must; in a container, start it with "
               "--shm-size=1g"));
}

static void examine_slots(struct finding *f)
{
    *f = (struct finding){.what = "ranks at once"};
    struct site site;
    struct error e = {0};
    struct slots *slots = NULL;
    if (!site_read(&site, &e) || !(slots = slots_queue(1, site.local_ranks, &e))) {
        f->result = FINDING_WARNING;
        snprintf(f->text, sizeof f->text, _("no cap on this node's ranks"));
        snprintf(f->cause, sizeof f->cause, "%.760s", e.text);
        snprintf(f->cure, sizeof f->cure,
                 _("set RINGSIDE_SLOTS_DIR to a folder that all users may write to, or mend the setting"));
        return;
    }
    slots_free(slots);
    int taken = slots_taken(site.local_ranks);
    snprintf(f->text, sizeof f->text, _("%d of %d taken by jobs of all users; %d cores"),
             taken > 0 ? taken : 0, site.local_ranks, machine_cores());
}

/* Only its commands are needed to submit jobs, but without an answer none of them starts. */
static void examine_scheduler(struct finding *f)
{
    *f = (struct finding){.what = "scheduler"};
    const char *name = NULL;
    struct error e = {0};
    if (queue_answers(&name, &e)) {
        snprintf(f->text, sizeof f->text, _("%.64s is here and answers"), name);
        return;
    }
    snprintf(f->cause, sizeof f->cause, "%.760s", e.text);
    if (!name) {
        f->result = FINDING_MISSING;
        snprintf(f->cure, sizeof f->cure, "%s",
                 _("nothing to mend: jobs run on this machine; log in to a cluster to submit them"));
        return;
    }
    f->result = FINDING_WARNING;
    snprintf(f->text, sizeof f->text, _("%.64s is here, but does not answer"), name);
    snprintf(f->cure, sizeof f->cure, "%s",
             _("until it answers, jobs can run on this machine alone; ask those who run the cluster"));
}

void doctor_examine(void (*take)(void *self, const struct finding *f), void *self)
{
    struct finding f;
    examine_terminal(&f);
    take(self, &f);
    examine_home(&f);
    take(self, &f);
    examine_course(&f);
    take(self, &f);
    bool mpirun = examine_mpirun(&f);
    take(self, &f);
    json_t *answer = examine_ranks(&f, mpirun);
    take(self, &f);
    examine_onednn(&f, answer);
    take(self, &f);
    json_decref(answer);
    examine_cuda(&f);
    take(self, &f);
    examine_shm(&f);
    take(self, &f);
    examine_slots(&f);
    take(self, &f);
    examine_scheduler(&f);
    take(self, &f);
}
