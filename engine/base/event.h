/*
 * event.h - one record of the stream: a JSON object on a line of its own, {"t": seconds, "ev": NAME, ...}.
 *
 * t counts seconds since the run began. Units are in the names of the fields (_s, _bytes, _per_s); accuracy
 * is a fraction. The names and fields are listed in CONTRIBUTING.md. Events are jansson objects: build one
 * with event_new and json_object_set_new, read one with the accessors below, which never fail. A number that
 * is not finite cannot be written in JSON: event_set_number leaves such a field out.
 */
#ifndef RINGSIDE_BASE_EVENT_H
#define RINGSIDE_BASE_EVENT_H

#include "engine/base/error.h"

#include <jansson.h>
#include <stddef.h>

/* A new reference to {"t": t, "ev": name}; t < 0 leaves t out, to be stamped by the run's writer. */
json_t *event_new(const char *name, double t);

void event_set_number(json_t *event, const char *key, double value);
void event_set_integer(json_t *event, const char *key, long long value);
void event_set_text(json_t *event, const char *key, const char *value);

/* Accessors: the fallback is returned where the field is absent or of another type. */
const char *event_name(const json_t *event); /* "" where there is none */
double event_number(const json_t *event, const char *key, double fallback);
long long event_integer(const json_t *event, const char *key, long long fallback);
const char *event_text(const json_t *event, const char *key, const char *fallback);
bool event_is(const json_t *event, const char *name);

/* The event as one line with its newline; the caller frees it with free(). NULL where memory is short. */
char *event_line(const json_t *event);

/* Parses one line (no newline needed). NULL where it is not a JSON object. A new reference. */
json_t *event_parse(const char *line, size_t length);

/* Writes the event as one whole line with one write(2) and drops the caller's reference, whatever comes of it. */
bool event_write(int fd, json_t *event, struct error *e);

#endif
