/*
 * cli_sim.c - `ringside sim`: the first option that names a mode picks the file that does it.
 */
#include "tui/cli_sim.h"

#include "tui/cli.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *option;
    int (*run)(int argc, char **argv);
    const char *summary;
} modes[] = {
    {"--allreduce", cli_sim_allreduce, "one collective on a cluster: how long, and why"},
    {"--trace", cli_sim_trace, "a batch scheduler on a trace of jobs: who waits how long, and why"},
    {"--storage", cli_sim_storage, "reading a dataset: how fast, and what holds it up"},
    {"--checkpoint", cli_sim_checkpoint, "nodes that fail: how often to write a checkpoint"},
    {"--calibrate", cli_sim_calibrate, "curves from real runs, and what they predict for others"},
    {"--published", cli_sim_published, "published multi-GPU runs beside their simulation"},
};

enum { MODES = sizeof modes / sizeof *modes };

static void usage(FILE *to)
{
    fputs("usage: ringside sim MODE [options]      --help after a mode lists its options; --json prints "
          "events\n\n"
          "Simulates a cluster of any size. Modes:\n",
          to);
    for (int i = 0; i < MODES; i++)
        fprintf(to, "  %-14s %s\n", modes[i].option, modes[i].summary);
    fputs("Whole jobs on whole clusters are described in Lua: ringside run FILE.lua\n", to);
}

static bool names(const char *word, const char *option)
{
    size_t n = strlen(option);
    return strncmp(word, option, n) == 0 && (!word[n] || word[n] == '=');
}

int cli_sim(int argc, char **argv)
{
    for (int a = 1; a < argc; a++)
        for (int i = 0; i < MODES; i++)
            if (names(argv[a], modes[i].option))
                return modes[i].run(argc, argv);
    if (argc > 1 && !strcmp(argv[1], "--help")) {
        usage(stdout);
        return 0;
    }
    fputs("ringside: sim needs a mode:", stderr);
    for (int i = 0; i < MODES; i++)
        fprintf(stderr, "%s %s", i ? "," : "", modes[i].option);
    fputs("; 'ringside sim --help' says more\n", stderr);
    return 2;
}
