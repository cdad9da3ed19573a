/*
 * platform_fields.h - reads the fields of a description: numbers, or texts with units, each checked where it is read.
 *
 * A field that is absent leaves *value as it is. Rates, sizes and operations must be above 0, times not below it.
 */
#ifndef RINGSIDE_SIM_PLATFORM_FIELDS_H
#define RINGSIDE_SIM_PLATFORM_FIELDS_H

#include "engine/base/error.h"

#include <jansson.h>
#include <stddef.h>

bool field_rate(const json_t *object, const char *key, double *bytes_per_s, struct error *e);
bool field_seconds(const json_t *object, const char *key, double *seconds, struct error *e);
bool field_bytes(const json_t *object, const char *key, double *bytes, struct error *e);
bool field_flops(const json_t *object, const char *key, double *flops, struct error *e);
/* Above 0 and no unit: opens a second. */
bool field_number(const json_t *object, const char *key, double *value, struct error *e);
bool field_whole(const json_t *object, const char *key, int least, int most, int *value, struct error *e);
bool field_text(const json_t *object, const char *key, char *text, size_t size, struct error *e);
/* No keys but those; the list ends with NULL. */
bool field_known(const json_t *object, const char *what, const char *const *keys, struct error *e);

#endif
