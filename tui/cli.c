/*
 * cli.c - what all commands share: their options, and how they tell a mistake.
 */
#include "tui/cli.h"

#include "tui/options.h"

#include <stdio.h>

int cli_fail(const struct error *e)
{
    fprintf(stderr, "ringside: %s\n", e->text);
    return e->kind ? (int)e->kind : 1;
}

bool cli_options(const struct option_command *command, int argc, char **argv, char **rest, int *rest_count,
                 int *code)
{
    struct error e = {0};
    bool help;
    if (!options_parse(command, argc, argv, rest, rest_count, &help, &e)) {
        *code = cli_fail(&e);
        return false;
    }
    if (help) {
        options_help(command, stdout);
        *code = 0;
    }
    return !help;
}

bool cli_stray_word(const char *command, const char *word, struct error *e)
{
    return error_set(e, ERROR_INPUT, "%s takes options only, got '%s'; 'ringside %s --help' lists them",
                     command, word, command);
}

bool cli_options_only(const struct option_command *command, int argc, char **argv, int *code)
{
    char *rest[OPTION_MAX_WORDS];
    int rest_count;
    if (!cli_options(command, argc, argv, rest, &rest_count, code))
        return false;
    if (rest_count == 0)
        return true;
    struct error e;
    cli_stray_word(argv[0], rest[0], &e);
    *code = cli_fail(&e);
    return false;
}
