#include "cluster-sim/queue_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool queue_view_named(const char *name, enum queue_view *view)
{
    static const char *const names[] = {"squeue", "sinfo", "pbs", "sge"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(name, names[i])) {
            *view = (enum queue_view)i;
            return true;
        }
    return false;
}

/* --- what several of them print --- */

enum { NAME = 32 };

static void user_name(const struct sched_job *j, char name[NAME])
{
    if (j->owner >= 0)
        snprintf(name, NAME, "user%lld", j->owner);
    else
        snprintf(name, NAME, j->owner == SCHED_YOU ? "you" : "nobody");
}

static void job_name(const struct sched_job *j, char name[NAME])
{
    if (j->program >= 0)
        snprintf(name, NAME, "app%lld", j->program);
    else
        snprintf(name, NAME, "job");
}

/* Slurm's way with times: 0:07, 1:02:03, 2-00:00:00. */
static void slurm_time(double seconds, char text[NAME])
{
    long long s = (long long)seconds, days = s / 86400;
    int hour = (int)(s / 3600 % 24), minute = (int)(s / 60 % 60), second = (int)(s % 60);
    if (days)
        snprintf(text, NAME, "%lld-%02d:%02d:%02d", days, hour, minute, second);
    else if (hour)
        snprintf(text, NAME, "%d:%02d:%02d", hour, minute, second);
    else
        snprintf(text, NAME, "%d:%02d", minute, second);
}

/* Numbers as a list of ranges, "1,3-5", each written with at least that many digits. */
static void print_ranges(FILE *f, const int *number, int count, int digits)
{
    for (int i = 0; i < count;) {
        int last = i;
        while (last + 1 < count && number[last + 1] == number[last] + 1)
            last++;
        fprintf(f, "%s%0*d", i ? "," : "", digits, number[i]);
        if (last > i)
            fprintf(f, "-%0*d", digits, number[last]);
        i = last + 1;
    }
}

static int node_digits(const struct queue_state *q)
{
    int digits = 1;
    for (int n = q->nodes; n >= 10; n /= 10)
        digits++;
    return digits;
}

/* Nodes, counted from 1, as Slurm's host lists: n07, n[01-04,09]. */
static void print_nodes(FILE *f, const struct queue_state *q, const int *node, int count)
{
    int *number = malloc(((size_t)count + 1) * sizeof *number);
    if (!number)
        return;
    for (int i = 0; i < count; i++)
        number[i] = node[i] + 1;
    fputs(count == 1 ? "n" : "n[", f);
    print_ranges(f, number, count, node_digits(q));
    if (count != 1)
        fputc(']', f);
    free(number);
}

static const char *partition_name(const struct queue_state *q, const struct queue_entry *x)
{
    return q->partition[x->job->partition].partition->name;
}

/* How many entries from this on wait as tasks of one array for the same reason: one line stands for them. */
static int tasks_together(const struct queue_state *q, int index)
{
    const struct queue_entry *x = &q->entry[index];
    int n = 1;
    if (x->running || x->job->array <= 0)
        return 1;
    while (index + n < q->count && !x[n].running && x[n].job->array == x->job->array &&
           x[n].job->partition == x->job->partition && x[n].reason == x->reason)
        n++;
    return n;
}

/* The numbers of n waiting tasks, ascending as the list of jobs has them. */
static void print_tasks(FILE *f, const struct queue_entry *x, int n)
{
    int *task = malloc((size_t)n * sizeof *task);
    if (!task)
        return;
    for (int i = 0; i < n; i++)
        task[i] = x[i].job->task;
    print_ranges(f, task, n, 1);
    free(task);
}

/* --- Slurm --- */

static void print_squeue(FILE *f, const struct queue_state *q)
{
    static const char *const reasons[] = {"", "(Resources)", "(Priority)", "(JobArrayTaskLimit)"};
    fprintf(f, "%18s %9s %8s %8s %2s %10s %6s %s\n", "JOBID", "PARTITION", "NAME", "USER", "ST", "TIME",
            "NODES", "NODELIST(REASON)");
    for (int i = 0, n; i < q->count; i += n) {
        const struct queue_entry *x = &q->entry[i];
        char *id = NULL, user[NAME], name[NAME], time[NAME];
        size_t length;
        n = tasks_together(q, i);
        FILE *to = open_memstream(&id, &length);
        if (!to)
            return;
        fprintf(to, "%lld", x->job->id);
        if (x->job->array > 0 && x->running)
            fprintf(to, "_%d", x->job->task);
        else if (x->job->array > 0) {
            fputs("_[", to);
            print_tasks(to, x, n);
            if (x->job->array_limit > 0)
                fprintf(to, "%%%d", x->job->array_limit);
            fputc(']', to);
        }
        fclose(to);
        user_name(x->job, user);
        job_name(x->job, name);
        slurm_time(x->running ? q->now_s - x->start_s : 0, time);
        fprintf(f, "%18.18s %9.9s %8.8s %8.8s %2s %10.10s %6d ", id ? id : "", partition_name(q, x), name,
                user, x->running ? "R" : "PD", time, x->nodes);
        free(id);
        if (x->running)
            print_nodes(f, q, x->node, x->nodes);
        else
            fputs(reasons[x->reason], f);
        fputc('\n', f);
    }
}

static void print_sinfo(FILE *f, const struct queue_state *q)
{
    static const char *const states[] = {"mix", "alloc", "idle"}; /* in sinfo's order */
    int width = 9;
    for (int p = 0; p < q->partitions; p++)
        if ((int)strlen(q->partition[p].partition->name) + (p == 0) > width)
            width = (int)strlen(q->partition[p].partition->name) + (p == 0);
    fprintf(f, "%-*s %5s %10s %6s %6s %s\n", width, "PARTITION", "AVAIL", "TIMELIMIT", "NODES", "STATE",
            "NODELIST");
    for (int p = 0; p < q->partitions; p++) {
        const struct queue_partition *x = &q->partition[p];
        int *node = malloc((size_t)x->nodes * sizeof *node);
        if (!node)
            return;
        for (int state = 0; state < 3; state++) {
            int count = 0;
            for (int i = 0; i < x->nodes; i++) {
                /* the last node of a partition may be a part of one */
                int size = x->partition->procs - i * q->procs_per_node;
                if (size > q->procs_per_node)
                    size = q->procs_per_node;
                if ((x->busy[i] == 0 ? 2 : x->busy[i] == size) == state)
                    node[count++] = x->first_node + i;
            }
            char name[NAME + 2], limit[NAME] = "infinite";
            snprintf(name, sizeof name, "%s%s", x->partition->name, p == 0 ? "*" : ""); /* the default */
            if (x->partition->max_time_s > 0)
                slurm_time(x->partition->max_time_s, limit);
            if (count == 0)
                continue;
            fprintf(f, "%-*s %5s %10.10s %6d %6s ", width, name, "up", limit, count, states[state]);
            print_nodes(f, q, node, count);
            fputc('\n', f);
        }
        free(node);
    }
}

/* --- OpenPBS --- */

/* Into a field of that width: what is too long ends with a star. */
static void cut(char *text, size_t width)
{
    if (strlen(text) > width) {
        text[width - 1] = '*';
        text[width] = '\0';
    }
}

static void pbs_time(double seconds, char text[NAME])
{
    long long minutes = (long long)seconds / 60;
    snprintf(text, NAME, "%02lld:%02lld", minutes / 60, minutes % 60);
}

/* An array is one line, as without -t: B where it began, Q before. */
static bool is_first_of_array(const struct queue_state *q, int index, bool *began, int *tasks)
{
    const struct queue_entry *x = &q->entry[index];
    *began = false;
    *tasks = 0;
    for (int i = 0; i < q->count; i++)
        if (q->entry[i].job->array == x->job->array) {
            if (i < index)
                return false;
            *began = *began || q->entry[i].running || q->entry[i].job->task > 0;
            (*tasks)++;
        }
    return true;
}

static void print_pbs(FILE *f, const struct queue_state *q)
{
    fputs("\nsimulated: \n"
          "                                                            Req'd  Req'd   Elap\n"
          "Job ID          Username Queue    Jobname    SessID NDS TSK Memory Time  S Time\n"
          "--------------- -------- -------- ---------- ------ --- --- ------ ----- - -----\n",
          f);
    for (int i = 0; i < q->count; i++) {
        const struct queue_entry *x = &q->entry[i];
        char id[2 * NAME], user[NAME], name[NAME], queue[NAME], limit[NAME], elapsed[NAME] = " -- ";
        char nodes[NAME], procs[NAME];
        bool began = x->running;
        int tasks;
        if (x->job->array > 0 && !is_first_of_array(q, i, &began, &tasks))
            continue;
        snprintf(id, sizeof id, "%lld%s.simulated", x->job->id, x->job->array > 0 ? "[]" : "");
        user_name(x->job, user);
        job_name(x->job, name);
        snprintf(queue, sizeof queue, "%s", partition_name(q, x));
        snprintf(nodes, sizeof nodes, "%d", x->nodes);
        snprintf(procs, sizeof procs, "%d", x->job->procs);
        pbs_time(x->job->limit_s, limit);
        if (x->running && x->job->array <= 0)
            pbs_time(q->now_s - x->start_s, elapsed);
        cut(id, 15);
        cut(user, 8);
        cut(queue, 8);
        cut(name, 10);
        cut(nodes, 3);
        cut(procs, 3);
        fprintf(f, "%-15s %-8s %-8s %-10s %6s %3s %3s %6s %5.5s %s %5.5s\n", id, user, queue, name, " -- ",
                nodes, procs, " -- ", limit,
                !began              ? "Q"
                : x->job->array > 0 ? "B"
                                    : "R",
                elapsed);
    }
}

/* --- Grid Engine --- */

static void print_sge_line(FILE *f, const struct queue_state *q, const struct queue_entry *x, int n)
{
    char user[NAME], name[NAME], when[NAME] = "";
    time_t at = (time_t)(q->epoch_s + (x->running ? x->start_s : x->job->submit_s));
    struct tm tm;
    user_name(x->job, user);
    job_name(x->job, name);
    if (gmtime_r(&at, &tm))
        strftime(when, sizeof when, "%m/%d/%Y %H:%M:%S", &tm);
    fprintf(f, "%7lld %7.5f %-10.10s %-12.12s %-5s %-19s ", x->job->id,
            q->weights > 0 ? x->priority / q->weights : 0, name, user, x->running ? "r" : "qw", when);
    int width = 0, digits = node_digits(q);
    if (x->running)
        width = fprintf(f, "%.*s@n%0*d", 28 - digits, partition_name(q, x), digits, x->node[0] + 1);
    fprintf(f, "%*s %5d ", width < 30 ? 30 - width : 0, "", x->job->procs);
    if (x->job->array > 0 && x->running)
        fprintf(f, "%d", x->job->task);
    else if (x->job->array > 0)
        print_tasks(f, x, n);
    fputc('\n', f);
}

/* Those that run come first. */
static void print_sge(FILE *f, const struct queue_state *q)
{
    fputs("job-ID  prior   name       user         state submit/start at     queue                          "
          "slots "
          "ja-task-ID \n",
          f);
    for (int i = 0; i < 113; i++)
        fputc('-', f);
    fputc('\n', f);
    for (int running = 1; running >= 0; running--)
        for (int i = 0, n; i < q->count; i += n) {
            n = tasks_together(q, i);
            if (q->entry[i].running == (running == 1))
                print_sge_line(f, q, &q->entry[i], n);
        }
}

char *queue_view_text(const struct queue_state *q, enum queue_view view, struct error *e)
{
    static void (*const print[])(FILE *, const struct queue_state *) = {print_squeue, print_sinfo, print_pbs,
                                                                        print_sge};
    char *text = NULL;
    size_t length;
    FILE *f = open_memstream(&text, &length);
    if (f)
        print[view](f, q);
    if (!f || fclose(f) != 0) {
        error_set(e, ERROR_FAILED, "not enough memory for the queue's text");
        free(text);
        return NULL;
    }
    return text;
}
