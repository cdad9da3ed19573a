#include "engine/launch/runlog.h"

#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* What mpirun says around every failure and what tells a learner nothing. */
static bool is_boilerplate(const char *line)
{
    static const char *const phrases[] = {
        "Primary job ",
        "non-zero exit code. Per user-direction",
        "mpirun detected that one or more",
        "thus causing",
        "the job to be terminated. The first process to do so was",
        "mpirun noticed that process rank",
    };
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
        if (strstr(line, phrases[i]))
            return true;
    return false;
}

void runlog_line(struct runlog *l, const char *line, size_t length)
{
    if (strspn(line, " \t-=\r") < length && !is_boilerplate(line)) {
        memmove(l->last[0], l->last[1], sizeof l->last - sizeof l->last[0]);
        snprintf(l->last[RUNLOG_LAST - 1], RUNLOG_WIDTH, "%s", line + strspn(line, " \t"));
    }
    if (l->cut)
        return;
    if (l->size + length + 1 > RUNLOG_LIMIT) {
        static const char end[] = "(the log has reached its limit: what comes after is left out)\n";
        l->cut = true;
        if (write(l->fd, end, sizeof end - 1) < 0)
            return;
        return;
    }
    char newline = '\n';
    struct iovec parts[] = {{(char *)line, length}, {&newline, 1}};
    ssize_t n =
        writev(l->fd, parts, 2); /* a full disk harms the log alone; the stream notices it by itself */
    if (n > 0)
        l->size += (size_t)n;
}

void runlog_tail(const struct runlog *l, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < RUNLOG_LAST && used < size; i++) {
        if (!*l->last[i])
            continue;
        int n = snprintf(text + used, size - used, "%s%s", used ? " / " : "", l->last[i]);
        used += n > 0 ? (size_t)n : 0;
    }
}
