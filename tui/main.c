/*
 * main.c - `ringside`: finds the command and runs it.
 */
#include "cluster-sim/simulation.h"
#include "engine/launch/launch.h"
#include "tui/cli.h"
#include "tui/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

/* In the order of --help. */
static const struct command commands[] = {
    {"lesson", cli_lesson, "list the lessons, or print one"},
    {"exercise", cli_exercise, "list, start, check, hint, solution, reset"},
    {"run", cli_run, "run a Lua description or experiment"},
    {"train", cli_train, "train a model on real ranks"},
    {"allreduce", cli_allreduce, "time and check allreduce algorithms"},
    {"sim", cli_sim, "simulate a cluster: collectives, schedules, jobs"},
    {"runs", cli_runs, "list, watch, stop, replay, delete, prune"},
    {"bench", cli_bench, "this machine's figures beside its peers'"},
    {"data", cli_data, "what a dataset holds; pack pictures into one file, verify it"},
    {"present", cli_present, "a lesson as slides, with notes on a second terminal"},
    {"lint", cli_lint, "check the live blocks of the lessons"},
    {"doctor", cli_doctor, "what works here, what does not, and how to mend it"},
};

static void usage(FILE *to)
{
    fputs("usage: ringside                  open the application\n"
          "       ringside COMMAND [...]    --help after a command says more; --json prints events\n\n",
          to);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\nExit codes: 0 done; 1 it ran and the answer is no; 2 usage or bad input; 3 something is missing "
          "here.\n",
          to);
}

/* The exit code of a command, whose output must have arrived. */
static int written(int code)
{
    struct error e = {0};
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    if (errno == 0) /* it failed before, unseen */
        errno = EIO;
    error_errno(&e, ERROR_FAILED, "the output could not be written");
    return code ? code : cli_fail(&e);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return cli_application(argc, argv);
    const char *name = argv[1];
    if (!strcmp(name, "--version")) {
        puts("ringside " RINGSIDE_VERSION);
        return 0;
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        usage(stdout);
        return 0;
    }
    int code;
    if (launch_worker(argc, argv, &code)) /* hidden commands: --supervise DIR and the like */
        return code;
    if (argc >= 3 &&
        !strcmp(name, "--sim")) /* the worker of a simulated run, which engine/launch may not know */
        return sim_main(argc - 2, argv + 2);
    if (name[0] == '-')
        return cli_application(argc, argv);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(name, commands[i].name))
            return written(commands[i].run(argc - 1, argv + 1));
    fprintf(stderr, "ringside: unknown command '%s'; 'ringside --help' lists the commands\n", name);
    return 2;
}
