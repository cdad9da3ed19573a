#include "kernels/emulation/block.h"

#include "kernels/emulation/fiber.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct emulation_here emulation_here;
struct machine_view machine_view;

enum { SHARED_ARRAYS = 64 };

/* An array in shared memory: made when a kernel first asks, kept, and filled with NaN for every block. */
struct shared_array {
    const void *tag;
    void *memory;
    size_t bytes;
    long block; /* the last that used it */
};

static struct {
    uint64_t random;
    bool seeded;
    struct block_thread threads[EMULATION_MAX_THREADS];
    struct block_warp warps[EMULATION_MAX_WARPS];
    unsigned count, gone, at_barrier;
    struct block_thread *ready[EMULATION_MAX_THREADS];
    unsigned ready_count;
    struct block_thread *current;
    int barrier_result[3];

    pthread_t host_thread;
    struct fiber *host, *idle[EMULATION_MAX_THREADS + 1];
    unsigned idle_count;

    const struct emulation_launch *launch;
    struct shared_array shared[SHARED_ARRAYS];
    unsigned shared_count;
    void *dynamic;
    size_t dynamic_bytes;
    struct emulation_counts counts;
    bool faulty;
    char fault[640];
} machine;

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* --- what has been found wrong --- */

static void say_thread(char *text, size_t room, const struct block_thread *t)
{
    const struct emulation_index i = t->index, d = machine.launch->block;
    if (d.y == 1 && d.z == 1)
        snprintf(text, room, "thread %u", i.x);
    else
        snprintf(text, room, "thread (%u, %u, %u)", i.x, i.y, i.z);
}

static void say_where(char *text, size_t room, const struct block_thread *t)
{
    char who[64];
    say_thread(who, sizeof who, t);
    switch (t->state) {
    case THREAD_GONE: snprintf(text, room, "%s has left the kernel", who); break;
    case THREAD_READY: snprintf(text, room, "%s runs", who); break;
    default: snprintf(text, room, "%s waits in %s at %s:%d", who, t->at.what, t->at.file, t->at.line);
    }
}

static void note_fault(const char *sentence)
{
    const struct emulation_index b = emulation_here.block;
    if (!machine.faulty)
        snprintf(machine.fault, sizeof machine.fault, "kernel %s, block (%u, %u, %u): %s",
                 machine.launch->kernel, b.x, b.y, b.z, sentence);
    machine.faulty = true;
}

void machine_fault(const char *format, ...)
{
    char sentence[400], who[64], all[sizeof sentence + sizeof who + 2];
    va_list list;
    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    if (!machine_view.running)
        return;
    machine_view.running = false;
    say_thread(who, sizeof who, machine.current);
    snprintf(all, sizeof all, "%s %s", who, sentence);
    note_fault(all);
    fiber_switch(machine.current->fiber, machine.host); /* and never comes back */
}

void machine_host_fault(const char *sentence)
{
    if (!machine.faulty)
        snprintf(machine.fault, sizeof machine.fault, "%s", sentence);
    machine.faulty = true;
}

const char *emulation_fault(void)
{
    return machine.faulty ? machine.fault : NULL;
}

void emulation_clear(void)
{
    machine.faulty = false;
}

struct emulation_counts emulation_counts(void)
{
    return machine.counts;
}

/* --- the order of things --- */

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t draw(void)
{
    uint64_t z = machine.random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static unsigned draw_below(unsigned n)
{
    return (unsigned)((draw() >> 32) * n >> 32);
}

void emulation_seed(uint64_t seed)
{
    machine.random = seed;
    machine.seeded = true;
}

static void seed_once(void)
{
    const char *text = getenv("RINGSIDE_EMULATION_SEED");
    if (!machine.seeded)
        emulation_seed(text ? strtoull(text, NULL, 10) : 1);
}

struct block_thread *block_current(void)
{
    return machine.current;
}

struct block_thread *block_thread(unsigned linear)
{
    return &machine.threads[linear];
}

struct block_warp *block_warp_of(const struct block_thread *t)
{
    return &machine.warps[t->linear / EMULATION_LANES];
}

void block_ready(struct block_thread *t)
{
    t->state = THREAD_READY;
    machine.ready[machine.ready_count++] = t;
}

static void open_barrier(void)
{
    machine_view.epoch++;
    machine.at_barrier = 0;
    int count = 0;
    for (unsigned i = 0; i < machine.count; i++)
        count += machine.threads[i].barrier_value != 0;
    machine.barrier_result[BARRIER_COUNT] = count;
    machine.barrier_result[BARRIER_AND] = count == (int)machine.count;
    machine.barrier_result[BARRIER_OR] = count > 0;
    for (unsigned i = 0; i < machine.count; i++)
        block_ready(&machine.threads[i]);
}

static bool same_site(const struct emulation_site *a, const struct emulation_site *b)
{
    return a->line == b->line && strcmp(a->file, b->file) == 0 && strcmp(a->what, b->what) == 0;
}

/* Nobody can go on. Either all wait at one barrier, or all are through, or what they wait for will not come. */
static void settle(void)
{
    const struct block_thread *first = NULL, *other = NULL;
    for (unsigned i = 0; i < machine.count; i++) {
        const struct block_thread *t = &machine.threads[i];
        if (!first && t->state != THREAD_GONE)
            first = t;
    }
    if (!first)
        return;
    for (unsigned i = 0; i < machine.count && !other; i++) {
        const struct block_thread *t = &machine.threads[i];
        if (t->state != first->state || !same_site(&t->at, &first->at))
            other = t;
    }
    if (!other && first->state == THREAD_AT_BARRIER) {
        open_barrier();
        return;
    }
    char one[160], two[160] = "a lane of its warp that it names does not come", sentence[400];
    say_where(one, sizeof one, first);
    if (other)
        say_where(two, sizeof two, other);
    snprintf(sentence, sizeof sentence, "%s, but %s", one, two);
    note_fault(sentence);
}

/* Who runs next: one of those that can, by lot. NULL: the block is over. */
static struct block_thread *choose(void)
{
    if (machine.ready_count == 0)
        settle();
    if (machine.ready_count == 0)
        return NULL;
    unsigned i = draw_below(machine.ready_count);
    struct block_thread *t = machine.ready[i];
    machine.ready[i] = machine.ready[--machine.ready_count];
    return t;
}

static void run_as(struct block_thread *t)
{
    machine.current = t;
    emulation_here.thread = t->index;
    machine_view.thread = t->linear;
    machine_view.warp_epoch = block_warp_of(t)->epoch;
    machine_view.stack = (uintptr_t)fiber_stack(t->fiber, &machine_view.stack_bytes);
}

/* What every fiber does: runs a thread to its end and goes on with the next one that has not begun. */
static void work(void *self_)
{
    struct fiber *const *self = self_;
    for (;;) {
        struct block_thread *t = machine.current;
        t->fiber = *self;
        run_as(t);
        machine.launch->call(machine.launch->arguments);
        t->state = THREAD_GONE;
        t->fiber = NULL;
        machine.gone++;
        struct block_warp *w = block_warp_of(t);
        w->gone |= 1u << t->linear % EMULATION_LANES;
        if (w->waiting)
            warp_release(w, t->linear / EMULATION_LANES * EMULATION_LANES, w->waiting);

        struct block_thread *next = choose();
        machine.current = next;
        if (next && !next->fiber)
            continue;
        machine.idle[machine.idle_count++] = *self;
        machine.counts.switches++;
        fiber_switch(*self, next ? next->fiber : machine.host);
    }
}

/* A fiber that can begin with machine.current. */
static struct fiber *idle_fiber(void)
{
    if (machine.idle_count > 0)
        return machine.idle[--machine.idle_count];
    struct fiber **self = malloc(sizeof *self);
    struct fiber *f = self ? fiber_new(work, self) : NULL;
    if (!f) {
        fprintf(stderr, "emulation: no memory for the threads of a block\n");
        abort();
    }
    *self = f;
    return f;
}

void block_wait(struct block_thread *t)
{
    struct block_thread *next = choose();
    if (next != t) {
        struct fiber *own = t->fiber;
        machine.current = next;
        machine.counts.switches++;
        fiber_switch(own, !next ? machine.host : next->fiber ? next->fiber : idle_fiber());
    }
    run_as(t);
}

int emulation_barrier(struct emulation_site at, int value, enum barrier_result result)
{
    struct block_thread *t = machine.current;
    t->at = at;
    t->barrier_value = value;
    t->state = THREAD_AT_BARRIER;
    machine.at_barrier++;
    block_wait(t);
    return machine.barrier_result[result];
}

/* --- shared memory --- */

void *emulation_shared(const void *tag, size_t bytes, size_t align)
{
    (void)align; /* whatever it is: pieces of memory begin on 256 bytes, or as malloc's do */
    struct shared_array *a = NULL;
    for (unsigned i = 0; i < machine.shared_count && !a; i++)
        if (machine.shared[i].tag == tag && machine.shared[i].bytes == bytes)
            a = &machine.shared[i];
    if (!a) {
        if (machine.shared_count == SHARED_ARRAYS) {
            machine_fault("asks for more arrays of shared memory than the emulation has room for (%d)",
                          SHARED_ARRAYS);
            abort();
        }
        a = &machine.shared[machine.shared_count++];
        *a = (struct shared_array){.tag = tag, .memory = memory_take(bytes, MEMORY_SHARED), .bytes = bytes};
        if (!a->memory)
            abort();
    }
    if (a->block != machine.counts.blocks) {
        a->block = machine.counts.blocks;
        memory_poison(a->memory, a->bytes);
    }
    return a->memory;
}

void *emulation_shared_dynamic(void)
{
    return machine.dynamic;
}

static void make_dynamic(size_t bytes)
{
    if (bytes != machine.dynamic_bytes) {
        memory_give(machine.dynamic);
        machine.dynamic = bytes > 0 ? memory_take(bytes, MEMORY_SHARED) : NULL;
        machine.dynamic_bytes = bytes;
    }
    if (bytes > 0)
        memory_poison(machine.dynamic, bytes);
}

/* --- a launch --- */

static void begin_block(unsigned number)
{
    const struct emulation_index g = machine.launch->grid, d = machine.launch->block;
    machine.counts.blocks++;
    machine.counts.threads += machine.count;
    emulation_here.block = (struct emulation_index){number % g.x, number / g.x % g.y, number / g.x / g.y};
    machine.gone = machine.at_barrier = machine.ready_count = 0;
    machine_view.epoch++;
    machine_view.block_epoch = machine_view.epoch;
    machine_view.atomics = false;
    make_dynamic(machine.launch->shared_bytes);
    for (unsigned w = 0; w * EMULATION_LANES < machine.count; w++) {
        unsigned lanes = machine.count - w * EMULATION_LANES;
        machine.warps[w] = (struct block_warp){.present = lanes >= EMULATION_LANES ? ~0u : (1u << lanes) - 1,
                                               .epoch = machine.warps[w].epoch + 1};
    }
    for (unsigned i = 0; i < machine.count; i++) {
        struct block_thread *t = &machine.threads[i];
        t->index = (struct emulation_index){i % d.x, i / d.x % d.y, i / d.x / d.y};
        t->linear = i;
        t->fiber = NULL;
        t->at = (struct emulation_site){"", "", 0};
        block_ready(t);
    }
}

/* After a fault: the fibers of threads that will not go on are as new. */
static void give_up_block(void)
{
    for (unsigned i = 0; i < machine.count; i++) {
        struct fiber *f = machine.threads[i].fiber;
        if (!f)
            continue;
        fiber_reset(f);
        machine.idle[machine.idle_count++] = f;
    }
}

static unsigned common_divisor(unsigned a, unsigned b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

void emulation_run(const struct emulation_launch *l)
{
    pthread_mutex_lock(&one_at_a_time);
    if (machine.faulty) {
        pthread_mutex_unlock(&one_at_a_time);
        return;
    }
    if (!machine.host || !pthread_equal(machine.host_thread, pthread_self())) {
        fiber_free(machine.host);
        machine.host = fiber_of_caller();
        machine.host_thread = pthread_self();
        if (!machine.host)
            abort();
    }
    seed_once();
    machine.launch = l;
    machine.count = l->block.x * l->block.y * l->block.z;
    machine.counts.launches++;
    emulation_here.block_dim = l->block;
    emulation_here.grid_dim = l->grid;
    machine_view.launch_epoch = machine_view.epoch + 1;
    machine_view.arguments = l->arguments;
    machine_view.argument_bytes = l->argument_bytes;

    /* All blocks in an order drawn by lot: i × step + start, where step and the number of blocks have no divisor in common. */
    const unsigned blocks = l->grid.x * l->grid.y * l->grid.z;
    unsigned number = draw_below(blocks), step = 1 + draw_below(blocks);
    while (common_divisor(step, blocks) != 1)
        step = 1 + draw_below(blocks);
    for (unsigned i = 0; i < blocks && !machine.faulty; i++) {
        begin_block(number);
        machine.current = choose();
        machine_view.running = true;
        fiber_switch(machine.host, idle_fiber());
        machine_view.running = false;
        if (machine.faulty)
            give_up_block();
        number = (unsigned)(((uint64_t)number + step) % blocks);
    }
    machine.launch = NULL;
    pthread_mutex_unlock(&one_at_a_time);
}
