/*
 * cli.h - the commands of `ringside`, one function a command, each in its own cli_NAME.c.
 *
 * argv[0] is the command's name. The return value is the exit code: 0 done; 1 it ran and the answer is no;
 * 2 usage or bad input, with one line on standard error; 3 something the machine lacks.
 */
#ifndef RINGSIDE_TUI_CLI_H
#define RINGSIDE_TUI_CLI_H

#include "engine/base/error.h"

int cli_lesson(int argc, char **argv);
int cli_exercise(int argc, char **argv);
int cli_run(int argc, char **argv);
int cli_train(int argc, char **argv);
int cli_allreduce(int argc, char **argv);
int cli_sim(int argc, char **argv); /* its modes: cli_sim.h */
int cli_bench(int argc, char **argv);
int cli_present(int argc, char **argv);
int cli_runs(int argc, char **argv);
int cli_data(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_lint(int argc, char **argv); /* the live blocks of the lessons */
int cli_application(int argc,
                    char **argv); /* no command: the application; also --script --size --dump --plain */

struct option_command;

/*
 * Parses a command's options, keeping other words in rest (room for OPTION_MAX_WORDS). False: the command is over, with
 * *code: its help was asked for and printed, or a mistake was told.
 */
bool cli_options(const struct option_command *command, int argc, char **argv, char **rest, int *rest_count,
                 int *code);
/* The same for a command that takes options only. */
bool cli_options_only(const struct option_command *command, int argc, char **argv, int *code);

/* False and *e: the command takes options only, and `word` is none. */
bool cli_stray_word(const char *command, const char *word, struct error *e);

struct job;

/* The job that `ringside train ...` or `ringside allreduce ...` would start (argv[0] is the command's name); what the
 * command itself does with it (--json, --detach, --out) is left aside. job_clear it. */
bool cli_train_job(int argc, char **argv, struct job *job, struct error *e);
bool cli_allreduce_job(int argc, char **argv, struct job *job, struct error *e);

/* Checks the job whose fields are the command's options, starts it (out: its folder, "" for one of its own) and
 * follows it, or prints where it is and leaves it running. Returns the exit code. */
int cli_measure(const struct job *job, const char *out, bool detach, bool json);

/* Prints "ringside: TEXT" on standard error and returns the error's kind as the exit code. */
int cli_fail(const struct error *e);

#endif
