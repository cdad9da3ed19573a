#include "engine/launch/gpus.h"

#include "engine/base/event.h"
#include "engine/base/paths.h"
#include "engine/launch/probe.h"

#include <limits.h>
#include <string.h>

enum { LIMIT_S = 30 }; /* a driver that nobody has used since the machine began takes seconds to wake up */

json_t *gpus_report(struct error *e)
{
    struct error why = {0};
    char rank[PATH_MAX], out[8192], err[1024];
    if (!path_program("ringside-rank", rank, e))
        return NULL;
    char *argv[] = {rank, (char *)"--gpus", NULL};
    int code = probe_command(argv, LIMIT_S, out, sizeof out, err, sizeof err, &why);
    json_t *answer = code == 0 ? event_parse(out, strcspn(out, "\n")) : NULL;
    if (!answer && why.kind == ERROR_NONE)
        error_set(&why, ERROR_FAILED, "ringside-rank --gpus fails: %.*s", (int)strcspn(err, "\n"), err);
    if (!answer && e)
        *e = why;
    return answer;
}

int gpus_count(void)
{
    json_t *answer = gpus_report(NULL);
    bool usable = answer && !event_text(answer, "missing", NULL);
    int count = usable ? (int)json_array_size(json_object_get(answer, "gpus")) : 0;
    json_decref(answer);
    return count;
}
