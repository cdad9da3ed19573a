#include "engine/launch/runlog.h"

#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

void runlog_line(struct runlog *l, const char *line, size_t length)
{
    if (strspn(line, " \t-=\r") < length) {
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
