/*
 * units.h - rates, times and sizes as people write them: "10 Gb/s", "12.5 GB/s", "25us", "16GiB".
 *
 * b is a bit and B a byte; k, M, G, T are powers of 1000 and Ki, Mi, Gi, Ti of 1024. "10Gbit/s", "10Gbps" and "10G"
 * (a link's rate as people call it) are bits a second; a plain number is bytes a second, seconds or bytes.
 */
#ifndef RINGSIDE_BASE_UNITS_H
#define RINGSIDE_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes a second. False where the text is none; signs, NaN and infinity are none. */
bool units_rate(const char *text, double *bytes_per_s);
/* Seconds: "25us", "1.5 ms", "2s", "100ns", "3min", "2h"; a plain number. */
bool units_seconds(const char *text, double *seconds);
/* Bytes: "16GiB", "32 GB", "64KB"; a plain number. */
bool units_bytes(const char *text, double *bytes);
/* Operations a second: "15.7 TFLOP/s", "125T"; a plain number. */
bool units_flops(const char *text, double *flops);

/* "2.168 ms", "50 us", "2.778 h", "40.31 days": four digits and the unit that fits. */
void units_show_seconds(double seconds, char *text, size_t size);
/* "1.25 GB/s" */
void units_show_rate(double bytes_per_s, char *text, size_t size);
/* "1 MiB", "100 MB", "104.9 MB": in powers of 1024 where that takes fewer digits to say all, else in powers of 1000. */
void units_show_bytes(double bytes, char *text, size_t size);
/* "9.3 TFLOP/s" */
void units_show_flops(double flops, char *text, size_t size);
/* "67020", "134.4": no powers of ten before a number is absurd. */
void units_show_number(double value, char *text, size_t size);

#endif
