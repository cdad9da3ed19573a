#include "cluster-sim/explanation.h"

#include <stdlib.h>

static void *short_of_memory(struct error *e)
{
    error_set(e, ERROR_FAILED, "not enough memory for the explanation");
    return NULL;
}

FILE *explanation_open(struct explanation *x, struct error *e)
{
    *x = (struct explanation){0};
    x->to = open_memstream(&x->text, &x->length);
    return x->to ? x->to : short_of_memory(e);
}

char *explanation_close(struct explanation *x, struct error *e)
{
    if (fclose(x->to) == 0)
        return x->text;
    free(x->text);
    return short_of_memory(e);
}
