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
enum { GRANULE = 4 };

/*
 * Who has been at four bytes in an epoch: there is a pair of these for each four bytes of the device's. The second word has,
 * from the lowest bit: the thread and its warp, or MANY; the warp's epoch, of which ten bits do; which of the four
 * bytes; and whether it was an atomic operation. (As a struct of bits the compiler writes it in parts, and the next
 * read of the whole waits for them.)
 */
struct visit {
    uint32_t epoch, who;
};
enum { THREAD_AT = 0, WARP_AT = 11, WARP_EPOCH_AT = 17, BYTES_AT = 27, ATOMIC_AT = 31 };
enum { MANY_THREADS = EMULATION_MAX_THREADS, MANY_WARPS = EMULATION_MAX_WARPS, WARP_EPOCHS = 1024 };

static inline uint32_t who(unsigned thread, unsigned warp, unsigned warp_epoch, unsigned bytes,
                           unsigned atomic)
{
    return thread << THREAD_AT | warp << WARP_AT | warp_epoch << WARP_EPOCH_AT | bytes << BYTES_AT |
           atomic << ATOMIC_AT;
}

static inline unsigned thread_of(const struct visit *v)
{
    return v->who >> THREAD_AT & 0x7ff;
}

static inline unsigned warp_of(const struct visit *v)
{
    return v->who >> WARP_AT & 0x3f;
}

static inline unsigned warp_epoch_of(const struct visit *v)
{
    return v->who >> WARP_EPOCH_AT & (WARP_EPOCHS - 1);
}

static inline unsigned bytes_of(const struct visit *v)
{
    return v->who >> BYTES_AT & 0xf;
}

static inline unsigned atomic_of(const struct visit *v)
{
    return v->who >> ATOMIC_AT;
}

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

/* Whether nothing orders this thread behind that visit of the same launch. */
static bool unordered(const struct visit *v, unsigned warp, bool shared)
{
    if (v->epoch < machine_view.launch_epoch)
        return false;
    if (v->epoch <
        machine_view.block_epoch) /* another block: after an atomic operation they may have agreed */
        return !shared && !machine_view.atomics;
    if (v->epoch != machine_view.epoch || thread_of(v) == machine_view.thread)
        return false;
    return warp_of(v) != warp || warp_epoch_of(v) == machine_view.warp_epoch % WARP_EPOCHS;
}

static void race(const void *address, const struct visit *v, bool write, bool other_write)
{
    char other[64] = "other threads";
    bool one = true;
    if (v->epoch < machine_view.block_epoch)
        snprintf(other, sizeof other, "another block");
    else if (thread_of(v) != MANY_THREADS)
        snprintf(other, sizeof other, "thread %u", thread_of(v));
    else
        one = false;
    machine_fault("%s where %s %s%s (%p), with no barrier between them", write ? "writes" : "reads", other,
                  other_write ? "write" : "read", one ? "s" : "", address);
}

/* One more. A write stands alone; reads of an epoch are kept together. */
static inline void visit(struct visit *v, unsigned warp, unsigned bytes, unsigned atomic, bool write)
{
    unsigned thread = machine_view.thread;
    if (v->epoch == machine_view.epoch) {
        bool same = thread_of(v) == thread;
        if (!write || same)
            bytes |= bytes_of(v);
        if (!write) {
            thread = same ? thread : MANY_THREADS;
            warp = warp_of(v) == warp ? warp : MANY_WARPS;
            atomic &= atomic_of(v);
        }
    }
    v->epoch = machine_view.epoch;
    v->who = who(thread, warp, machine_view.warp_epoch % WARP_EPOCHS, bytes, atomic);
}

/* Whether that visit and one to these bytes cannot both be. */
static inline bool clash(const struct visit *v, unsigned warp, unsigned bytes, unsigned atomic, bool shared)
{
    return v->epoch >= machine_view.launch_epoch && (bytes_of(v) & bytes) && !(atomic & atomic_of(v)) &&
           unordered(v, warp, shared);
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
        if (clash(&r->write, warp, mask, atomic, shared))
            race(address, &r->write, write, true);
        if (write && clash(&r->read, warp, mask, atomic, shared))
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
