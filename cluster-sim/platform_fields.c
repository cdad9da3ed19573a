#include "cluster-sim/platform_fields.h"

#include "engine/base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A number of either type, or a text with a unit. */
static bool quantity(const json_t *object, const char *key, bool (*units)(const char *, double *), bool zero,
                     const char *example, double *value, struct error *e)
{
    const json_t *field = json_object_get(object, key);
    if (!field || json_is_null(field))
        return true;
    double got = NAN;
    if (json_is_number(field))
        got = json_number_value(field);
    else if (!json_is_string(field) || !units(json_string_value(field), &got))
        return error_set(e, ERROR_INPUT, "%s must be %s, not %s%.40s%s", key, example,
                         json_is_string(field) ? "\"" : "a ",
                         json_is_string(field)  ? json_string_value(field)
                         : json_is_array(field) ? "list"
                                                : "table",
                         json_is_string(field) ? "\"" : "");
    if (!isfinite(got) || got < 0 || (!zero && got == 0))
        return error_set(e, ERROR_INPUT, "%s is %g; it must be %s", key, got, zero ? "0 or more" : "above 0");
    *value = got;
    return true;
}

bool field_rate(const json_t *object, const char *key, double *bytes_per_s, struct error *e)
{
    return quantity(object, key, units_rate, false, "bytes a second or a text as \"10 Gb/s\"", bytes_per_s,
                    e);
}

bool field_seconds(const json_t *object, const char *key, double *seconds, struct error *e)
{
    return quantity(object, key, units_seconds, true, "seconds or a text as \"25us\"", seconds, e);
}

bool field_bytes(const json_t *object, const char *key, double *bytes, struct error *e)
{
    return quantity(object, key, units_bytes, false, "bytes or a text as \"16GiB\"", bytes, e);
}

bool field_flops(const json_t *object, const char *key, double *flops, struct error *e)
{
    return quantity(object, key, units_flops, false, "operations a second or a text as \"15.7T\"", flops, e);
}

static bool no_units(const char *text, double *value)
{
    (void)text;
    (void)value;
    return false;
}

bool field_number(const json_t *object, const char *key, double *value, struct error *e)
{
    return quantity(object, key, no_units, false, "a number", value, e);
}

bool field_whole(const json_t *object, const char *key, int least, int most, int *value, struct error *e)
{
    const json_t *field = json_object_get(object, key);
    if (!field || json_is_null(field))
        return true;
    double got = json_is_number(field) ? json_number_value(field) : NAN;
    if (!(got >= least && got <= most) || got != floor(got))
        return error_set(e, ERROR_INPUT, "%s must be a whole number from %d to %d", key, least, most);
    *value = (int)got;
    return true;
}

bool field_text(const json_t *object, const char *key, char *text, size_t size, struct error *e)
{
    const json_t *field = json_object_get(object, key);
    if (!field || json_is_null(field))
        return true;
    const char *got = json_string_value(field);
    if (!got || strlen(got) >= size)
        return error_set(e, ERROR_INPUT, "%s must be a text of at most %zu letters", key, size - 1);
    snprintf(text, size, "%s", got);
    return true;
}

bool field_known(const json_t *object, const char *what, const char *const *keys, struct error *e)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object) && !(json_is_array(object) && json_array_size(object) == 0))
        return error_set(e, ERROR_INPUT, "%s must be a table with names, as { %s = ... }", what, keys[0]);
    json_object_foreach((json_t *)object, key, value)
    {
        int i = 0;
        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        if (keys[i])
            continue;
        char list[512] = "";
        for (i = 0; keys[i]; i++) {
            size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", keys[i]);
        }
        return error_set(e, ERROR_INPUT, "%s has no \"%.40s\"; it may have %s", what, key, list);
    }
    return true;
}
