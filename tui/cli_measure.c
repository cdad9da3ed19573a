/* cli_measure.c - how the commands that measure end: their job is checked, started and followed. */
#include "engine/base/rundir.h"
#include "engine/launch/launch.h"
#include "tui/cli.h"
#include "tui/follow.h"

#include <stdio.h>

int cli_measure(const struct job *job, const char *out, bool detach, bool json)
{
    struct error e = {0};
    if (!job_validate(job, &e)) {
        struct error plain = e;
        error_set(&e, plain.kind, "--%s", plain.text);
        return cli_fail(&e);
    }
    char dir[PATH_MAX];
    if (!(*out ? launch_start_in(job, out, dir, &e) : launch_start(job, dir, &e)))
        return cli_fail(&e);
    if (detach) {
        puts(*out ? dir : rundir_id(dir));
        return 0;
    }
    return follow_run(dir, &(struct follow){.json = json});
}
