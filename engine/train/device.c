#include "engine/train/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a rank has found. */
struct found {
    bool ok, expected; /* expected: whoever started the job may think that there is one */
    struct error error;
    char host[64], uuid[48];
};

/* What follows from it for all. */
struct verdict {
    bool ok, own, expected;
    struct error error; /* of the first rank that has none */
};

static void look(struct device *d, int host_rank, struct found *f)
{
    gethostname(f->host, sizeof f->host - 1);
    d->plugin = plugin_load(&f->error);
    f->expected = d->plugin || getenv("RINGSIDE_CUDA_PLUGIN") || access("/dev/nvidiactl", F_OK) == 0;
    int count = d->plugin ? d->plugin->device_count(&f->error) : 0;
    if (count < 1)
        return;
    d->number = host_rank % count;
    f->ok = d->plugin->device_info(d->number, &d->gpu, &f->error);
    memcpy(f->uuid, d->gpu.uuid, sizeof f->uuid);
}

static void judge(const struct found *all, int ranks, struct verdict *v)
{
    *v = (struct verdict){.ok = true, .own = true};
    for (int i = 0; i < ranks && v->ok; i++)
        if (!all[i].ok) {
            v->ok = false;
            v->error = all[i].error;
            if (ranks > 1)
                error_wrap(&v->error, "rank %d on %s", i, all[i].host);
        }
    for (int i = 0; i < ranks; i++)
        v->expected = v->expected || all[i].expected;
    for (int i = 0; i < ranks; i++)
        for (int k = 0; k < i; k++)
            v->own = v->own && strcmp(all[i].uuid, all[k].uuid) != 0;
}

static bool agree(const struct found *mine, struct comm *comm, struct verdict *v, struct error *e)
{
    int ranks = comm_size(comm);
    struct found *all = calloc((size_t)ranks, sizeof *all);
    if (!all)
        return error_set(e, ERROR_FAILED, "not enough memory to choose a device for %d ranks", ranks);
    bool ok = comm_gather(comm, mine, sizeof *mine, all, e);
    if (ok && comm_rank(comm) == 0)
        judge(all, ranks, v);
    free(all);
    return ok && comm_broadcast(comm, v, sizeof *v, 0, e);
}

bool device_choose(struct device *d, const char *wanted, struct comm *comm, struct error *e)
{
    struct found mine = {0};
    struct verdict v = {0};
    *d = (struct device){.name = "cpu"};
    if (strcmp(wanted, "cpu") == 0)
        return true;
    look(d, comm_host_rank(comm), &mine);
    if (!agree(&mine, comm, &v, e))
        return false;
    if (v.ok) {
        d->own = v.own;
        snprintf(d->name, sizeof d->name, "%s", d->gpu.name);
        return true;
    }
    *d = (struct device){.name = "cpu"};
    if (strcmp(wanted, "auto") == 0) {
        if (v.expected) /* on a machine that has neither GPU nor plugin, nobody wonders */
            snprintf(d->notes, sizeof d->notes, "device auto takes the CPU (%.550s)", v.error.text);
        return true;
    }
    if (e)
        *e = v.error;
    return false;
}

void device_read(struct device *d, struct gpu_readings *r)
{
    *r = (struct gpu_readings){NAN, NAN, NAN, NAN};
    if (!d->plugin)
        return;
    if (!d->metered)
        d->meter = d->plugin->meter_open(d->number, NULL);
    d->metered = true;
    if (d->meter)
        d->plugin->meter_read(d->meter, r);
}

void device_close(struct device *d)
{
    if (d->plugin && d->meter)
        d->plugin->meter_close(d->meter);
    d->meter = NULL;
}

void device_blame(const struct device *d, struct comm *comm, struct error *e)
{
    char host[64] = "";
    if (!d->plugin || !e || comm_rank(comm) != 0 || comm_size(comm) == 1 || !strstr(e->text, "GPU "))
        return;
    gethostname(host, sizeof host - 1);
    error_wrap(e, "rank 0 on %s", host);
}

struct backend *device_open(const struct device *d, const char *dtype, int threads, struct error *e)
{
    bool bf16 = strcmp(dtype, "bf16") == 0, tf32 = strcmp(dtype, "tf32") == 0;
    if (d->plugin)
        return d->plugin->backend_open(d->number, bf16 ? GPU_BF16 : tf32 ? GPU_TF32 : 0, e);
    if (tf32) {
        error_set(e, ERROR_INPUT, "dtype: tf32 is a format of NVIDIA GPUs; on the CPU take fp32 or bf16");
        return NULL;
    }
    struct backend *b = backend_cpu_open(threads, e);
    if (b && bf16 && !backend_cpu_use_bf16(b, e)) {
        backend_close(b);
        return NULL;
    }
    return b;
}

/* --- sums in the GPUs' memory --- */

/* Whether all ranks can; the sentence is that of this rank, where it cannot, or says that another one cannot. */
static bool all_have_nccl(const struct device *d, struct comm *comm, struct error *e)
{
    char version[32];
    struct error why = {0}, other = {0};
    bool here = d->plugin->comm_version(version, &why);
    double missing = !here;
    if (!comm_max_double(comm, &missing, 1, e))
        return false;
    if (missing > 0 && e) {
        error_set(&other, ERROR_MISSING, "NCCL cannot be loaded on the host of another rank");
        *e = here ? other : why;
    }
    return missing <= 0;
}

bool device_may_connect(const struct device *d, struct error *e)
{
    if (!d->plugin)
        return error_set(
            e, ERROR_INPUT,
            "nccl sums in the memory of GPUs, and this job computes on the CPU%s%.500s; take ring, mpi or "
            "auto",
            *d->notes ? ": " : "", d->notes);
    if (!d->own)
        return error_set(
            e, ERROR_INPUT,
            "nccl wants a GPU for each rank, and here two ranks share one: start as many ranks as there "
            "are GPUs, or take --algo auto, which goes through the host's memory then");
    return true;
}

bool device_connect(struct device *d, struct comm *comm, struct backend *b, struct error *e)
{
    struct {
        struct device_comm_id id;
        struct error error;
        bool ok;
    } made = {0};
    if (!device_may_connect(d, e) || !all_have_nccl(d, comm, e))
        return false;
    if (comm_rank(comm) == 0)
        made.ok = d->plugin->comm_id(&made.id, &made.error);
    if (!comm_broadcast(comm, &made, sizeof made, 0, e))
        return false;
    if (!made.ok) {
        if (e)
            *e = made.error;
        return false;
    }
    d->comm = d->plugin->comm_open(b, &made.id, comm_rank(comm), comm_size(comm), e);
    comm_set_device(comm, d->comm);
    return d->comm;
}

void device_disconnect(struct device *d, struct comm *comm)
{
    if (!d->comm)
        return;
    comm_set_device(comm, NULL);
    d->comm->ops->close(d->comm);
    d->comm = NULL;
}

static void through_host(struct device *d, const char *why)
{
    snprintf(d->notes, sizeof d->notes, "gradients go through the host's memory: %.500s", why);
}

bool device_choose_algo(struct device *d, struct comm *comm, struct backend *b, bool compress,
                        const char **algo, struct error *e)
{
    struct error why = {0};
    char text[64];
    bool automatic = strcmp(*algo, "auto") == 0;
    if (strcmp(*algo, "nccl") == 0)
        return device_connect(d, comm, b, e);
    if (!d->plugin || comm_size(comm) == 1)
        return true;
    if (!automatic) {
        snprintf(text, sizeof text, "that is where %s sums them", *algo);
        through_host(d, text);
    } else if (!d->own) {
        through_host(d, "two ranks share one GPU");
    } else if (comm_is_slowed(comm) || compress) {
        through_host(d, compress ? "that is where they are compressed" : "the link is slowed on purpose");
    } else if (!device_connect(d, comm, b, &why)) {
        if (why.kind != ERROR_MISSING) {
            if (e)
                *e = why;
            return false;
        }
        through_host(d, why.text);
    } else {
        *algo = "nccl";
        snprintf(d->notes, sizeof d->notes, "allreduce auto takes %s: gradients stay in the GPUs' memory",
                 d->comm->name);
    }
    return true;
}
