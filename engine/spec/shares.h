/*
 * shares.h - how the training samples are divided among the ranks, as a learner writes it: "3,1" gives rank 0 three
 * quarters and rank 1 one. "" are equal shares.
 */
#ifndef RINGSIDE_SPEC_SHARES_H
#define RINGSIDE_SPEC_SHARES_H

#include "engine/base/error.h"

enum { SHARES_TEXT = 512, SHARE_MOST = 1000000 };

/* Reads one number a rank into shares, which has room for so many. ERROR_INPUT: "shares: ...". */
bool shares_parse(const char *text, int ranks, int *shares, struct error *e);

#endif
