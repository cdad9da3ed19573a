#include "tui/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* From here on, prefix or not, a number is written with its power of ten. */
#define HUGE_FROM 999.5e3

/* The smallest of 1, 2, 5 times a power of ten that is not below x. */
static double round_step(double x)
{
    if (!(x > 0) || !isfinite(x))
        return 1;
    double power = pow(10, floor(log10(x)));
    double m = x / power;
    double eps = 1e-9;
    return power * (m <= 1 + eps ? 1 : m <= 2 + eps ? 2 : m <= 5 + eps ? 5 : 10);
}

static bool limited(const struct axis *a)
{
    return a->hi_limit > a->lo_limit;
}

static double base_of(const struct axis *a)
{
    return a->twos || a->unit == AXIS_BYTES ? 2 : 10;
}

static void widen_log(struct axis *a, double lo, double hi)
{
    double base = base_of(a);
    if (!(lo > 0))
        lo = hi > 0 ? hi / 10 : 1;
    if (!(hi >= lo))
        hi = lo;
    double first = floor(log(lo) / log(base) + 1e-9), last = ceil(log(hi) / log(base) - 1e-9);
    if (last <= first)
        last = first + 1;
    double new_lo = pow(base, first), new_hi = pow(base, last);
    bool known = a->hi > a->lo && a->lo > 0;
    bool keep = known && new_lo >= a->lo * 0.999 && new_hi <= a->hi * 1.001 &&
                log(new_hi / new_lo) >= 0.4 * log(a->hi / a->lo);
    if (!keep) {
        a->lo = new_lo;
        a->hi = new_hi;
    }
}

void axis_fit(struct axis *a, double lo, double hi)
{
    if (!isfinite(lo) || !isfinite(hi))
        return;
    if (a->log) {
        widen_log(a, lo, hi);
        return;
    }
    if (a->zero) {
        lo = fmin(lo, 0);
        hi = fmax(hi, 0);
    }
    if (limited(a)) {
        lo = fmax(lo, a->lo_limit);
        hi = fmin(hi, a->hi_limit);
    }
    double extent = hi - lo;
    bool known = a->hi > a->lo;
    if (known && lo >= a->lo && hi <= a->hi && extent >= 0.4 * (a->hi - a->lo))
        return;
    if (!(extent > 0))
        extent = fabs(hi) > 0 ? fabs(hi) * 0.1 : 1;
    double step = round_step(extent / 5);
    double new_lo = floor(lo / step + 1e-9) * step, new_hi = ceil(hi / step - 1e-9) * step;
    if (!(new_hi > new_lo)) {
        new_lo -= step;
        new_hi += step;
    }
    if (a->zero) {
        if (lo >= 0)
            new_lo = 0;
        if (hi <= 0)
            new_hi = 0;
    }
    if (limited(a)) {
        new_lo = fmax(new_lo, a->lo_limit);
        new_hi = fmin(new_hi, a->hi_limit);
    }
    a->lo = new_lo;
    a->hi = new_hi;
}

void axis_fit_filling(struct axis *a, double first, double value)
{
    a->lo = 0;
    if (!(a->hi > 0))
        a->hi = first > 0 ? first : 1;
    while (isfinite(value) && value > a->hi)
        a->hi *= 2;
}

double axis_place(const struct axis *a, double value)
{
    if (!isfinite(value) || !(a->hi > a->lo))
        return NAN;
    if (!a->log)
        return (value - a->lo) / (a->hi - a->lo);
    if (!(value > 0) || !(a->lo > 0))
        return NAN;
    return log(value / a->lo) / log(a->hi / a->lo);
}

static int ticks_log(const struct axis *a, int most, double *ticks)
{
    double base = base_of(a);
    int first = (int)lround(ceil(log(a->lo) / log(base) - 1e-9));
    int last = (int)lround(floor(log(a->hi) / log(base) + 1e-9));
    int stride = 1;
    while ((last - first) / stride + 1 > most)
        stride = base == 2 && stride == 1   ? 2
                 : base == 2 && stride == 2 ? 5
                 : base == 2                ? stride * 2
                                            : stride + 1;
    int count = 0;
    for (int p = first; p <= last && count < most; p++)
        if (((p % stride) + stride) % stride == 0)
            ticks[count++] = pow(base, p);
    return count;
}

int axis_ticks(const struct axis *a, int most, double ticks[AXIS_MAX_TICKS])
{
    if (most > AXIS_MAX_TICKS)
        most = AXIS_MAX_TICKS;
    if (most < 1 || !(a->hi > a->lo))
        return 0;
    if (a->log)
        return a->lo > 0 ? ticks_log(a, most, ticks) : 0;
    double step = round_step((a->hi - a->lo) / most);
    if (a->whole && step < 1)
        step = 1;
    for (;;) {
        double from = ceil(a->lo / step - 1e-9), to = floor(a->hi / step + 1e-9);
        if (to - from + 1 <= most) {
            int count = 0;
            for (; from + count <= to + 0.5; count++)
                ticks[count] = (from + count) * step + 0.0; /* never -0 */
            return count;
        }
        step = round_step(step * 1.5);
    }
}

/* Prints with the fewest digits (at most three after the point) that still show the value to 0.1 per cent. */
static void shortest(double value, const char *suffix, char text[AXIS_LABEL])
{
    if (fabs(value) >= HUGE_FROM) {
        snprintf(text, AXIS_LABEL, "%.3g%s", value, suffix);
        return;
    }
    for (int digits = 0; digits <= 3; digits++) {
        char number[64];
        snprintf(number, sizeof number, "%.*f", digits, value);
        double shown;
        if (digits == 3 ||
            (sscanf(number, "%lf", &shown) == 1 && fabs(shown - value) <= fabs(value) * 1e-3)) {
            snprintf(text, AXIS_LABEL, "%.9s%s", number, suffix);
            return;
        }
    }
}

/* Where the last of so many prefixes is used up: 1000 P. */
static double prefixes_end(double base, int count)
{
    return 0.9995 * pow(base, count);
}

static void prefixed(double value, double base, const char *const *prefixes, int count, const char *unit,
                     char text[AXIS_LABEL])
{
    int p = 0;
    double v = fabs(value);
    if (v >= prefixes_end(base, count)) {
        snprintf(text, AXIS_LABEL, "%.3g%s", value, unit);
        return;
    }
    while (p + 1 < count && v >= base * 0.9995) {
        v /= base;
        p++;
    }
    char suffix[8];
    snprintf(suffix, sizeof suffix, "%s%s", prefixes[p], unit);
    shortest(value < 0 ? -v : v, suffix, text);
}

static const char *const SI[] = {"", "k", "M", "G", "T", "P"};
static const char *const BINARY[] = {" ", " Ki", " Mi", " Gi", " Ti", " Pi"};
static const char *const SI_SPACED[] = {" ", " k", " M", " G", " T", " P"};

void axis_label(const struct axis *a, double value, char text[AXIS_LABEL])
{
    switch (a->unit) {
    case AXIS_PERCENT: shortest(value * 100, "%", text); return;
    case AXIS_BYTES: prefixed(value, 1024, BINARY, 6, "B", text); return;
    case AXIS_RATE: prefixed(value, 1000, SI_SPACED, 6, "B/s", text); return;
    case AXIS_SECONDS:
        if (value != 0 && fabs(value) < 1e-3)
            shortest(value * 1e6, " µs", text);
        else if (value != 0 && fabs(value) < 1)
            shortest(value * 1e3, " ms", text);
        else
            shortest(value, " s", text);
        return;
    case AXIS_NUMBER: break;
    }
    if (value != 0 && fabs(value) < 1e-2)
        snprintf(text, AXIS_LABEL, "%.0e", value);
    else
        prefixed(value, 1000, SI, 6, "", text);
}

/* Three significant digits. */
static void three(double value, const char *suffix, char *text, size_t size)
{
    double v = fabs(value);
    if (v >= HUGE_FROM) {
        snprintf(text, size, "%.3g%s", value, suffix);
        return;
    }
    int digits = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
    snprintf(text, size, "%.*f%s", digits, value, suffix);
}

static void three_prefixed(double value, double base, const char *const *prefixes, const char *unit,
                           char *text, size_t size)
{
    if (!isfinite(value)) {
        snprintf(text, size, "-");
        return;
    }
    int p = 0;
    double v = value;
    if (fabs(v) >= prefixes_end(base, 6)) {
        snprintf(text, size, "%.3g %s", value, unit);
        return;
    }
    while (p + 1 < 6 && fabs(v) >= base * 0.9995) {
        v /= base;
        p++;
    }
    char suffix[16];
    snprintf(suffix, sizeof suffix, "%s%s", prefixes[p], unit);
    if (p == 0 && v == floor(v))
        snprintf(text, size, "%.0f%s", v, suffix);
    else
        three(v, suffix, text, size);
}

void format_si(double value, char *text, size_t size)
{
    three_prefixed(value, 1000, SI_SPACED, "", text, size);
    size_t n = strlen(text);
    if (n && text[n - 1] == ' ')
        text[n - 1] = '\0';
}

void format_bytes(double bytes, char *text, size_t size)
{
    three_prefixed(bytes, 1024, BINARY, "B", text, size);
}

void format_rate(double bytes_per_s, char *text, size_t size)
{
    three_prefixed(bytes_per_s, 1000, SI_SPACED, "B/s", text, size);
}

void format_loss(double loss, char *text, size_t size)
{
    if (!isfinite(loss))
        snprintf(text, size, "-");
    else
        snprintf(text, size, fabs(loss) < HUGE_FROM ? "%.4f" : "%.3g", loss);
}

void format_seconds(double s, char *text, size_t size)
{
    if (!isfinite(s))
        snprintf(text, size, "-");
    else if (fabs(s) < 0.9995e-3)
        three(s * 1e6, " µs", text, size);
    else if (fabs(s) < 0.9995)
        three(s * 1e3, " ms", text, size);
    else
        three(s, " s", text, size);
}

void format_clock(double s, char *text, size_t size)
{
    if (!isfinite(s) || s < 0 || s > 1e9) {
        snprintf(text, size, "-");
        return;
    }
    long whole = (long)s;
    if (whole >= 3600)
        snprintf(text, size, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(text, size, "%ld:%02ld", whole / 60, whole % 60);
}
