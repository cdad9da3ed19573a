#include "kernels/emulation/machine.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>

/*
 * The compiler puts a call before every load and store of a kernel that is built with -fsanitize=thread. Here they do
 * not lead to its library but to this: of each four bytes of the device's memory is known who wrote and who read them last
 * and in which epoch, that is, since which barrier. Two threads at one place in the same epoch, one of them writing, is a
 * race, whatever order they happened to come in.
 */
enum {
    GRANULE = 4,
    MANY_THREADS = EMULATION_MAX_THREADS,
    MANY_WARPS = EMULATION_MAX_WARPS,
    WARP_EPOCHS = 1024
};

/* Who has been at four bytes in an epoch. Eight bytes: there is a pair of them for each four of the device's. */
struct visit {
    uint32_t epoch;
    unsigned thread : 11, warp : 6; /* or MANY */
    unsigned warp_epoch : 10;       /* of the last of them, modulo WARP_EPOCHS */
    unsigned bytes : 4;             /* which of the four */
    unsigned atomic : 1;
};

struct record {
    struct visit write, read;
};

static struct record *records;
static bool instrumented;

static bool make_records(void)
{
    void *at = mmap(NULL, memory_map.bytes / GRANULE * sizeof *records, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    records = at == MAP_FAILED ? NULL : at;
    if (records)
        madvise(at, memory_map.bytes / GRANULE * sizeof *records, MADV_DONTDUMP);
    return records != NULL;
}

bool emulation_checks_accesses(void)
{
    return instrumented;
}

enum { KNOWN_PAGES = 64, PAGE_SHIFT = 12 };

/* Within a program or a library: what a kernel reads there is a constant. */
static bool in_program(const void *address)
{
    static uintptr_t known[KNOWN_PAGES];
    uintptr_t page = (uintptr_t)address >> PAGE_SHIFT;
    if (known[page % KNOWN_PAGES] == page)
        return true;
    Dl_info info;
    if (dladdr(address, &info) == 0)
        return false;
    known[page % KNOWN_PAGES] = page;
    return true;
}

/* No memory of the device: the thread's own stack, the launch's arguments, a constant, or a fault. */
static void elsewhere(const void *address, unsigned bytes, bool write)
{
    uintptr_t in_arguments = (uintptr_t)address - (uintptr_t)machine_view.arguments,
              in_stack = (uintptr_t)address - machine_view.stack;
    if (in_stack >= machine_view.stack_bytes && in_arguments >= machine_view.argument_bytes &&
        !in_program(address))
        machine_fault("%s %u bytes at %p, which is no memory of the device", write ? "writes" : "reads",
                      bytes, address);
}

/* Whether nothing orders this thread behind that visit. */
static bool unordered(const struct visit *v, unsigned warp, bool shared)
{
    if (v->epoch < machine_view.launch_epoch)
        return false;
    if (v->epoch <
        machine_view.block_epoch) /* another block: after an atomic operation they may have agreed */
        return !shared && !machine_view.atomics;
    if (v->epoch != machine_view.epoch || v->thread == machine_view.thread)
        return false;
    return v->warp != warp || v->warp_epoch == machine_view.warp_epoch % WARP_EPOCHS;
}

static void race(const void *address, const struct visit *v, bool write, bool other_write)
{
    char who[64] = "other threads";
    if (v->epoch < machine_view.block_epoch)
        snprintf(who, sizeof who, "another block");
    else if (v->thread != MANY_THREADS)
        snprintf(who, sizeof who, "thread %u", v->thread);
    machine_fault("%s what %s %s (%p) with no barrier between them", write ? "writes" : "reads", who,
                  other_write ? "writes" : "reads", address);
}

/* One more. A write stands alone; reads of an epoch are kept together. */
static void visit(struct visit *v, unsigned warp, unsigned bytes, bool atomic, bool write)
{
    const bool fresh = v->epoch != machine_view.epoch;
    struct visit now = {.epoch = machine_view.epoch,
                        .thread = machine_view.thread,
                        .warp = warp,
                        .warp_epoch = machine_view.warp_epoch % WARP_EPOCHS,
                        .bytes = bytes,
                        .atomic = atomic};
    if (!fresh && (!write || v->thread == now.thread))
        now.bytes |= v->bytes;
    if (!fresh && !write) {
        now.thread = v->thread == now.thread ? now.thread : MANY_THREADS;
        now.warp = v->warp == now.warp ? now.warp : MANY_WARPS;
        now.atomic &= v->atomic;
    }
    *v = now;
}

static void look(const void *address, unsigned bytes, bool write, bool atomic)
{
    if (!machine_view.running || memory_map.bytes == 0)
        return;
    uintptr_t offset = (uintptr_t)address - memory_map.start;
    if (offset >= memory_map.bytes) {
        elsewhere(address, bytes, write);
        return;
    }
    if (!records && !make_records())
        return;
    const unsigned warp = machine_view.thread / EMULATION_LANES;
    for (uintptr_t end = offset + bytes; offset < end;) {
        uintptr_t granule = offset / GRANULE;
        unsigned first = offset % GRANULE, last = end - granule * GRANULE < GRANULE ? end % GRANULE : GRANULE;
        unsigned mask = (1u << last) - (1u << first);
        const bool shared = memory_map.valid[granule] & MEMORY_IS_SHARED;
        if (last > (memory_map.valid[granule] & ~MEMORY_IS_SHARED)) {
            machine_fault("%s %u bytes at %p, beyond the end of what is there", write ? "writes" : "reads",
                          bytes, address);
            return;
        }
        struct record *r = &records[granule];
        if ((r->write.bytes & mask) && !(atomic && r->write.atomic) && unordered(&r->write, warp, shared))
            race(address, &r->write, write, true);
        if (write && (r->read.bytes & mask) && !(atomic && r->read.atomic) &&
            unordered(&r->read, warp, shared))
            race(address, &r->read, true, false);
        visit(write ? &r->write : &r->read, warp, mask, atomic, write);
        offset = (granule + 1) * GRANULE;
    }
}

void emulation_atomic(void *address, size_t bytes)
{
    machine_view.atomics = true;
    look(address, (unsigned)bytes, true, true);
}

/* --- what the compiler calls. Of a function's entry and end, and of C++'s tables of functions, nothing is asked. --- */

#define HOOK(name, ...)                                                                                      \
    void name(__VA_ARGS__);                                                                                  \
    void name(__VA_ARGS__)
#define ACCESS(bytes)                                                                                        \
    HOOK(__tsan_read##bytes, void *at)                                                                       \
    {                                                                                                        \
        look(at, bytes, false, false);                                                                       \
    }                                                                                                        \
    HOOK(__tsan_write##bytes, void *at)                                                                      \
    {                                                                                                        \
        look(at, bytes, true, false);                                                                        \
    }                                                                                                        \
    HOOK(__tsan_unaligned_read##bytes, void *at)                                                             \
    {                                                                                                        \
        look(at, bytes, false, false);                                                                       \
    }                                                                                                        \
    HOOK(__tsan_unaligned_write##bytes, void *at)                                                            \
    {                                                                                                        \
        look(at, bytes, true, false);                                                                        \
    }                                                                                                        \
    HOOK(__tsan_read_write##bytes, void *at)                                                                 \
    {                                                                                                        \
        look(at, bytes, true, false);                                                                        \
    }                                                                                                        \
    HOOK(__tsan_unaligned_read_write##bytes, void *at)                                                       \
    {                                                                                                        \
        look(at, bytes, true, false);                                                                        \
    }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
HOOK(__tsan_read_range, void *at, unsigned long bytes)
{
    look(at, (unsigned)bytes, false, false);
}
HOOK(__tsan_write_range, void *at, unsigned long bytes)
{
    look(at, (unsigned)bytes, true, false);
}
HOOK(__tsan_vptr_update, void **at, void *value)
{
    (void)at;
    (void)value;
}
HOOK(__tsan_vptr_read, void **at)
{
    (void)at;
}
HOOK(__tsan_func_entry, void *from)
{
    (void)from;
}
HOOK(__tsan_func_exit, void)
{
}
HOOK(__tsan_init, void) /* before main, where a kernel was compiled to be looked at */
{
    instrumented = true;
}
