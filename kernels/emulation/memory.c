#include "kernels/emulation/machine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define MEMORY_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEMORY_ASAN 1
#endif
#endif

enum { MEMORY_ALIGN = 256, MEMORY_GAP = 1024, MEMORY_GRANULE = 4 };
#define MEMORY_RANGE ((size_t)16 << 30)

struct memory_map memory_map;

struct piece {
    void *start;
    size_t bytes;
    enum memory_kind kind;
};

static struct {
    pthread_mutex_t lock;
    struct piece *pieces; /* in no order */
    size_t count, room;
    size_t used; /* of the range */
    size_t device_bytes, limit;
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

void memory_poison(void *start, size_t bytes)
{
    memset(start, 0xff, bytes);
}

#ifdef MEMORY_ASAN

static void *take(size_t bytes, enum memory_kind kind)
{
    (void)kind;
    void *start = NULL;
    return posix_memalign(&start, MEMORY_ALIGN, bytes) == 0 ? start : NULL;
}

static void give(const struct piece *p)
{
    free(p->start);
}

#else

static void *reserve(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    madvise(at, bytes, MADV_DONTDUMP);
    return at;
}

static void *take(size_t bytes, enum memory_kind kind)
{
    if (memory_map.bytes == 0) {
        void *range = reserve(MEMORY_RANGE);
        memory_map.valid = reserve(MEMORY_RANGE / MEMORY_GRANULE);
        if (!range || !memory_map.valid)
            return NULL;
        memory_map.start = (uintptr_t)range;
        memory_map.bytes = MEMORY_RANGE;
    }
    size_t whole = (bytes + MEMORY_GAP + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;
    if (whole > memory_map.bytes - memory.used)
        return NULL;
    uint8_t *valid = memory_map.valid + memory.used / MEMORY_GRANULE;
    const unsigned flag = kind == MEMORY_SHARED ? MEMORY_IS_SHARED : 0;
    memset(valid, (int)(flag | MEMORY_GRANULE), bytes / MEMORY_GRANULE);
    valid[bytes / MEMORY_GRANULE] = (uint8_t)(flag | bytes % MEMORY_GRANULE);
    void *start = (void *)(memory_map.start + memory.used);
    memory.used += whole;
    return start;
}

static void give(const struct piece *p)
{
    size_t offset = (uintptr_t)p->start - memory_map.start;
    memset(memory_map.valid + offset / MEMORY_GRANULE, 0, p->bytes / MEMORY_GRANULE + 1);
    uintptr_t page = 4096, first = ((uintptr_t)p->start + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)p->start + p->bytes) & ~(page - 1);
    if (end > first)
        madvise((void *)first, end - first, MADV_DONTNEED);
    if (memory.count == 0)
        memory.used = 0; /* nobody holds any: begin anew */
}

#endif

static size_t limit(void)
{
    if (memory.limit == 0) {
        const char *text = getenv("RINGSIDE_EMULATION_MEMORY");
        memory.limit = text ? strtoull(text, NULL, 10) : 0;
        if (memory.limit == 0)
            memory.limit = (size_t)1 << 30;
    }
    return memory.limit;
}

void emulation_memory_limit(size_t bytes)
{
    memory.limit = bytes;
}

size_t emulation_memory_in_use(void)
{
    return memory.device_bytes;
}

size_t memory_of_device(void)
{
    return limit();
}

static bool grow(void)
{
    if (memory.count < memory.room)
        return true;
    size_t room = memory.room ? 2 * memory.room : 64;
    struct piece *more = realloc(memory.pieces, room * sizeof *more);
    if (!more)
        return false;
    memory.pieces = more;
    memory.room = room;
    return true;
}

void *memory_take(size_t bytes, enum memory_kind kind)
{
    void *start = NULL;
    if (bytes == 0)
        return NULL;
    pthread_mutex_lock(&memory.lock);
    bool fits = kind != MEMORY_DEVICE || (bytes <= limit() && memory.device_bytes <= limit() - bytes);
    if (fits && grow())
        start = take(bytes, kind);
    if (start) {
        memory.pieces[memory.count++] = (struct piece){start, bytes, kind};
        memory.device_bytes += kind == MEMORY_DEVICE ? bytes : 0;
        memory_poison(start, bytes);
    }
    pthread_mutex_unlock(&memory.lock);
    return start;
}

bool memory_give(void *start)
{
    bool found = start == NULL;
    pthread_mutex_lock(&memory.lock);
    for (size_t i = 0; i < memory.count && !found; i++) {
        if (memory.pieces[i].start != start)
            continue;
        struct piece p = memory.pieces[i];
        memory.pieces[i] = memory.pieces[--memory.count];
        memory.device_bytes -= p.kind == MEMORY_DEVICE ? p.bytes : 0;
        give(&p);
        found = true;
    }
    pthread_mutex_unlock(&memory.lock);
    return found;
}

bool memory_within(const void *start, size_t bytes, enum memory_kind *kind)
{
    bool found = false;
    pthread_mutex_lock(&memory.lock);
    for (size_t i = 0; i < memory.count && !found; i++) {
        const struct piece *p = &memory.pieces[i];
        size_t offset = (uintptr_t)start - (uintptr_t)p->start;
        if (offset >= p->bytes || bytes > p->bytes - offset)
            continue;
        *kind = p->kind;
        found = true;
    }
    pthread_mutex_unlock(&memory.lock);
    return found;
}
