/* Quantities as people write them, and as they are shown to them. */
#include "engine/base/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

typedef void show(double value, char *text, size_t size);

static void shows(show *how, double value, const char *expected)
{
    char text[32];
    how(value, text, sizeof text);
    assert_string_equal(text, expected);
}

static void test_bytes(void **state)
{
    (void)state;
    shows(units_show_bytes, 0, "0 B");
    shows(units_show_bytes, 1, "1 B");
    shows(units_show_bytes, 1000, "1 kB");
    shows(units_show_bytes, 1024, "1 KiB");
    shows(units_show_bytes, 1536, "1.5 KiB");
    shows(units_show_bytes, 1 << 20, "1 MiB");
    shows(units_show_bytes, 104857600, "100 MiB");
    shows(units_show_bytes, 1e8, "100 MB");
    shows(units_show_bytes, 128000, "128 kB");
    shows(units_show_bytes, 110345, "110.3 kB");
    shows(units_show_bytes, 102228128, "102.2 MB");
    shows(units_show_bytes, 999999999, "1 GB");
    shows(units_show_bytes, 80e9, "80 GB");
}

static void test_seconds(void **state)
{
    (void)state;
    shows(units_show_seconds, 0, "0 s");
    shows(units_show_seconds, 0.0021682, "2.168 ms");
    shows(units_show_seconds, 50e-6, "50 us");
    shows(units_show_seconds, 5e-10, "0.5 ns");
    shows(units_show_seconds, 1234.56, "1235 s");
    shows(units_show_seconds, 36000, "10 h");
    shows(units_show_seconds, 3.483e6, "40.31 days");
    shows(units_show_seconds, 1.976e10, "626.2 years");
}

static void test_numbers(void **state)
{
    (void)state;
    shows(units_show_number, 0.9014, "0.9014");
    shows(units_show_number, 134.42, "134.4");
    shows(units_show_number, 67020, "67020");
    shows(units_show_flops, 9.3e12, "9.3 TFLOP/s");
    shows(units_show_flops, 500, "500 FLOP/s");
}

static void test_rates(void **state)
{
    (void)state;
    double rate, seconds, bytes;
    shows(units_show_rate, 0, "0 B/s");
    shows(units_show_rate, 1.25e9, "1.25 GB/s");
    shows(units_show_rate, 1e12, "1 TB/s");
    assert_true(units_rate("10Gb/s", &rate) && rate == 1.25e9);
    assert_true(units_rate("12.5 GB/s", &rate) && rate == 12.5e9);
    assert_true(units_seconds("25us", &seconds) && seconds == 25 * 1e-6);
    assert_true(units_bytes("16GiB", &bytes) && bytes == 16.0 * (1 << 30));
    assert_false(units_rate("fast", &rate) || units_rate("-1", &rate) || units_seconds("0x10", &seconds) ||
                 units_bytes("nan", &bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
