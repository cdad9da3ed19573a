#include "tui/cli.h"

int cli_doctor(int argc, char **argv)
{
    (void)argc, (void)argv;
    return 3;
}
