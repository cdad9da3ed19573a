#include "engine/train/bench.h"
bool bench_train(struct bench *b, struct error *e)
{
    (void)b;
    (void)e;
    return true;
}
