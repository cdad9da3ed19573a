/*
 * gpus.h - which GPUs there are on this host. The plugin is loaded by ringside-rank, in a process of its own: a driver that
 * hangs or ends its process takes nothing else along.
 */
#ifndef RINGSIDE_LAUNCH_GPUS_H
#define RINGSIDE_LAUNCH_GPUS_H

#include "engine/base/error.h"

#include <jansson.h>

/* What `ringside-rank --gpus` prints (engine/train/device_report.c); NULL where it gives no answer. */
json_t *gpus_report(struct error *e);
/* How many can be used; 0: none, or they cannot be asked. */
int gpus_count(void);

#endif
