/*
 * train_step - our side of tests/bench/train: whole training steps of a model on one rank, for as long as asked.
 *
 *     train_step THREADS BATCH < LINES
 * The protocol is that of exercises/models/torch_twin.py --serve: a line with the model's description, answered by
 * "ready ringside PARAMETERS oneDNN"; then numbers of seconds, each answered by "SAMPLES SECONDS".
 */
#include "engine/spec/model.h"
#include "engine/train/bench_step.h"

#include <stdio.h>
#include <stdlib.h>

static int fail(const struct error *e)
{
    fprintf(stderr, "train_step: %s\n", e->text);
    return 1;
}

int main(int argc, char **argv)
{
    struct error e = {0};
    char *line = NULL;
    size_t room = 0;
    if (argc != 3 || getline(&line, &room, stdin) < 0) {
        fprintf(stderr, "train_step THREADS BATCH < LINES\n");
        return 2;
    }
    json_t *description = json_loads(line, 0, NULL);
    struct bench_step *step = bench_step_new(description, atoi(argv[1]), atoi(argv[2]), &e);
    json_decref(description);
    if (!step)
        return fail(&e);
    printf("ready ringside %zu oneDNN\n", bench_step_parameters(step));
    fflush(stdout);
    bool ok = true;
    while (ok && getline(&line, &room, stdin) >= 0) {
        long samples;
        double taken;
        ok = bench_step_run(step, atof(line), &samples, &taken, &e);
        if (ok)
            printf("%ld %.6f\n", samples, taken);
        fflush(stdout);
    }
    bench_step_free(step);
    free(line);
    return ok ? 0 : fail(&e);
}
