#include "tui/cli.h"

int cli_exercise(int argc, char **argv)
{
    (void)argc, (void)argv;
    return 3;
}
