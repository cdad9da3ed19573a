/*
 * data_name.h - what `data` of a training job may be, as far as it can be told before anything starts.
 *
 * The name of a dataset that engine/data knows, or a file or folder. What is in the files is the reader's affair.
 */
#ifndef RINGSIDE_LAUNCH_DATA_NAME_H
#define RINGSIDE_LAUNCH_DATA_NAME_H

#include "engine/base/error.h"

#include <limits.h>

/* Makes a path absolute, a name stays. ERROR_INPUT: it is neither, or a folder without the first file of any dataset. */
bool data_name_resolve(char data[PATH_MAX], struct error *e);

#endif
