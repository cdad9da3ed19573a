/* The parameter counts and shapes are worked out by hand from the layer definitions. */
#include "engine/spec/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void known_models(void **state)
{
    (void)state;
    struct model_spec m;
    struct error e = {0};
    assert_true(model_named("cnn", &m, &e));
    /* 32·9+32, 64·32·9+64, 64·64·9+64, 576·64+64, 64·10+10 */
    assert_int_equal(m.parameters, 320 + 18496 + 36928 + 36928 + 650);
    assert_int_equal(m.parameters, 93322);
    assert_int_equal(m.layers[6].in.height, 5);
    assert_int_equal(m.layers[8].out.channels, 576);
    assert_int_equal(m.layers[11].bias_offset + 10, 93322);
    assert_true(model_named("mlp", &m, &e));
    assert_int_equal(m.parameters, 784 * 128 + 128 + 128 * 10 + 10);
    for (const char *const *name = model_names(); *name; name++)
        assert_true(model_named(*name, &m, &e));
    assert_false(model_named("vgg", &m, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "vgg"));
}

static void costs(void **state)
{
    (void)state;
    struct model_spec m;
    assert_true(model_named("mlp", &m, NULL));
    /* dense: 2·in+1 per unit; relu: one per element */
    double hidden = 128 * (2 * 784 + 1), last = 10 * (2 * 128 + 1);
    assert_float_equal(m.flops, hidden + 128 + last, 1e-6);
    /* the first dense layer needs no gradient of its input */
    assert_float_equal(m.train_flops, 2 * hidden + 2 * 128 + 3 * last, 1e-6);
    assert_float_equal(m.activation_bytes, 4 * (128 + 128 + 10), 1e-6);
}

static void json_round_trip(void **state)
{
    (void)state;
    for (const char *const *name = model_names(); *name; name++) {
        struct model_spec m, again;
        struct error e = {0};
        assert_true(model_named(*name, &m, &e));
        json_t *object = model_to_json(&m);
        assert_true(model_from_json(object, &again, &e));
        json_t *twice = model_to_json(&again);
        assert_true(json_equal(object, twice));
        assert_int_equal(again.parameters, m.parameters);
        json_decref(object);
        json_decref(twice);
    }
}

static void refuses(const char *text, const char *expected)
{
    json_t *object = json_loads(text, 0, NULL);
    struct model_spec m;
    struct error e = {0};
    assert_non_null(object);
    assert_false(model_from_json(object, &m, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    if (!strstr(e.text, expected))
        fail_msg("\"%s\" does not mention \"%s\"", e.text, expected);
    json_decref(object);
}

static void wrong_models(void **state)
{
    (void)state;
    refuses("{\"layers\":[]}", "0 layers");
    refuses("{\"layers\":[{\"kind\":\"conv3d\"}]}", "conv3d");
    refuses("{\"layers\":[{\"kind\":\"dense\",\"units\":10}]}", "flatten");
    refuses("{\"layers\":[{\"kind\":\"relu\"},{\"kind\":\"conv2d\",\"channels\":4,\"kernel\":29}]}",
            "layer 2");
    refuses("{\"layers\":[{\"kind\":\"maxpool\",\"size\":29}]}", "does not fit");
    refuses("{\"layers\":[{\"kind\":\"conv2d\",\"channels\":4}]}", "kernel");
    refuses("{\"layers\":[{\"kind\":\"conv2d\",\"channels\":4,\"kernel\":3,\"pading\":1}]}", "pading");
    refuses("{\"layers\":[{\"kind\":\"conv2d\",\"channels\":0,\"kernel\":3}]}", "channels");
    refuses("{\"layers\":[{\"kind\":\"conv2d\",\"channels\":1.5,\"kernel\":3}]}", "whole number");
    refuses("{\"layers\":[{\"kind\":\"conv2d\",\"channels\":1,\"kernel\":3,\"padding\":3}]}", "padding");
    refuses("{\"layers\":[{\"kind\":\"relu\"}],\"input\":[28,28]}", "input");
    refuses("{\"layers\":[{\"kind\":\"relu\"}],\"input\":[1,0,28]}", "input");
    refuses("{\"layers\":[{\"kind\":\"flatten\"},{\"kind\":\"dense\",\"units\":1048576}]}", "2^28");
    refuses("{\"layers\":7}", "layers");
    refuses("{\"layers\":[7]}", "layer 1");
    refuses("{\"layer\":[]}", "no field");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_models), cmocka_unit_test(costs),
                                       cmocka_unit_test(json_round_trip), cmocka_unit_test(wrong_models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
