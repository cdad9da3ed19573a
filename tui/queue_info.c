#include "tui/queue_info.h"

#include <stdlib.h>
#include <string.h>

void queue_info_free(struct queue_info *q)
{
    if (!q)
        return;
    free(q->nodes);
    free(q->jobs);
    *q = (struct queue_info){0};
}

/* Room for one more of so many bytes each. */
static bool grow(void **array, int count, int *room, size_t size)
{
    if (count < *room)
        return true;
    int wanted = *room ? 2 * *room : 64;
    void *grown = realloc(*array, (size_t)wanted * size);
    if (!grown)
        return false;
    *array = grown;
    *room = wanted;
    return true;
}

struct queue_node *queue_add_node(struct queue_info *q)
{
    void *array = q->nodes;
    if (!grow(&array, q->node_count, &q->node_room, sizeof *q->nodes))
        return NULL;
    q->nodes = array;
    struct queue_node *n = &q->nodes[q->node_count++];
    *n = (struct queue_node){.cpus = -1, .busy = -1};
    return n;
}

struct queue_job *queue_add_job(struct queue_info *q)
{
    void *array = q->jobs;
    if (!grow(&array, q->job_count, &q->job_room, sizeof *q->jobs))
        return NULL;
    q->jobs = array;
    struct queue_job *j = &q->jobs[q->job_count++];
    *j = (struct queue_job){.nodes = -1, .cpus = -1};
    return j;
}

int queue_count_nodes(const struct queue_info *q, enum node_state state)
{
    int count = 0;
    for (int i = 0; i < q->node_count; i++)
        count += q->nodes[i].state == state;
    return count;
}

void queue_sort(struct queue_info *q)
{
    struct queue_job *sorted = malloc(((size_t)q->job_count + 1) * sizeof *sorted);
    int n = 0;
    for (int running = 1; sorted && running >= 0; running--)
        for (int i = 0; i < q->job_count; i++)
            if (q->jobs[i].running == (running == 1))
                sorted[n++] = q->jobs[i];
    if (sorted && n)
        memcpy(q->jobs, sorted, (size_t)n * sizeof *sorted);
    free(sorted);
}
