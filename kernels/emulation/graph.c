#include "kernels/emulation/graph.h"

#include <stdlib.h>
#include <string.h>

struct node {
    void (*run)(const void *data);
    struct node *next;
    _Alignas(16) unsigned char data[];
};

struct CUgraph_st {
    struct node *first, **end;
    int owners; /* the graph, and what was made of it to be launched */
};

struct CUgraphExec_st {
    struct CUgraph_st *graph;
};

/* A process computes on one stream at a time where it records. */
static struct {
    cudaStream_t stream;
    struct CUgraph_st *graph;
    bool failed;
} recording;

bool graph_records(cudaStream_t stream)
{
    return recording.graph && (!stream || stream == recording.stream);
}

bool graph_take(void (*run)(const void *data), const void *data, size_t bytes, const void *more,
                size_t more_bytes)
{
    size_t rounded = (bytes + 15) / 16 * 16;
    struct node *n = calloc(1, sizeof *n + rounded + more_bytes);
    if (!n) {
        recording.failed = true;
        return false;
    }
    n->run = run;
    memcpy(n->data, data, bytes);
    if (more_bytes > 0)
        memcpy(n->data + rounded, more, more_bytes);
    *recording.graph->end = n;
    recording.graph->end = &n->next;
    return true;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    (void)mode;
    if (!stream || recording.graph)
        return cudaErrorStreamCaptureUnsupported;
    struct CUgraph_st *g = calloc(1, sizeof *g);
    if (!g)
        return cudaErrorMemoryAllocation;
    g->end = &g->first;
    g->owners = 1;
    recording.stream = stream;
    recording.graph = g;
    recording.failed = false;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    *graph = NULL;
    if (!graph_records(stream))
        return cudaErrorStreamCaptureUnsupported;
    *graph = recording.graph;
    recording.graph = NULL;
    recording.stream = NULL;
    return recording.failed ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    if (!graph || --graph->owners > 0)
        return cudaSuccess;
    while (graph->first) {
        struct node *next = graph->first->next;
        free(graph->first);
        graph->first = next;
    }
    free(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    (void)flags;
    *exec = calloc(1, sizeof **exec);
    if (!*exec)
        return cudaErrorMemoryAllocation;
    (*exec)->graph = graph;
    graph->owners++;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    if (exec)
        cudaGraphDestroy(exec->graph);
    free(exec);
    return cudaSuccess;
}

/* What goes wrong in it is found by whoever asks next, as with kernels. */
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    (void)stream;
    for (const struct node *n = exec->graph->first; n; n = n->next)
        n->run(n->data);
    return cudaPeekAtLastError();
}
