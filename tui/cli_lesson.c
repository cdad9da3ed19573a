#include "tui/cli.h"

int cli_lesson(int argc, char **argv)
{
    (void)argc, (void)argv;
    return 3;
}
