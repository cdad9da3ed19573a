/*
 * Training on a device with memory of its own: tests/plugins/walled.c, whose numbers are the CPU's, bit by bit, and whose
 * memory kills who touches it. So whatever a job asks for, it ends with the CPU's parameters, or something went past the wall.
 */
#include "tests/mpi/tap.h"

#include "engine/base/event.h"
#include "engine/train/trainer.h"

#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <unistd.h>

#define KIND(kind) "{\"kind\": \"" kind "\"}"
#define CONV "{\"kind\": \"conv2d\", \"channels\": 5, \"kernel\": 3}"
#define POOL "{\"kind\": \"maxpool\", \"size\": 2}"
#define DENSE(units) "{\"kind\": \"dense\", \"units\": " #units "}"
#define IMAGES "{\"name\": \"images\", \"input\": [1, 8, 8], \"layers\": ["
#define PLAIN_END KIND("flatten") ", " DENSE(4) "]}"

enum { TUNED_STEPS = 120 }; /* autotune says so where it needs more */

static const char plain[] = IMAGES CONV ", " KIND("relu") ", " POOL ", " PLAIN_END;
static const char normed[] = IMAGES CONV ", " KIND("batchnorm") ", " KIND("relu") ", " POOL ", " KIND(
    "flatten") ", {\"kind\": \"dropout\", \"rate\": 0.3}, " DENSE(4) "]}";
static const char synchronised[] =
    IMAGES CONV ", {\"kind\": \"batchnorm\", \"sync\": true}, " KIND("relu") ", " PLAIN_END;
static const char text[] =
    "{\"name\": \"text\", \"input\": {\"tokens\": 6}, \"layers\": [{\"kind\": \"embedding\", "
    "\"vocabulary\": 20, \"units\": 5}, {\"kind\": \"lstm\", \"units\": 4, \"last\": true}, " DENSE(4) "]}";
static const char both[] =
    "{\"name\": \"both\", \"generator\": {\"name\": \"g\", \"input\": [6], \"layers\": [" DENSE(64) ", " KIND(
        "tanh") "]}, \"discriminator\": {\"name\": \"d\", \"input\": [64], \"loss\": \"bce\", \"layers\": "
                "[" DENSE(9) ", " KIND("relu") ", " DENSE(1) "]}}";
static const char pictures[] = "synthetic:1x8x8:4:240", tokens[] = "synthetic:6@20:4:240";

/* What a run told. */
struct told {
    struct event_sink sink;
    bool ok;
    struct error error;
    char hash[32], device[64], notes[1024], rank_device[64];
    double loss, util, used;
    long steps;
};

static bool take(struct event_sink *s, json_t *event, struct error *e)
{
    (void)e;
    struct told *t = (struct told *)s;
    if (event_is(event, "run"))
        snprintf(t->device, sizeof t->device, "%s", event_text(event, "device", ""));
    if (event_is(event, "note")) {
        size_t used = strlen(t->notes);
        snprintf(t->notes + used, sizeof t->notes - used, "%s. ", event_text(event, "text", ""));
    }
    if (event_is(event, "rank")) {
        snprintf(t->rank_device, sizeof t->rank_device, "%s", event_text(event, "device", ""));
        t->util = event_number(event, "util", NAN);
        t->used = event_number(event, "gpu_used_bytes", NAN);
    }
    if (event_is(event, "done"))
        snprintf(t->hash, sizeof t->hash, "%s", event_text(event, "hash", ""));
    json_decref(event);
    return true;
}

static struct job job_of(const char *model, const char *data)
{
    struct job job;
    job_defaults(&job, JOB_TRAIN);
    struct job_train *t = &job.train;
    t->layers = json_loads(model, 0, NULL);
    snprintf(t->data, sizeof t->data, "%s", data);
    t->batch = 6;
    t->epochs = 0;
    t->steps = 5;
    t->threads = 1;
    snprintf(t->schedule, sizeof t->schedule, "constant");
    return job;
}

static void run(struct tap *tap, struct job *job, const char *device, const char *folder, struct told *t)
{
    struct train_result result;
    *t = (struct told){.sink = {.emit = take}, .util = NAN, .used = NAN};
    snprintf(job->train.device, sizeof job->train.device, "%s", device);
    t->ok = train_run(job, folder, tap->comm, &t->sink, &result, &t->error);
    t->loss = result.loss;
    t->steps = result.steps;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

/* Folders of runs, the same on all ranks. */
static const char *folder(struct tap *tap, char path[64])
{
    snprintf(path, 64, "/tmp/ringside-device-XXXXXX");
    if (comm_rank(tap->comm) == 0 && !mkdtemp(path))
        comm_abort(tap->comm, 1);
    comm_broadcast(tap->comm, path, 64, 0, NULL);
    return path;
}

static void drop(struct tap *tap, const char *path)
{
    comm_barrier(tap->comm, NULL);
    if (comm_rank(tap->comm) == 0)
        nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The job on both, and the same result. exact: the same bits. */
static void same(struct tap *tap, const char *name, struct job *job, bool exact)
{
    char cpu_folder[64], gpu_folder[64], detail[600];
    struct told cpu, gpu;
    run(tap, job, "cpu", folder(tap, cpu_folder), &cpu);
    run(tap, job, "cuda", folder(tap, gpu_folder), &gpu);
    bool first = comm_rank(tap->comm) == 0, near = fabs(cpu.loss - gpu.loss) <= 1e-3 * fabs(cpu.loss);
    bool ok = cpu.ok && gpu.ok && near && (!exact || cpu.loss == gpu.loss);
    ok = ok && (!first || ((!exact || strcmp(cpu.hash, gpu.hash) == 0) && strcmp(gpu.device, "walled") == 0 &&
                           strcmp(cpu.device, "cpu") == 0));
    snprintf(detail, sizeof detail, "loss %.9g and %.9g, hash %s and %s, on %s and %s %.150s%.150s", cpu.loss,
             gpu.loss, cpu.hash, gpu.hash, cpu.device, gpu.device, cpu.error.text, gpu.error.text);
    tap_check(tap, name, ok, detail);
    drop(tap, cpu_folder);
    drop(tap, gpu_folder);
    job_clear(job);
}

static void test_recipes(struct tap *tap)
{
    struct job job = job_of(plain, pictures);
    same(tap, "one allreduce after backward, a step recorded", &job, true);
    job = job_of(normed, pictures);
    same(tap, "running statistics and dropout", &job, true);
    job = job_of(normed, pictures);
    job.train.accumulate = 3;
    same(tap, "several batches a step", &job, true);
    job = job_of(plain, pictures);
    job.train.bucket = 1;
    same(tap, "buckets beside backward", &job, true);
    job = job_of(plain, pictures);
    job.train.bucket = 1;
    job.train.accumulate = 2;
    strcpy(job.train.optimizer, "lamb");
    job.train.lr = 0.02;
    same(tap, "buckets of several batches", &job, true);
    job = job_of(plain, pictures);
    strcpy(job.train.compress, "bf16");
    strcpy(job.train.optimizer, "sgd");
    same(tap, "compressed gradients", &job, true);
    job = job_of(synchronised, pictures);
    same(tap, "a layer that looks across ranks", &job, true);
    job = job_of(text, tokens);
    strcpy(job.train.optimizer, "lars");
    same(tap, "tokens", &job, true);
    job = job_of(both, pictures);
    same(tap, "two networks", &job, true);
    if (comm_size(tap->comm) == 2) { /* of whom the sum is the same whichever is chosen */
        job = job_of(plain, pictures);
        job.train.autotune = true;
        job.train.steps = TUNED_STEPS;
        job.train.lr = 1e-3;
        same(tap, "the allreduce found on the way", &job, true);
    }
    if (comm_size(tap->comm) > 1) {
        job = job_of(plain, pictures);
        snprintf(job.train.shares, sizeof job.train.shares, "%s", "3,1,1,1");
        job.train.shares[2 * comm_size(tap->comm) - 1] = 0;
        job.train.steps = 0;
        job.train.epochs = 1;
        same(tap, "ranks that have no samples left", &job, true);
    }
}

/* What a run on one has left, the other goes on with and tests. */
static void test_checkpoints(struct tap *tap)
{
    char before[64], cpu_folder[64], gpu_folder[64], detail[400];
    struct told told, cpu, gpu;
    for (int way = 0; way < 2; way++) {
        const char *from = way ? "cuda" : "cpu";
        struct job job = job_of(normed, pictures);
        run(tap, &job, from, folder(tap, before), &told);
        snprintf(job.train.resume, sizeof job.train.resume, "%s", before);
        job.train.steps = 9;
        run(tap, &job, "cpu", folder(tap, cpu_folder), &cpu);
        run(tap, &job, "cuda", folder(tap, gpu_folder), &gpu);
        bool ok = told.ok && cpu.ok && gpu.ok && cpu.loss == gpu.loss && gpu.steps == 9 &&
                  !strcmp(cpu.hash, gpu.hash);
        snprintf(detail, sizeof detail, "loss %.9g and %.9g %.100s%.100s%.100s", cpu.loss, gpu.loss,
                 told.error.text, cpu.error.text, gpu.error.text);
        tap_check(tap,
                  way ? "a run goes on from a GPU's checkpoint" : "a run goes on from the CPU's checkpoint",
                  ok, detail);
        *job.train.resume = 0;
        snprintf(job.train.eval, sizeof job.train.eval, "%s", gpu_folder);
        run(tap, &job, "cuda", before, &told);
        tap_check(tap, "its last checkpoint is tested", told.ok && told.loss == gpu.loss, told.error.text);
        job_clear(&job);
        drop(tap, before);
        drop(tap, cpu_folder);
        drop(tap, gpu_folder);
    }
}

static void test_divergence(struct tap *tap)
{
    char path[64], detail[600];
    struct told cpu, gpu;
    struct job job = job_of(plain, pictures);
    job.train.lr = 1e30;
    strcpy(job.train.optimizer, "sgd");
    run(tap, &job, "cpu", folder(tap, path), &cpu);
    run(tap, &job, "cuda", path, &gpu);
    snprintf(detail, sizeof detail, "\"%.250s\" and \"%.250s\"", cpu.error.text, gpu.error.text);
    tap_check(tap, "numbers that are none are traced to the same layer",
              !cpu.ok && !gpu.ok && strstr(cpu.error.text, "diverged") &&
                  !strcmp(cpu.error.text, gpu.error.text),
              detail);
    drop(tap, path);
    job_clear(&job);
}

/* A GPU for each rank: sums in their memory, for which "auto" is enough. */
static void test_nccl(struct tap *tap)
{
    static const char *const names[] = {"NCCL after backward", "NCCL beside backward", "NCCL, two networks"};
    char path[64], detail[600], gpus[16];
    int ranks = comm_size(tap->comm);
    snprintf(gpus, sizeof gpus, "%d", ranks);
    setenv("WALLED_GPUS", gpus, 1);
    for (int way = 0; way < 3; way++) {
        struct told told;
        struct job job = job_of(way == 2 ? both : normed, pictures);
        job.train.bucket = way == 1 ? 1 : way == 2 ? -1 : 0;
        strcpy(job.train.algo, "auto");
        run(tap, &job, "cuda", folder(tap, path), &told);
        bool noted = ranks == 1 || comm_rank(tap->comm) > 0 || strstr(told.notes, "auto takes walled NCCL");
        snprintf(detail, sizeof detail, "%.200s %.300s", told.error.text, told.notes);
        tap_check(tap, "a GPU for each rank: auto takes NCCL, and says so", told.ok && noted, detail);
        drop(tap, path);
        job_clear(&job);
        job = job_of(way == 2 ? both : normed, pictures);
        job.train.bucket = way == 1 ? 1 : way == 2 ? -1 : 0;
        strcpy(job.train.algo, "nccl");
        struct told nccl;
        run(tap, &job, "cuda", folder(tap, path), &nccl);
        bool same_as_auto = nccl.ok && fabs(nccl.loss - told.loss) <= 1e-6 * fabs(told.loss);
        snprintf(detail, sizeof detail, "loss %.9g and %.9g %.200s", told.loss, nccl.loss, nccl.error.text);
        tap_check(tap, names[way], same_as_auto, detail);
        drop(tap, path);
        job_clear(&job);
    }
    if (ranks == 2) {
        struct job job = job_of(plain, pictures);
        struct told told;
        job.train.autotune = true;
        job.train.steps = TUNED_STEPS;
        job.train.lr = 1e-3;
        strcpy(job.train.algo, "nccl");
        run(tap, &job, "cuda", folder(tap, path), &told);
        tap_check(tap, "NCCL is tried beside the algorithms of the host's memory", told.ok, told.error.text);
        drop(tap, path);
        job_clear(&job);
    }
    unsetenv("WALLED_GPUS");
}

static void expect(struct tap *tap, const char *name, struct job *job, const char *device,
                   enum error_kind kind, const char *word)
{
    char path[64], detail[700];
    struct told told;
    run(tap, job, device, folder(tap, path), &told);
    bool first = comm_rank(tap->comm) == 0;
    bool ok = kind == ERROR_NONE ? told.ok && (!first || strstr(told.notes, word))
                                 : !told.ok && told.error.kind == kind && strstr(told.error.text, word);
    snprintf(detail, sizeof detail, "kind %d: %.300s %.300s", told.error.kind, told.error.text, told.notes);
    tap_check(tap, name, ok, detail);
    drop(tap, path);
    job_clear(job);
}

static void test_choice(struct tap *tap)
{
    bool several = comm_size(tap->comm) > 1;
    struct job job = job_of(plain, pictures);
    if (several) {
        strcpy(job.train.algo, "auto");
        expect(tap, "two ranks share a GPU: the host's memory, and a note", &job, "cuda", ERROR_NONE,
               "gradients go through the host's memory: two ranks share one GPU");
        job = job_of(plain, pictures);
        strcpy(job.train.algo, "nccl");
        expect(tap, "two ranks share a GPU: no NCCL", &job, "cuda", ERROR_INPUT, "a GPU for each rank");
        job = job_of(plain, pictures);
    }
    job.train.reproducible = true;
    job.train.batch = 8;
    if (comm_size(tap->comm) != 3)
        expect(tap, "reproducible: auto takes the CPU", &job, "auto", ERROR_NONE,
               "--reproducible computes there");
    else
        job_clear(&job);
    setenv("WALLED_BYTES", "5000", 1);
    job = job_of(plain, pictures);
    expect(tap, "too little memory", &job, "cuda", ERROR_FAILED, "GPU 0 (walled) has no room for");
    unsetenv("WALLED_BYTES");
    setenv("WALLED_GPUS", "0", 1);
    job = job_of(plain, pictures);
    expect(tap, "no GPU", &job, "cuda", ERROR_MISSING, "no GPU: the wall has no gate");
    job = job_of(plain, pictures);
    expect(tap, "no GPU: auto takes the CPU and says why", &job, "auto", ERROR_NONE,
           "device auto takes the CPU (");
    unsetenv("WALLED_GPUS");
}

/* Readings of the GPU in `rank` events. */
static void test_readings(struct tap *tap)
{
    char path[64], detail[200];
    struct told told;
    struct job job = job_of(plain, pictures);
    run(tap, &job, "auto", folder(tap, path), &told);
    bool first = comm_rank(tap->comm) == 0;
    bool ok =
        told.ok && (!first || (!strcmp(told.rank_device, "walled") && told.util == 0.75 && told.used > 4096));
    snprintf(detail, sizeof detail, "on \"%s\" util %g, %g bytes", told.rank_device, told.util, told.used);
    tap_check(tap, "a rank tells of its GPU", ok, detail);
    drop(tap, path);
    job_clear(&job);
}

int main(int argc, char **argv)
{
    char plugin[PATH_MAX] = "";
    ssize_t n = readlink("/proc/self/exe", plugin, sizeof plugin - 64);
    for (int i = 0; n > 0 && i < 2; i++)
        *strrchr(plugin, '/') = 0;
    strcat(plugin, "/plugins/walled.so");
    setenv("RINGSIDE_CUDA_PLUGIN", plugin, 1);
    struct tap tap = tap_open(&argc, &argv);
    test_recipes(&tap);
    test_checkpoints(&tap);
    test_divergence(&tap);
    test_nccl(&tap);
    test_choice(&tap);
    test_readings(&tap);
    return tap_close(&tap);
}
