#include "engine/spec/tuning.h"

#include "engine/base/event.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "engine/spec/schedule.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TUNING_VERSION = 1 };

/* --- the file --- */

static bool file_of(const struct tuning_key *key, char dir[PATH_MAX], char name[256], struct error *e)
{
    char home[PATH_MAX];
    snprintf(name, 256, "%s-%dx%d-%s-%s.json", key->host, key->ranks, key->ranks_per_host, key->library,
             key->buffer);
    for (char *p = name; *p; p++)
        if (*p == '/' || *p == ' ')
            *p = '_';
    return ringside_home(home, e) && path_join(dir, home, "tuning", e);
}

static json_t *key_to_json(const struct tuning_key *key)
{
    json_t *object = json_object();
    event_set_text(object, "host", key->host);
    event_set_text(object, "library", key->library);
    event_set_text(object, "buffer", key->buffer);
    event_set_integer(object, "ranks", key->ranks);
    event_set_integer(object, "ranks_per_host", key->ranks_per_host);
    return object;
}

static bool rows_from_json(struct tuning *t, const json_t *rows, struct error *e)
{
    size_t n = json_array_size(rows), before = 0;
    if (n < 1 || n > TUNING_ROWS)
        return error_set(e, ERROR_INPUT, "expected from 1 to %d rows, got %zu", TUNING_ROWS, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(rows, i);
        const char *algo = event_text(row, "algo", "");
        long long up_to = event_integer(row, "up_to_bytes", -1);
        bool last = i + 1 == n;
        if (last ? up_to != -1 : up_to < 0 || (i > 0 && (size_t)up_to <= before))
            return error_set(e, ERROR_INPUT, "row %zu: up_to_bytes must ascend, and the last row has none",
                             i + 1);
        if (strlen(algo) >= sizeof t->row[i].algo || !strcmp(algo, "auto") ||
            !allreduce_algo_check(algo, 0, NULL))
            return error_set(e, ERROR_INPUT, "row %zu: \"%.40s\" is no allreduce algorithm", i + 1, algo);
        before = last ? SIZE_MAX : (size_t)up_to;
        t->row[i].up_to = before;
        snprintf(t->row[i].algo, sizeof t->row[i].algo, "%s", algo);
    }
    t->rows = (int)n;
    return true;
}

enum tuning_found tuning_load(const struct tuning_key *key, struct tuning *t, struct error *e)
{
    char dir[PATH_MAX], name[256], path[PATH_MAX];
    struct tuning read = {.key = *key};
    struct stat info;
    if (!file_of(key, dir, name, e))
        return TUNING_BAD;
    if (!path_join(path, dir, name, e))
        return TUNING_BAD;
    if (stat(path, &info) != 0)
        return TUNING_NONE;
    json_t *file = rundir_read_json(dir, name, e);
    if (!file)
        return TUNING_BAD;
    json_t *wanted = key_to_json(key);
    bool ok = true;
    if (event_integer(file, "version", 0) != TUNING_VERSION)
        ok = error_set(e, ERROR_INPUT, "it is of another version");
    else if (!json_equal(json_object_get(file, "key"), wanted))
        ok = error_set(e, ERROR_INPUT, "it was measured elsewhere or with other ranks");
    else
        ok = rows_from_json(&read, json_object_get(file, "rows"), e);
    json_decref(wanted);
    json_decref(file);
    if (!ok) {
        error_wrap(e, "%s", path);
        return TUNING_BAD;
    }
    *t = read;
    return TUNING_READ;
}

bool tuning_save(const struct tuning *t, struct error *e)
{
    char dir[PATH_MAX], name[256];
    if (!file_of(&t->key, dir, name, e) || !path_make(dir, e))
        return false;
    json_t *file = json_object(), *rows = json_array();
    event_set_integer(file, "version", TUNING_VERSION);
    json_object_set_new(file, "key", key_to_json(&t->key));
    for (int i = 0; i < t->rows; i++) {
        json_t *row = json_object();
        if (i + 1 < t->rows)
            event_set_integer(row, "up_to_bytes", (long long)t->row[i].up_to);
        event_set_text(row, "algo", t->row[i].algo);
        json_array_append_new(rows, row);
    }
    json_object_set_new(file, "rows", rows);
    char *text = json_dumps(file, JSON_INDENT(2));
    bool ok = text ? rundir_write(dir, name, text, e) : error_set(e, ERROR_FAILED, "out of memory");
    free(text);
    json_decref(file);
    return ok;
}

/* --- the choice --- */

const char *tuning_choose(const struct tuning *t, size_t bytes)
{
    for (int i = 0; i < t->rows; i++)
        if (bytes <= t->row[i].up_to)
            return t->row[i].algo;
    return NULL;
}

void tuning_text(const struct tuning *t, char *text, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    size_t used = 0;
    for (int i = 0; i < t->rows && used < size; i++) {
        double upto = (double)t->row[i].up_to;
        int unit = 0, added;
        for (; unit < 3 && upto >= 1024; unit++)
            upto /= 1024;
        if (i + 1 < t->rows)
            added = snprintf(text + used, size - used, "%s to %.3g %s, ", t->row[i].algo, upto, units[unit]);
        else
            added = snprintf(text + used, size - used, "%s%s", i ? "then " : "", t->row[i].algo);
        used += added > 0 ? (size_t)added : 0;
    }
}

/* The next size, and what was chosen for it: a row of its own where that is not what the row before has. */
static void add_choice(struct tuning *t, size_t before, size_t bytes, const char *algo)
{
    if (t->rows > 0 && strcmp(t->row[t->rows - 1].algo, algo) == 0)
        return;
    if (t->rows > 0)
        t->row[t->rows - 1].up_to = (size_t)sqrt((double)before * (double)bytes);
    t->row[t->rows].up_to = SIZE_MAX;
    snprintf(t->row[t->rows++].algo, sizeof t->row->algo, "%s", algo);
}

bool tuning_from_times(struct tuning *t, const size_t *bytes, int sizes, const char (*algos)[32], int count,
                       const double *seconds)
{
    int chosen = -1;
    t->rows = 0;
    if (sizes < 1 || count < 1 || sizes > TUNING_ROWS)
        return false;
    for (int s = 0; s < sizes; s++) {
        const double *time = seconds + (size_t)s * (size_t)count;
        int best = 0;
        for (int a = 1; a < count; a++)
            if (time[a] < time[best])
                best = a;
        if (chosen < 0 || time[chosen] > 1.03 * time[best])
            chosen = best;
        add_choice(t, s ? bytes[s - 1] : 0, bytes[s], algos[chosen]);
    }
    return true;
}

void tuning_from_model(struct tuning *t, const struct cost_link *l, bool shared)
{
    static const char algos[][32] = {"recursive_doubling", "halving_doubling", "ring", "hierarchical"};
    int ranks = t->key.ranks, local = t->key.ranks_per_host, hosts = local > 0 ? ranks / local : 0;
    int count = local > 1 && hosts > 1 ? 4 : 3;
    t->rows = 0;
    if (shared) {
        add_choice(t, 0, 4, "shm");
        return;
    }
    for (size_t bytes = 4, before = 0; bytes <= (size_t)1 << 32; before = bytes, bytes *= 2) {
        int best = 0;
        double least = INFINITY;
        for (int a = 0; a < count; a++) {
            char name[48];
            snprintf(name, sizeof name, "%s", algos[a]);
            if (a == 3)
                snprintf(name, sizeof name, "%s:%d", algos[a], local);
            double time = cost_seconds(l, name, ranks, (double)bytes);
            if (time < least) {
                least = time;
                best = a;
            }
        }
        add_choice(t, before, bytes, algos[best]);
    }
}
