/*
 * cli_sim.h - the modes of `ringside sim`, each in a file of its own with its own options.
 */
#ifndef RINGSIDE_TUI_CLI_SIM_H
#define RINGSIDE_TUI_CLI_SIM_H

int cli_sim_allreduce(int argc, char **argv);
int cli_sim_trace(int argc, char **argv);
int cli_sim_storage(int argc, char **argv);
int cli_sim_checkpoint(int argc, char **argv);
int cli_sim_calibrate(int argc, char **argv);
int cli_sim_published(int argc, char **argv);

#endif
