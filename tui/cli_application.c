#include "tui/cli.h"

int cli_application(int argc, char **argv)
{
    (void)argc, (void)argv;
    return 3;
}
