#include "tui/run_tail.h"

#include "engine/base/event.h"
#include "engine/base/files.h"
#include "engine/base/paths.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Enough for the last step, evaluation and done events. */
enum { TAIL_BYTES = 16 * 1024 };

static void take(struct run_tail *tail, const json_t *event)
{
    if (event_is(event, "step")) {
        tail->step = (long)event_integer(event, "step", tail->step);
        tail->loss = event_number(event, "loss", tail->loss);
        tail->samples_per_s = event_number(event, "samples_per_s", tail->samples_per_s);
    } else if (event_is(event, "eval")) {
        tail->accuracy = event_number(event, "accuracy", tail->accuracy);
    } else if (event_is(event, "done")) {
        tail->done = true;
        tail->ok = json_is_true(json_object_get(event, "ok"));
        tail->accuracy = event_number(event, "accuracy", tail->accuracy);
        tail->loss = event_number(event, "loss", tail->loss);
        tail->samples_per_s = event_number(event, "samples_per_s", tail->samples_per_s);
        tail->wall_s = event_number(event, "wall_s", NAN);
    }
}

void run_tail_read(const char *dir, struct run_tail *tail)
{
    *tail = (struct run_tail){-1, false, false, NAN, NAN, NAN, NAN};
    char path[PATH_MAX], text[TAIL_BYTES];
    struct stat st;
    if (!path_join(path, dir, "events.jsonl", NULL))
        return;
    int fd = file_open(path, 0, NULL);
    if (fd < 0)
        return;
    off_t from = fstat(fd, &st) == 0 && st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;
    ssize_t n = pread(fd, text, sizeof text, from);
    close(fd);
    const char *p = text, *end = text + (n > 0 ? n : 0);
    if (from > 0) { /* the first line may be a torn one */
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        p = newline ? newline + 1 : end;
    }
    for (const char *newline; p < end && (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1) {
        json_t *event = event_parse(p, (size_t)(newline - p));
        if (event)
            take(tail, event);
        json_decref(event);
    }
}
