#include "engine/launch/resume.h"

#include "engine/base/rundir.h"

bool resume_job(const char *run, struct job *job, char dir[PATH_MAX], struct error *e)
{
    if (!rundir_find_trained(run, dir, e) || !job_load(job, dir, e))
        return false;
    if (job->kind != JOB_TRAIN || *job->train.eval) {
        job_clear(job);
        return error_set(e, ERROR_INPUT, "the run %s trained no model, so it has no checkpoint",
                         rundir_id(dir));
    }
    job->label[0] = job->parent[0] = 0;
    job->train.resume[0] = 0;
    return true;
}

bool resume_keep_global_batch(struct job *job, int ranks_before, struct error *e)
{
    long global = (long)job->train.batch * ranks_before;
    if (job->ranks < 1 || global % job->ranks != 0)
        return error_set(
            e, ERROR_INPUT,
            "ranks: the run trained with a global batch of %ld, which %d ranks cannot share evenly; "
            "it had %d ranks",
            global, job->ranks, ranks_before);
    job->train.batch = (int)(global / job->ranks);
    return true;
}
