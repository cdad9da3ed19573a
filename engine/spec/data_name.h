/*
 * data_name.h - the names of datasets, for all who pass one on without reading it (engine/data does).
 *
 *     mnist, cifar10, cifar100, text-classes, text-words, text-chars      known
 *     synthetic:SHAPE:CLASSES:ROWS                                        made up
 *     text-words:FILE (and the other two)                                 another corpus
 *     FILE.shards, or a folder with the files of MNIST or CIFAR           a path
 */
#ifndef RINGSIDE_SPEC_DATA_NAME_H
#define RINGSIDE_SPEC_DATA_NAME_H

#include "engine/base/error.h"

#include <limits.h>

/* Where in the name a path begins; NULL: it has none. */
const char *data_name_path(const char *name);

/*
 * Makes the path in a name absolute, so that it means the same from everywhere. ERROR_INPUT where nothing lies there, or
 * a folder that has none of the files it should.
 */
bool data_name_resolve(char name[PATH_MAX], struct error *e);

#endif
