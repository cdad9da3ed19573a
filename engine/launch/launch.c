#include "engine/launch/launch.h"

bool launch_worker(int argc, char **argv, int *code)
{
    (void)argc, (void)argv, (void)code;
    return false;
}
