#include "engine/base/units.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The number a text begins with, and what follows it without blanks. Signs, hexadecimal, nan and inf are none. */
static bool number(const char *text, double *value, const char **rest)
{
    while (isspace((unsigned char)*text))
        text++;
    if (!isdigit((unsigned char)*text) && *text != '.')
        return false;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return false;
    char *end;
    *value = strtod(text, &end);
    if (end == text || !isfinite(*value))
        return false;
    while (isspace((unsigned char)*end))
        end++;
    *rest = end;
    return true;
}

/* Takes "k", "M", "Gi" ... off; 1 where there is none. */
static double prefix(const char **text)
{
    static const char letters[] = "kmgtpe";
    const char *at = **text ? strchr(letters, tolower((unsigned char)**text)) : NULL;
    if (!at)
        return 1;
    int power = (int)(at - letters) + 1;
    bool binary = (*text)[1] == 'i' && (*text)[2] != 't';
    *text += binary ? 2 : 1;
    return pow(binary ? 1024 : 1000, power);
}

static bool one_of(const char *text, const char *const *words, bool exact)
{
    for (; *words; words++)
        if ((exact ? strcmp : strcasecmp)(text, *words) == 0)
            return true;
    return false;
}

bool units_rate(const char *text, double *bytes_per_s)
{
    static const char *const bits[] = {"", "b/s", "bps", "bit/s", "bits/s", "bit", "b", NULL};
    static const char *const bytes[] = {"B/s", "Bps", "B", NULL};
    const char *rest;
    double value;
    if (!number(text, &value, &rest))
        return false;
    bool plain = !*rest;
    value *= prefix(&rest);
    if (!plain && one_of(rest, bits, true))
        value /= 8;
    else if (!plain && !one_of(rest, bytes, true))
        return false;
    *bytes_per_s = value;
    return isfinite(value);
}

bool units_seconds(const char *text, double *seconds)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1},           {"s", 1},     {"ms", 1e-3}, {"us", 1e-6}, {"\u00b5s", 1e-6},
                 {"\u03bcs", 1e-6}, {"ns", 1e-9}, {"min", 60},  {"h", 3600},  {"d", 86400}};
    const char *rest;
    double value;
    if (!number(text, &value, &rest))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(rest, units[i].name) == 0) {
            *seconds = value * units[i].seconds;
            return isfinite(*seconds);
        }
    return false;
}

static bool scaled(const char *text, const char *const *words, double *result)
{
    const char *rest;
    double value;
    if (!number(text, &value, &rest))
        return false;
    value *= prefix(&rest);
    if (!one_of(rest, words, false))
        return false;
    *result = value;
    return isfinite(value);
}

bool units_bytes(const char *text, double *bytes)
{
    static const char *const words[] = {"", "B", "byte", "bytes", NULL};
    return scaled(text, words, bytes);
}

bool units_flops(const char *text, double *flops)
{
    static const char *const words[] = {"", "flop/s", "flops", "flop", "op/s", "ops", NULL};
    return scaled(text, words, flops);
}

void units_show_seconds(double seconds, char *text, size_t size)
{
    static const struct {
        double least, seconds;
        const char *name;
    } units[] = {{1000 * 86400.0, 365.25 * 86400, "years"},
                 {2 * 86400.0, 86400, "days"},
                 {1e4, 3600, "h"},
                 {1, 1, "s"},
                 {1e-3, 1e-3, "ms"},
                 {1e-6, 1e-6, "us"},
                 {DBL_MIN, 1e-9, "ns"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (fabs(seconds) >= units[i].least) {
            snprintf(text, size, "%.4g %s", seconds / units[i].seconds, units[i].name);
            return;
        }
    snprintf(text, size, "%.4g s", seconds);
}

/* Four digits and a prefix; how many characters the digits take, or a great many where that is not the whole value. */
static size_t scale(double value, double base, const char *const *names, char *text, size_t size)
{
    char digits[32];
    for (; names[1] && value >= 0.99995 * base; names++)
        value /= base;
    snprintf(digits, sizeof digits, "%.4g", value);
    snprintf(text, size, "%s %s", digits, *names);
    return strtod(digits, NULL) == value ? strlen(digits) : SIZE_MAX;
}

void units_show_rate(double bytes_per_s, char *text, size_t size)
{
    static const char *const names[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s", NULL};
    scale(bytes_per_s, 1000, names, text, size);
}

void units_show_bytes(double bytes, char *text, size_t size)
{
    static const char *const decimal[] = {"B", "kB", "MB", "GB", "TB", "PB", NULL};
    static const char *const binary[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", NULL};
    char other[32];
    size_t length = scale(bytes, 1000, decimal, text, size);
    if (scale(bytes, 1024, binary, other, sizeof other) < length)
        snprintf(text, size, "%s", other);
}

void units_show_flops(double flops, char *text, size_t size)
{
    static const char *const names[] = {"FLOP/s",  "kFLOP/s", "MFLOP/s", "GFLOP/s",
                                        "TFLOP/s", "PFLOP/s", "EFLOP/s", NULL};
    scale(flops, 1000, names, text, size);
}

void units_show_number(double value, char *text, size_t size)
{
    snprintf(text, size, fabs(value) >= 999.95 && fabs(value) < 1e15 ? "%.0f" : "%.4g", value);
}
