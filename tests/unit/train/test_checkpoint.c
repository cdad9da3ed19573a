/*
 * Checkpoints: what is written comes back bit by bit under PyTorch's names; the last two are kept; a damaged
 * one is passed over, one of another training refused; a process that is killed while writing leaves only
 * whole files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/base/paths.h"
#include "engine/base/random.h"
#include "engine/nn/network.h"
#include "engine/train/checkpoint.h"
#include "engine/train/safetensors.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DENSE(units) "{\"kind\": \"dense\", \"units\": " #units "}"
#define MODEL(units)                                                                                         \
    "{\"name\": \"small\", \"input\": [1, 6, 6], \"layers\": [{\"kind\": \"conv2d\", \"channels\": 3, "      \
    "\"kernel\": 3}, {\"kind\": \"relu\"}, {\"kind\": \"flatten\"}, " DENSE(units) "]}"

static char run[] = "/tmp/ringside-checkpoint-XXXXXX";

struct given {
    struct model_spec model;
    struct backend *backend;
    struct network *network;
    struct optimizer *optimizer;
};

static bool make(struct given *g, const char *text, const char *optimizer)
{
    json_t *object = json_loads(text, 0, NULL);
    struct optimizer_spec spec;
    struct error e = {0};
    bool ok = model_from_json(object, &g->model, &e) && (g->backend = backend_cpu_open(1, &e)) &&
              (g->network = network_new(&g->model, g->backend, 2, NULL, NETWORK_PLAIN, &e)) &&
              optimizer_named(optimizer, &spec, &e) &&
              (g->optimizer = optimizer_new(&spec, &g->model, g->backend, &e));
    json_decref(object);
    return ok;
}

static void drop(struct given *g)
{
    optimizer_free(g->optimizer);
    network_free(g->network);
    backend_close(g->backend);
    model_free(&g->model);
}

static void fill(float *x, size_t n, uint64_t seed)
{
    struct random r = random_stream(seed, 1, 2);
    for (size_t i = 0; i < n; i++)
        x[i] = random_uniform(&r, -1, 1);
}

static void fill_all(struct given *g, uint64_t seed)
{
    size_t n = g->model.parameters;
    fill(g->network->parameters, n, seed);
    fill(g->optimizer->first, n, seed + 1);
    if (g->optimizer->second)
        fill(g->optimizer->second, n, seed + 2);
}

static struct checkpoint checkpoint_of(struct given *g, long step, const char *optimizer)
{
    struct checkpoint c = {.optimizer = optimizer, .step = step, .epoch = 0.5, .seed = 7, .global_batch = 64};
    checkpoint_add(&c, "", &g->model, g->network->parameters, g->network->state, g->optimizer);
    return c;
}

static void write_step(struct given *g, long step, uint64_t seed)
{
    struct error e = {0};
    fill_all(g, seed);
    struct checkpoint c = checkpoint_of(g, step, "adam");
    if (!checkpoint_write(run, &c, NULL, &e))
        fail_msg("%s", e.text);
}

static char *file_of(long step)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/checkpoints/step-%ld.safetensors", run, step);
    return path;
}

static bool there_is(long step)
{
    return access(file_of(step), F_OK) == 0;
}

static void expect_seed(struct given *g, uint64_t seed)
{
    size_t n = g->model.parameters;
    struct given other;
    assert_true(make(&other, MODEL(4), "adam"));
    fill_all(&other, seed);
    assert_memory_equal(g->network->parameters, other.network->parameters, n * sizeof(float));
    assert_memory_equal(g->optimizer->first, other.optimizer->first, n * sizeof(float));
    assert_memory_equal(g->optimizer->second, other.optimizer->second, n * sizeof(float));
    drop(&other);
}

/* Reads the last one, which must be of that step, made from that seed. */
static void expect_read(long step, uint64_t seed, const char *noted)
{
    struct given g;
    struct error e = {0};
    char note[600];
    assert_true(make(&g, MODEL(4), "adam"));
    struct checkpoint c = checkpoint_of(&g, 0, "adam");
    if (!checkpoint_read(run, &c, note, sizeof note, &e))
        fail_msg("%s", e.text);
    assert_int_equal(c.step, step);
    if (noted ? !strstr(note, noted) : *note != 0)
        fail_msg("the note is \"%s\"", note);
    expect_seed(&g, seed);
    drop(&g);
}

static void expect_refused(const char *model, const char *optimizer, long global_batch, const char *told)
{
    struct given g;
    struct error e = {0};
    char note[600];
    assert_true(make(&g, model, optimizer));
    struct checkpoint c = checkpoint_of(&g, 0, optimizer);
    c.global_batch = global_batch;
    assert_false(checkpoint_read(run, &c, note, sizeof note, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    if (!strstr(e.text, told))
        fail_msg("\"%s\" does not say \"%s\"", e.text, told);
    drop(&g);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(run, "/tmp/ringside-checkpoint-XXXXXX");
    return mkdtemp(run) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", run);
    return system(command);
}

static void test_there_and_back(void **state)
{
    (void)state;
    struct given g;
    assert_true(make(&g, MODEL(4), "adam"));
    expect_refused(MODEL(4), "adam", 64, "has no checkpoint");
    for (long step = 8; step <= 12; step++)
        write_step(&g, step, (uint64_t)step);
    /* 9 < 10, though not as text */
    assert_true(there_is(12) && there_is(11));
    assert_false(there_is(10) || there_is(9) || there_is(8));
    expect_read(12, 12, NULL);
    /* PyTorch's names and shapes */
    struct error e = {0};
    struct safetensors *f = safetensors_open(file_of(12), &e);
    assert_non_null(f);
    assert_int_equal(safetensors_count(f), 12);
    const struct safetensors_entry *weight = safetensors_find(f, "0.weight");
    assert_true(weight && weight->rank == 4 && weight->extent[0] == 3 && weight->extent[1] == 1 &&
                weight->extent[2] == 3);
    assert_non_null(safetensors_find(f, "3.bias"));
    assert_non_null(safetensors_find(f, "optimizer.exp_avg.0.bias"));
    assert_non_null(safetensors_find(f, "optimizer.exp_avg_sq.3.weight"));
    assert_string_equal(safetensors_metadata(f, "step"), "12");
    assert_string_equal(safetensors_metadata(f, "optimizer"), "adam");
    assert_string_equal(safetensors_metadata(f, "seed"), "7");
    safetensors_close(f);
    drop(&g);
}

static void damage(const char *path, long at, bool cut)
{
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    if (cut) {
        assert_int_equal(ftruncate(fd, st.st_size + at), 0);
    } else {
        char byte;
        assert_int_equal(pread(fd, &byte, 1, st.st_size + at), 1);
        byte ^= 16;
        assert_int_equal(pwrite(fd, &byte, 1, st.st_size + at), 1);
    }
    close(fd);
}

static void test_damaged(void **state)
{
    (void)state;
    struct given g;
    assert_true(make(&g, MODEL(4), "adam"));
    write_step(&g, 100, 1);
    write_step(&g, 200, 2);
    damage(file_of(200), -9, true);
    expect_read(100, 1, "step-200.safetensors: the tensor");
    write_step(&g, 200, 2);
    damage(file_of(200), -50, false); /* one bit of one number */
    expect_read(100, 1, "step-200.safetensors is damaged");
    damage(file_of(100), -50, false);
    expect_refused(MODEL(4), "adam", 64, "step-100.safetensors is damaged");
    drop(&g);
}

static void test_of_another_training(void **state)
{
    (void)state;
    struct given g;
    assert_true(make(&g, MODEL(4), "adam"));
    write_step(&g, 5, 1);
    expect_refused(MODEL(5), "adam", 64,
                   "layer 3 (dense 5) needs \"3.weight\" of 5×48, the checkpoint has it as 4×48");
    expect_refused(
        "{\"name\": \"flat\", \"input\": [1, 6, 6], \"layers\": [{\"kind\": \"flatten\"}, " DENSE(4) "]}",
        "adam", 64, "needs \"1.weight\" of 4×36, the checkpoint has none");
    expect_refused(
        "{\"name\": \"shorter\", \"input\": [1, 6, 6], \"layers\": [{\"kind\": \"conv2d\", \"channels\": 3, "
        "\"kernel\": 3}]}",
        "adam", 64, "it has \"3.weight\", which model \"shorter\" has not");
    expect_refused(MODEL(4), "sgd", 64, "holds the state of adam, but this run's optimizer is sgd");
    expect_refused(MODEL(4), "adam", 32, "64 samples a step, this one has 32");
    /* Only the networks: neither optimiser nor batch matter. */
    struct given other;
    struct error e = {0};
    char note[600];
    assert_true(make(&other, MODEL(4), "sgd"));
    struct checkpoint c = checkpoint_of(&other, 0, NULL);
    assert_true(checkpoint_read(run, &c, note, sizeof note, &e));
    assert_memory_equal(other.network->parameters, g.network->parameters, g.model.parameters * sizeof(float));
    drop(&other);
    drop(&g);
}

/* One byte of the file is another: it is refused with a sentence, or what is read is what was written all the same. */
static void test_mutations(void **state)
{
    (void)state;
    struct given g, back;
    struct error e = {0};
    char note[600];
    assert_true(make(&g, MODEL(4), "adam") && make(&back, MODEL(4), "adam"));
    write_step(&g, 1, 1);
    int fd = open(file_of(1), O_RDWR);
    struct stat st;
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    int refused = 0, harmless = 0;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        struct random r = random_stream(seed, 11, 0);
        /* Two of three in the length and the header, which is the longer part of the story. */
        off_t at = (off_t)random_below(&r, random_below(&r, 3) ? 1500 : (uint64_t)st.st_size);
        unsigned char before, after;
        assert_int_equal(pread(fd, &before, 1, at), 1);
        after = (unsigned char)(before ^ 1u << random_below(&r, 8));
        assert_int_equal(pwrite(fd, &after, 1, at), 1);
        struct checkpoint c = checkpoint_of(&back, 0, "adam");
        if (checkpoint_read(run, &c, note, sizeof note, &e)) {
            expect_seed(&back, 1);
            harmless++;
        } else {
            assert_int_equal(e.kind, ERROR_INPUT);
            assert_non_null(strstr(e.text, "step-1.safetensors"));
            refused++;
        }
        assert_int_equal(pwrite(fd, &before, 1, at), 1);
    }
    assert_true(refused > 1000 && harmless > 0);
    close(fd);
    drop(&g), drop(&back);
}

/* Two networks in one file, as of a gan, and running statistics, which have no moments. */
static void test_two_networks(void **state)
{
    (void)state;
    static const char normed[] =
        "{\"name\": \"normed\", \"input\": [1, 6, 6], \"layers\": [{\"kind\": \"conv2d\", "
        "\"channels\": 3, \"kernel\": 3}, {\"kind\": \"batchnorm\"}]}";
    struct given a, b, a2, b2;
    struct error e = {0};
    char note[600];
    assert_true(make(&a, MODEL(4), "sgd") && make(&b, normed, "sgd"));
    assert_true(make(&a2, MODEL(4), "sgd") && make(&b2, normed, "sgd"));
    fill_all(&a, 1);
    fill_all(&b, 5);
    fill(b.network->state, b.model.states, 9);
    struct checkpoint c = {.optimizer = "sgd", .step = 3, .epoch = 0.25};
    checkpoint_add(&c, "one.", &a.model, a.network->parameters, a.network->state, a.optimizer);
    checkpoint_add(&c, "two.", &b.model, b.network->parameters, b.network->state, b.optimizer);
    assert_true(checkpoint_write(run, &c, NULL, &e));
    struct safetensors *f = safetensors_open(file_of(3), &e);
    assert_non_null(f);
    assert_non_null(safetensors_find(f, "two.1.running_var"));
    assert_non_null(safetensors_find(f, "optimizer.momentum_buffer.one.3.bias"));
    assert_null(safetensors_find(f, "optimizer.momentum_buffer.two.1.running_var"));
    safetensors_close(f);
    struct checkpoint back = {.optimizer = "sgd"};
    checkpoint_add(&back, "one.", &a2.model, a2.network->parameters, a2.network->state, a2.optimizer);
    checkpoint_add(&back, "two.", &b2.model, b2.network->parameters, b2.network->state, b2.optimizer);
    if (!checkpoint_read(run, &back, note, sizeof note, &e))
        fail_msg("%s", e.text);
    assert_int_equal(back.step, 3);
    assert_true(back.epoch == 0.25);
    assert_memory_equal(a.network->parameters, a2.network->parameters, a.model.parameters * sizeof(float));
    assert_memory_equal(a.optimizer->first, a2.optimizer->first, a.model.parameters * sizeof(float));
    assert_memory_equal(b.network->parameters, b2.network->parameters, b.model.parameters * sizeof(float));
    assert_memory_equal(b.network->state, b2.network->state, b.model.states * sizeof(float));
    drop(&a), drop(&b), drop(&a2), drop(&b2);
}

/* Whatever moment it is killed in, every file under a final name is whole. */
static void test_killed_while_writing(void **state)
{
    (void)state;
    struct given g;
    struct error e = {0};
    assert_true(make(
        &g,
        "{\"name\": \"wide\", \"input\": [1, 16, 16], \"layers\": [{\"kind\": \"flatten\"}, " DENSE(128) "]}",
        "adam"));
    fill_all(&g, 1);
    for (int i = 0; i < 12; i++) {
        int one_done[2];
        assert_int_equal(pipe(one_done), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            struct checkpoint c = checkpoint_of(&g, 1000 * i, "adam");
            for (;; c.step++)
                if (checkpoint_write(run, &c, NULL, NULL) && write(one_done[1], "", 1) != 1)
                    _exit(1);
        }
        char byte;
        assert_int_equal(read(one_done[0], &byte, 1), 1);
        nanosleep(&(struct timespec){.tv_nsec = i * 700000}, NULL);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        close(one_done[0]);
        close(one_done[1]);
    }
    char folder[128], path[512];
    snprintf(folder, sizeof folder, "%s/checkpoints", run);
    DIR *list = opendir(folder);
    assert_non_null(list);
    int whole = 0;
    for (struct dirent *entry; (entry = readdir(list));) {
        size_t length = strlen(entry->d_name);
        if (length < 12 || strcmp(entry->d_name + length - 12, ".safetensors") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        struct safetensors *f = safetensors_open(path, &e);
        uint64_t hash = 0;
        if (!f)
            fail_msg("%s", e.text);
        assert_true(safetensors_hash(f, &hash, &e));
        assert_int_equal(hash, strtoull(safetensors_metadata(f, "hash"), NULL, 16));
        safetensors_close(f);
        whole++;
    }
    closedir(list);
    assert_true(whole >= 1);
    drop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_there_and_back, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_damaged, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_of_another_training, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_mutations, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_two_networks, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_killed_while_writing, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
