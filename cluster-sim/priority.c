#include "cluster-sim/priority.h"

#include <math.h>
#include <stdlib.h>

bool fairshare_make(struct fairshare *f, int users, double half_life_s, struct error *e)
{
    *f = (struct fairshare){.users = users, .half_life_s = half_life_s};
    f->user = calloc((size_t)users + 1, sizeof *f->user);
    return f->user || error_set(e, ERROR_FAILED, "not enough memory for what %d users have used", users);
}

void fairshare_free(struct fairshare *f)
{
    if (!f)
        return;
    free(f->user);
    *f = (struct fairshare){0};
}

/* What stood at u->used decays, and what ran since adds the integral of procs 2^(-age / half-life). */
static double usage_at(const struct usage *u, double half_life_s, double now_s)
{
    double halves = (now_s - u->at_s) / half_life_s, left = exp2(-halves);
    return u->used * left + u->procs * half_life_s / M_LN2 * -expm1(-halves * M_LN2);
}

static void change(struct usage *u, double half_life_s, int procs, double now_s)
{
    *u = (struct usage){usage_at(u, half_life_s, now_s), now_s, u->procs + procs};
}

void fairshare_run(struct fairshare *f, int user, int procs, double now_s)
{
    change(&f->user[user], f->half_life_s, procs, now_s);
    change(&f->user[f->users], f->half_life_s, procs, now_s);
}

double fairshare_usage(const struct fairshare *f, int user, double now_s)
{
    return usage_at(&f->user[user < 0 ? f->users : user], f->half_life_s, now_s);
}

double fairshare_factor(const struct fairshare *f, int user, double now_s)
{
    double all = fairshare_usage(f, -1, now_s);
    return all > 0 ? exp2(-fairshare_usage(f, user, now_s) / all * f->users) : 1;
}

double priority_of(const struct priority_weights *w, double wait_s, int procs, int processors,
                   double fairshare_factor, double tier)
{
    double age = wait_s < w->age_max_s ? wait_s / w->age_max_s : 1;
    return w->age * age + w->size * procs / processors + w->fairshare * fairshare_factor + w->tier * tier;
}
