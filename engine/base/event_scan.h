/*
 * event_scan.h - reads a plain event line without building a JSON tree: long runs consist of them.
 *
 * A plain line is a flat object of numbers, ASCII texts without escapes, true, false and null, as steps and reports
 * of ranks are. Of such a line the scanner says exactly what event_parse and the accessors of event.h say (numbers
 * bit by bit: W. D. Clinger, How to Read Floating Point Numbers Accurately, 1990, the case in which one multiplication
 * or division by a power of ten is right). Anything else (nested values, escapes, other alphabets, longer numbers,
 * broken lines) it leaves to the JSON library. A record points into the line: it is good as long as that is.
 */
#ifndef RINGSIDE_BASE_EVENT_SCAN_H
#define RINGSIDE_BASE_EVENT_SCAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { EVENT_MAX_FIELDS = 40 };

enum event_type { EVENT_INTEGER, EVENT_REAL, EVENT_TEXT, EVENT_TRUE, EVENT_FALSE, EVENT_NULL };

struct event_field {
    const char *key, *text; /* neither ends with 0; text: of EVENT_TEXT, or a number as it is written */
    int key_length, length;
    enum event_type type;
    double number; /* of the two kinds of numbers */
    long long integer;
};

struct event_record {
    int count;
    struct event_field fields[EVENT_MAX_FIELDS];
};

/* False: not a plain line; event_parse has the last word. */
bool event_scan(const char *line, size_t length, struct event_record *record);

/*
 * An event, however it was read: the accessors are those of event.h, with the same answers. Texts are copied, because
 * those of a record have no end; a text that is absent leaves `out` as it is.
 */
struct event_any {
    const json_t *json; /* one of the two is NULL */
    const struct event_record *record;
};

double any_number(const struct event_any *event, const char *key, double fallback);
long long any_integer(const struct event_any *event, const char *key, long long fallback);
bool any_true(const struct event_any *event, const char *key);
/* False: there is no such text. Longer ones are cut to `size` with their end mark. */
bool any_text(const struct event_any *event, const char *key, char *out, size_t size);
bool any_is(const struct event_any *event, const char *name); /* by the field "ev" */

#endif
