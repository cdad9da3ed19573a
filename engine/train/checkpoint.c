#include "engine/train/checkpoint.h"

#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "engine/train/safetensors.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void checkpoint_add(struct checkpoint *c, const char *prefix, const struct model_spec *model,
                    float *parameters, float *state, const struct optimizer *optimizer)
{
    struct checkpoint_network *n = &c->networks[c->network_count++];
    *n = (struct checkpoint_network){
        .prefix = prefix, .model = model, .parameters = parameters, .state = state};
    if (optimizer)
        n->moment_count = optimizer_state(optimizer, n->moments);
}

/* --- what a file holds --- */

/* Calls each for every tensor of the checkpoint, in the order of the file, until one returns false. */
typedef bool (*each_tensor)(void *self, const char *name, const struct layer_spec *layer,
                            const struct layer_tensor *tensor, float *data, struct error *e);

static bool each_of_buffer(const struct checkpoint_network *n, const char *kind, float *buffer, bool state,
                           each_tensor each, void *self, struct error *e)
{
    for (int i = 0; i < n->model->layer_count; i++) {
        const struct layer_spec *layer = &n->model->layers[i];
        const struct layer_tensor *tensors = state ? layer->state : layer->tensors;
        for (int t = 0; t < (state ? layer->state_count : layer->tensor_count); t++) {
            char name[160];
            snprintf(name, sizeof name, "%s%s%s.%s", kind, n->prefix, layer->name, tensors[t].name);
            if (!each(self, name, layer, &tensors[t], buffer + tensors[t].offset, e))
                return false;
        }
    }
    return true;
}

static bool for_each_tensor(const struct checkpoint *c, each_tensor each, void *self, struct error *e)
{
    for (int k = 0; k < c->network_count; k++)
        if (!each_of_buffer(&c->networks[k], "", c->networks[k].parameters, false, each, self, e) ||
            !each_of_buffer(&c->networks[k], "", c->networks[k].state, true, each, self, e))
            return false;
    for (int k = 0; c->optimizer && k < c->network_count; k++)
        for (int m = 0; m < c->networks[k].moment_count; m++) {
            const struct optimizer_state *moment = &c->networks[k].moments[m];
            char kind[64];
            snprintf(kind, sizeof kind, "optimizer.%s.", moment->name);
            if (!each_of_buffer(&c->networks[k], kind, moment->data, false, each, self, e))
                return false;
        }
    return true;
}

/* --- the files of a run --- */

static bool folder_of(const char *rundir, char folder[PATH_MAX], struct error *e)
{
    return path_join(folder, rundir, "checkpoints", e);
}

static bool file_of(const char *folder, long step, char path[PATH_MAX], struct error *e)
{
    char name[64];
    snprintf(name, sizeof name, "step-%ld.safetensors", step);
    return path_join(path, folder, name, e);
}

static int latest_first(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return x < y ? 1 : -(x > y);
}

/* The steps there are checkpoints of, the last first: how many, or -1. Free *steps. */
static int list_steps(const char *folder, long **steps, struct error *e)
{
    *steps = NULL;
    DIR *list = opendir(folder);
    if (!list && errno == ENOENT)
        return 0;
    if (!list) {
        error_errno(e, ERROR_INPUT, "%s cannot be read", folder);
        return -1;
    }
    int count = 0;
    for (struct dirent *entry; (entry = readdir(list));) {
        long step;
        char again[64];
        if (sscanf(entry->d_name, "step-%ld.safetensors", &step) != 1)
            continue;
        snprintf(again, sizeof again, "step-%ld.safetensors", step);
        if (strcmp(again, entry->d_name) != 0) /* a temporary file */
            continue;
        long *grown = realloc(*steps, ((size_t)count + 1) * sizeof *grown);
        if (!grown)
            break;
        *steps = grown;
        grown[count++] = step;
    }
    closedir(list);
    if (count > 0)
        qsort(*steps, (size_t)count, sizeof **steps, latest_first);
    return count;
}

static void remove_old(const char *folder)
{
    long *steps;
    int count = list_steps(folder, &steps, NULL);
    for (int i = CHECKPOINTS_KEPT; i < count; i++) {
        char path[PATH_MAX];
        if (file_of(folder, steps[i], path, NULL))
            unlink(path);
    }
    free(steps);
}

/* --- writing --- */

struct parts {
    struct safetensors_part *part;
    int count;
};

static bool count_tensor(void *self, const char *name, const struct layer_spec *layer,
                         const struct layer_tensor *tensor, float *data, struct error *e)
{
    (void)name, (void)layer, (void)tensor, (void)data, (void)e;
    ++*(int *)self;
    return true;
}

static bool add_part(void *self, const char *name, const struct layer_spec *layer,
                     const struct layer_tensor *tensor, float *data, struct error *e)
{
    (void)layer, (void)e;
    struct parts *parts = self;
    struct safetensors_part *p = &parts->part[parts->count++];
    *p = (struct safetensors_part){.rank = tensor->rank, .data = data};
    snprintf(p->name, sizeof p->name, "%s", name);
    memcpy(p->extent, tensor->extent, (size_t)tensor->rank * sizeof *tensor->extent);
    return true;
}

static void set_text(json_t *metadata, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void set_text(json_t *metadata, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    json_object_set_new(metadata, key, json_vsprintf(format, args));
    va_end(args);
}

static json_t *describe(const struct checkpoint *c, const struct job *job, const struct parts *parts)
{
    json_t *metadata = json_object(), *object = job ? job_to_json(job) : NULL;
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    set_text(metadata, "format", "pt");
    set_text(metadata, "model", "%s", c->networks[0].model->name);
    set_text(metadata, "step", "%ld", c->step);
    set_text(metadata, "epoch", "%.9g", c->epoch);
    set_text(metadata, "seed", "%" PRIu64, c->seed);
    set_text(metadata, "global_batch", "%ld", c->global_batch);
    set_text(metadata, "samples", "%ld", c->samples);
    if (c->optimizer)
        set_text(metadata, "optimizer", "%s", c->optimizer);
    if (text)
        set_text(metadata, "job", "%s", text);
    set_text(metadata, "hash", "%016" PRIx64, safetensors_hash_parts(parts->part, parts->count));
    free(text);
    json_decref(object);
    return metadata;
}

bool checkpoint_write(const char *rundir, const struct checkpoint *c, const struct job *job, struct error *e)
{
    char folder[PATH_MAX], path[PATH_MAX];
    if (!folder_of(rundir, folder, e) || !path_make(folder, e) || !file_of(folder, c->step, path, e))
        return false;
    int count = 0;
    struct parts parts = {0};
    for_each_tensor(c, count_tensor, &count, e);
    parts.part = calloc((size_t)count + 1, sizeof *parts.part);
    if (!parts.part)
        return error_set(e, ERROR_FAILED, "not enough memory to write a checkpoint of %d tensors", count);
    for_each_tensor(c, add_part, &parts, e);
    json_t *metadata = describe(c, job, &parts);
    bool ok = safetensors_write(path, parts.part, parts.count, metadata, e);
    json_decref(metadata);
    free(parts.part);
    if (ok)
        remove_old(folder);
    return ok;
}

/* --- reading --- */

static void describe_extents(int rank, const size_t *extent, char text[96])
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < rank && used < 80; i++)
        used += (size_t)snprintf(text + used, 96 - used, "%s%zu", i ? "×" : "", extent[i]);
    if (rank == 0)
        snprintf(text, 96, "one number");
}

/* What the walk over the tensors of a file goes by. */
struct reading {
    const struct safetensors *file;
    const char *path;
    const struct checkpoint *c;
};

static bool check_tensor(void *self, const char *name, const struct layer_spec *layer,
                         const struct layer_tensor *tensor, float *data, struct error *e)
{
    (void)data;
    const struct reading *r = self;
    const struct safetensors_entry *entry = safetensors_find(r->file, name);
    char layer_text[64], wanted[96], has[96];
    bool same = entry && entry->rank == tensor->rank &&
                memcmp(entry->extent, tensor->extent, (size_t)tensor->rank * sizeof *tensor->extent) == 0;
    if (same)
        return true;
    describe_extents(tensor->rank, tensor->extent, wanted);
    if (entry)
        describe_extents(entry->rank, entry->extent, has);
    return error_set(e, ERROR_INPUT,
                     "%s is of another model: layer %s (%s) needs \"%s\" of %s, the checkpoint has %s%s",
                     r->path, layer->name, layer_describe(layer, layer_text), name, wanted,
                     entry ? "it as " : "none", entry ? has : "");
}

static bool read_tensor(void *self, const char *name, const struct layer_spec *layer,
                        const struct layer_tensor *tensor, float *data, struct error *e)
{
    (void)layer, (void)tensor;
    const struct reading *r = self;
    return safetensors_read(r->file, safetensors_find(r->file, name), data, e);
}

/* Ends the walk at the tensor of that name. */
static bool is_not(void *self, const char *name, const struct layer_spec *layer,
                   const struct layer_tensor *tensor, float *data, struct error *e)
{
    (void)layer, (void)tensor, (void)data, (void)e;
    return strcmp(name, self) != 0;
}

/* The first tensor in the file that our networks do not have; NULL: none. */
static const char *stranger(const struct reading *r)
{
    struct checkpoint networks = *r->c;
    networks.optimizer = NULL;
    for (int i = 0; i < safetensors_count(r->file); i++) {
        const char *name = safetensors_entry(r->file, i)->name;
        /* PyTorch's batchnorm also counts its batches, which nothing here needs. */
        bool known = strncmp(name, "optimizer.", 10) == 0 || strstr(name, ".num_batches_tracked");
        if (!known && for_each_tensor(&networks, is_not, (void *)name, NULL))
            return name;
    }
    return NULL;
}

/* Whether it is ours to go on with: the same model, optimiser and global batch. */
static bool check_fit(const struct reading *r, struct error *e)
{
    const struct checkpoint *c = r->c;
    const char *optimizer = safetensors_metadata(r->file, "optimizer");
    const char *batch = safetensors_metadata(r->file, "global_batch");
    if (c->optimizer && strcmp(optimizer, c->optimizer) != 0)
        return error_set(e, ERROR_INPUT, "%s holds the state of %s, but this run's optimizer is %s", r->path,
                         *optimizer ? optimizer : "no optimiser", c->optimizer);
    if (c->optimizer && *batch && strtol(batch, NULL, 10) != c->global_batch)
        return error_set(
            e, ERROR_INPUT,
            "%s is of a run with %s samples a step, this one has %ld: choose --batch and --ranks "
            "so that their product is %s, or its steps would mean something else",
            r->path, batch, c->global_batch, batch);
    const char *samples = safetensors_metadata(r->file, "samples");
    if (c->optimizer && *samples && strtol(samples, NULL, 10) != c->samples)
        return error_set(
            e, ERROR_INPUT,
            "%s is of a run on %s samples, and the data have %ld now: a step would take others than it "
            "did; give the run the data it had, or begin a new one",
            r->path, samples, c->samples);
    if (!for_each_tensor(c, check_tensor, (void *)r, e))
        return false;
    const char *unknown = stranger(r);
    return !unknown ||
           error_set(e, ERROR_INPUT, "%s is of another model: it has \"%.100s\", which model \"%s\" has not",
                     r->path, unknown, c->networks[0].model->name);
}

/* Opens it and holds its data against their hash: whether the disk still has what was written. */
static struct safetensors *open_sound(const char *path, struct error *e)
{
    struct safetensors *f = safetensors_open(path, e);
    const char *written = f ? safetensors_metadata(f, "hash") : "";
    uint64_t hash = 0;
    bool ok = f && (!*written || safetensors_hash(f, &hash, e));
    if (ok && *written && strtoull(written, NULL, 16) != hash)
        ok = error_set(e, ERROR_INPUT, "%s is damaged: its data are not those that were written", path);
    if (ok)
        return f;
    safetensors_close(f);
    return NULL;
}

static bool read_one(const char *path, struct checkpoint *c, long step, struct safetensors *f,
                     struct error *e)
{
    struct reading r = {.file = f, .path = path, .c = c};
    if (!check_fit(&r, e) || !for_each_tensor(c, read_tensor, &r, e))
        return false;
    c->step = step;
    c->epoch = strtod(safetensors_metadata(f, "epoch"), NULL);
    if (*safetensors_metadata(f, "seed"))
        c->seed = strtoull(safetensors_metadata(f, "seed"), NULL, 10);
    return true;
}

bool checkpoint_read(const char *rundir, struct checkpoint *c, char *note, size_t note_size, struct error *e)
{
    char folder[PATH_MAX], path[PATH_MAX];
    long *steps;
    if (note_size > 0)
        note[0] = 0;
    if (!folder_of(rundir, folder, e))
        return false;
    int count = list_steps(folder, &steps, e);
    bool ok = count > 0;
    if (count == 0)
        error_set(e, ERROR_INPUT,
                  "the run %s has no checkpoint: it ended before its first (one is written after each epoch, "
                  "and with --checkpoint-every)",
                  rundir_id(rundir));
    struct error why = {0};
    for (int i = 0; ok && i < count; i++) {
        struct safetensors *f = NULL;
        ok = file_of(folder, steps[i], path, e);
        if (ok && (f = open_sound(path, &why))) {
            ok = read_one(path, c, steps[i], f, e);
            if (i > 0)
                snprintf(note, note_size, "%.400s; going on from the checkpoint of step %ld instead",
                         why.text, steps[i]);
            safetensors_close(f);
            break;
        }
        if (i == count - 1) {
            ok = false;
            if (e)
                *e = why;
        }
    }
    free(steps);
    return ok;
}

/* --- all ranks --- */

static bool broadcast(struct comm *comm, float *data, size_t n, struct error *e)
{
    return n == 0 || comm_broadcast(comm, data, n * sizeof *data, 0, e);
}

bool checkpoint_share(struct comm *comm, const char *rundir, struct checkpoint *c, char *note,
                      size_t note_size, struct error *e)
{
    struct {
        bool ok;
        long step;
        double epoch;
        struct error error;
    } news = {0};
    if (comm_rank(comm) == 0)
        news.ok = checkpoint_read(rundir, c, note, note_size, &news.error);
    news.step = c->step;
    news.epoch = c->epoch;
    if (!comm_broadcast(comm, &news, sizeof news, 0, e))
        return false;
    if (!news.ok) {
        if (e)
            *e = news.error;
        return false;
    }
    c->step = news.step;
    c->epoch = news.epoch;
    for (int k = 0; k < c->network_count; k++) {
        const struct checkpoint_network *n = &c->networks[k];
        if (!broadcast(comm, n->parameters, n->model->parameters, e) ||
            !broadcast(comm, n->state, n->model->states, e))
            return false;
        for (int m = 0; c->optimizer && m < n->moment_count; m++)
            if (!broadcast(comm, n->moments[m].data, n->model->parameters, e))
                return false;
    }
    return true;
}
