#include "engine/launch/slots.h"

#include "engine/base/paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_TRIES = 100, LOCK_WAIT_NS = 5000000 };

struct slots {
    char dir[PATH_MAX];
    char ticket[64];
    int ticket_fd;
    int count, cap;
    int *held; /* descriptors of the slots, once they are held */
};

const char *slots_directory(void)
{
    const char *given = getenv("RINGSIDE_SLOTS_DIR");
    return given && *given ? given : "/tmp/ringside-slots";
}

/*
 * Opens a file of the directory for locking; made where it is missing. Others' files are opened for reading
 * only and never with O_CREAT, which kernels refuse in a sticky directory (fs.protected_regular).
 */
static int open_lock(const char *dir, const char *name)
{
    char path[PATH_MAX];
    if (!path_join(path, dir, name, NULL))
        return -1;
    for (int tries = 0; tries < 3; tries++) {
        int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (fd >= 0 || errno != ENOENT)
            return fd;
        fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (fd >= 0) {
            fchmod(fd, 0644); /* whatever the umask: others must be able to open it */
            return fd;
        }
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

static bool open_directory(const char *dir, struct error *e)
{
    struct stat st;
    if (mkdir(dir, 01777) == 0) {
        if (chmod(dir, 01777) != 0)
            return error_errno(e, ERROR_FAILED, "the folder %s cannot be opened to all users", dir);
    } else if (errno != EEXIST) {
        return error_errno(e, ERROR_FAILED, "the folder %s cannot be made", dir);
    }
    if (lstat(dir, &st) != 0)
        return error_errno(e, ERROR_FAILED, "the folder %s cannot be read", dir);
    if (!S_ISDIR(st.st_mode))
        return error_set(e, ERROR_FAILED, "%s is not a folder", dir);
    if (access(dir, W_OK | X_OK) != 0)
        return error_errno(e, ERROR_FAILED, "the folder %s cannot be written", dir);
    return true;
}

/*
 * The mutex that makes taking a ticket, and taking slots, one step. It is held for microseconds only; a
 * process that is stopped while it holds it must not stop everybody else, so the wait is bounded.
 */
static int lock_queue(const char *dir)
{
    int fd = open_lock(dir, "queue");
    if (fd < 0)
        return -1;
    for (int tries = 0; tries < LOCK_TRIES; tries++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return fd;
        nanosleep(&(struct timespec){.tv_nsec = LOCK_WAIT_NS}, NULL);
    }
    close(fd);
    errno = ETIMEDOUT;
    return -1;
}

struct slots *slots_queue(int count, int cap, struct error *e)
{
    struct slots *s = calloc(1, sizeof *s);
    if (!s || !(s->held = malloc((size_t)count * sizeof *s->held))) {
        free(s);
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    s->ticket_fd = -1, s->count = count, s->cap = cap;
    for (int i = 0; i < count; i++)
        s->held[i] = -1;
    int queue = -1;
    if (!path_join(s->dir, slots_directory(), "", e) || !open_directory(s->dir, e))
        goto fail;
    queue = lock_queue(s->dir);
    if (queue < 0) {
        error_errno(e, ERROR_FAILED, "the queue in %s cannot be locked", s->dir);
        goto fail;
    }
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    snprintf(s->ticket, sizeof s->ticket, "ticket-%012lld%09ld-%ld", (long long)t.tv_sec, t.tv_nsec,
             (long)getpid());
    s->ticket_fd = open_lock(s->dir, s->ticket);
    if (s->ticket_fd < 0 || flock(s->ticket_fd, LOCK_EX | LOCK_NB) != 0) {
        error_errno(e, ERROR_FAILED, "no place in the queue in %s", s->dir);
        goto fail;
    }
    close(queue);
    return s;
fail:
    if (queue >= 0)
        close(queue);
    slots_free(s);
    return NULL;
}

/* How many live tickets are older than ours. Dead ones (nobody holds the lock) are removed where we may. */
static int older_tickets(const struct slots *s)
{
    DIR *folder = opendir(s->dir);
    if (!folder)
        return 0;
    int older = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strncmp(entry->d_name, "ticket-", 7) != 0 || strcmp(entry->d_name, s->ticket) >= 0)
            continue;
        int fd = openat(dirfd(folder), entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
            continue;
        if (flock(fd, LOCK_SH | LOCK_NB) == 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
        else
            older++;
        close(fd);
    }
    closedir(folder);
    return older;
}

static void drop_held(struct slots *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->held[i] >= 0) {
            close(s->held[i]);
            s->held[i] = -1;
        }
}

/* All or nothing. */
static bool take(struct slots *s)
{
    int got = 0;
    for (int i = 0; i < s->cap && got < s->count; i++) {
        char name[32];
        snprintf(name, sizeof name, "slot-%d", i);
        int fd = open_lock(s->dir, name);
        if (fd < 0)
            continue;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            s->held[got++] = fd;
        else
            close(fd);
    }
    if (got == s->count)
        return true;
    drop_held(s);
    return false;
}

static void leave_queue(struct slots *s)
{
    char path[PATH_MAX];
    if (s->ticket_fd < 0)
        return;
    if (path_join(path, s->dir, s->ticket, NULL))
        unlink(path);
    close(s->ticket_fd);
    s->ticket_fd = -1;
}

bool slots_try(struct slots *s, int *position)
{
    *position = 0;
    int queue = lock_queue(s->dir);
    if (queue < 0)
        return false;
    *position = older_tickets(s);
    bool held = *position == 0 && take(s);
    if (held)
        leave_queue(s);
    close(queue);
    return held;
}

int slots_taken(int cap)
{
    int taken = 0;
    struct stat st;
    if (stat(slots_directory(), &st) != 0)
        return errno == ENOENT ? 0 : -1;
    for (int i = 0; i < cap; i++) {
        char name[32], path[PATH_MAX];
        snprintf(name, sizeof name, "slot-%d", i);
        if (!path_join(path, slots_directory(), name, NULL))
            return -1;
        int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
            continue;
        taken += flock(fd, LOCK_SH | LOCK_NB) != 0;
        close(fd);
    }
    return taken;
}

void slots_free(struct slots *s)
{
    if (!s)
        return;
    leave_queue(s);
    drop_held(s);
    free(s->held);
    free(s);
}
