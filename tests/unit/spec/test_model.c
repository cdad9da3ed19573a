/*
 * Models from JSON: shapes, parameters and FLOPs worked out by hand from the definitions of the layers, and what is
 * refused.
 */
#include "engine/spec/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

/* A model of one input and some layers, as JSON text with ' for ". */
static struct model_spec make(const char *input, const char *layers)
{
    char text[2000];
    struct model_spec m;
    struct error e = {0};
    snprintf(text, sizeof text, "{'input': %s, 'layers': [%s]}", input, layers);
    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    json_t *object = json_loads(text, 0, NULL);
    assert_non_null(object);
    if (!model_from_json(object, &m, &e))
        fail_msg("%s", e.text);
    json_decref(object);
    return m;
}

/* One layer: what it puts out, its parameters and FLOPs. */
static void layer(const char *input, const char *description, const char *shape, size_t parameters,
                  double flops)
{
    struct model_spec m = make(input, description);
    char text[64];
    assert_string_equal(model_shape_describe(model_output(&m), text), shape);
    assert_int_equal(m.parameters, parameters);
    assert_float_equal(m.flops, flops, 0.5);
    model_free(&m);
}

static void images(void **state)
{
    (void)state;
    layer("[1,28,28]", "{'kind':'conv2d','channels':32,'kernel':3}", "32×26×26", 320, 32 * 676 * 19);
    /* (32 + 2·2 - 2·(3-1) - 1)/2 + 1 = 16 */
    layer("[3,32,32]", "{'kind':'conv2d','channels':8,'kernel':3,'stride':2,'padding':2,'dilation':2}",
          "8×16×16", 8 * 27 + 8, 8 * 256 * (2 * 27 + 1));
    layer("[4,9,9]", "{'kind':'conv2d','channels':6,'kernel':[1,7],'padding':[0,3],'groups':2,'bias':false}",
          "6×9×9", 6 * 2 * 7, 6 * 81 * (2 * 14));
    layer("[3,112,112]", "{'kind':'maxpool','size':3,'stride':2,'padding':1}", "3×56×56", 0, 3 * 3136 * 8);
    layer("[2,5,7]", "{'kind':'maxpool','size':2}", "2×2×3", 0, 12 * 3);
    layer("[2,6,6]", "{'kind':'avgpool','size':[2,3]}", "2×3×2", 0, 12 * 6);
    layer("[64,7,7]", "{'kind':'global_avgpool'}", "64", 0, 64 * 49);
    layer("[8,4,4]", "{'kind':'batchnorm'}", "8×4×4", 16, 7 * 128);
    layer("[8,4,4]", "{'kind':'layernorm'}", "8×4×4", 256, 7 * 128);
    layer("[8,4,4]", "{'kind':'dropout','rate':0.5}", "8×4×4", 0, 128);
    layer("[8,4,4]", "{'kind':'reshape','shape':[4,32]}", "4 steps × 32", 0, 0);
}

static void sequences(void **state)
{
    (void)state;
    layer("{'tokens':100}", "{'kind':'embedding','vocabulary':65,'units':16}", "100 steps × 16", 65 * 16, 0);
    layer("{'steps':5,'features':3}", "{'kind':'dense','units':4}", "5 steps × 4", 16, 5 * 4 * 7);
    layer("{'steps':5,'features':3}", "{'kind':'dense','units':4,'bias':false}", "5 steps × 4", 12,
          5 * 4 * 6);
    layer("{'steps':5,'features':3}", "{'kind':'layernorm'}", "5 steps × 3", 6, 7 * 15);
    layer("{'steps':5,'features':3}", "{'kind':'flatten'}", "15", 0, 0);
    /* a step: 4·(3+4) products and sums, 4 biases, 4 tanh */
    layer("{'steps':5,'features':3}", "{'kind':'simple_rnn','units':4}", "5 steps × 4", 4 * 3 + 4 * 4 + 4,
          5 * (2 * 28 + 4 + 4));
    /* a step: four such, and of each unit c = f·c + i·g, tanh(c), o·tanh(c) */
    layer("{'steps':5,'features':3}", "{'kind':'lstm','units':4,'last':true}", "4", 4 * (4 * 3 + 4 * 4 + 4),
          5 * (4 * (2 * 28 + 4 + 4) + 4 * 5));
}

/* Residuals and branches become layers that say whose output they take. */
static void graphs(void **state)
{
    (void)state;
    struct model_spec m =
        make("[4,8,8]", "{'kind':'relu'},"
                        "{'kind':'residual','layers':[{'kind':'conv2d','channels':6,'kernel':3,'padding':1},"
                        "{'kind':'relu'}],'shortcut':[{'kind':'conv2d','channels':6,'kernel':1}]},"
                        "{'kind':'branches','branches':[[{'kind':'conv2d','channels':2,'kernel':1}],[]]},"
                        "{'kind':'residual','layers':[{'kind':'tanh'}]}");
    static const struct {
        const char *name;
        enum layer_kind kind;
        int inputs[3], channels; /* inputs: -2 ends them */
    } expected[] = {{"0", LAYER_RELU, {MODEL_INPUT, -2}, 4}, {"1.layers.0", LAYER_CONV2D, {0, -2}, 6},
                    {"1.layers.1", LAYER_RELU, {1, -2}, 6},  {"1.shortcut.0", LAYER_CONV2D, {0, -2}, 6},
                    {"1", LAYER_ADD, {2, 3, -2}, 6},         {"2.branches.0.0", LAYER_CONV2D, {4, -2}, 2},
                    {"2", LAYER_CONCAT, {5, 4, -2}, 8},      {"3.layers.0", LAYER_TANH, {6, -2}, 8},
                    {"3", LAYER_ADD, {7, 6, -2}, 8}};
    assert_int_equal(m.layer_count, sizeof expected / sizeof *expected);
    for (int i = 0; i < m.layer_count; i++) {
        const struct layer_spec *l = &m.layers[i];
        assert_string_equal(l->name, expected[i].name);
        assert_int_equal(l->kind, expected[i].kind);
        assert_int_equal(l->out.channels, expected[i].channels);
        for (int k = 0; k < l->input_count; k++)
            assert_int_equal(l->inputs[k], expected[i].inputs[k]);
        assert_int_equal(expected[i].inputs[l->input_count], -2);
    }
    char text[96];
    assert_string_equal(layer_place("2.branches.0.0", text), "layer 3, branch 1, layer 1");
    assert_string_equal(layer_place("1.shortcut.0", text), "layer 2, shortcut, layer 1");
    model_free(&m);
}

static void buffers(void **state)
{
    (void)state;
    struct model_spec m =
        make("[1,4,4]", "{'kind':'conv2d','channels':2,'kernel':3,'bias':false},"
                        "{'kind':'batchnorm'},{'kind':'flatten'},{'kind':'dense','units':3}");
    const struct layer_tensor *weight = layer_tensor(&m.layers[3], "weight");
    assert_int_equal(m.parameters, 18 + 4 + 8 * 3 + 3);
    assert_int_equal(m.states, 4);
    assert_int_equal(weight->offset, 22);
    assert_int_equal(weight->rank, 2);
    assert_int_equal(weight->extent[0], 3);
    assert_int_equal(weight->extent[1], 8);
    assert_int_equal(layer_tensor(&m.layers[3], "bias")->offset, 46);
    assert_null(layer_tensor(&m.layers[0], "bias"));
    assert_string_equal(m.layers[1].state[1].name, "running_var");
    assert_int_equal(m.layers[1].state[1].offset, 2);
    assert_int_equal(layer_parameters(&m.layers[1]), 4);
    struct model_spec copy;
    assert_true(model_copy(&m, &copy, NULL));
    model_free(&m);
    assert_int_equal(copy.layers[3].tensors[0].offset, 22);
    model_free(&copy);
    model_free(NULL);
}

static void costs(void **state)
{
    (void)state;
    struct model_spec m =
        make("[1,28,28]",
             "{'kind':'flatten'},{'kind':'dense','units':128},{'kind':'relu'},{'kind':'dense','units':10}");
    /* dense: 2·in+1 per unit; relu: one per element */
    double hidden = 128 * (2 * 784 + 1), last = 10 * (2 * 128 + 1);
    assert_float_equal(m.flops, hidden + 128 + last, 1e-6);
    /* the first dense layer needs no gradient of its input */
    assert_float_equal(m.train_flops, 2 * hidden + 2 * 128 + 3 * last, 1e-6);
    assert_float_equal(m.activation_bytes, 4 * (128 + 128 + 10), 1e-6);
    model_free(&m);
}

static void refuses(const char *text, const char *expected)
{
    json_t *object = json_loads(text, 0, NULL);
    struct model_spec m;
    struct error e = {0};
    assert_non_null(object);
    assert_false(model_check(object, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    if (!strstr(e.text, expected))
        fail_msg("\"%s\" does not mention \"%s\"", e.text, expected);
    if (!json_object_get(object, "generator"))
        assert_false(model_from_json(object, &m, NULL));
    json_decref(object);
}

static void wrong_models(void **state)
{
    (void)state;
    refuses("{\"layers\":[]}", "0 layers");
    refuses("{\"layers\":[{\"kind\":\"conv3d\"}]}", "conv3d");
    refuses("{\"layers\":[{\"kind\":\"add\"}]}", "there is no layer \"add\"");
    refuses("{\"layers\":[{\"kind\":\"dense\",\"units\":10}]}", "flatten");
    refuses("{\"layers\":[{\"kind\":\"relu\"},{\"kind\":\"conv2d\",\"channels\":4,\"kernel\":29}]}",
            "layer 2");
    refuses("{\"layers\":[{\"kind\":\"maxpool\",\"size\":29}]}", "does not fit");
    refuses("{\"layers\":[{\"kind\":\"maxpool\",\"size\":3,\"padding\":2}]}", "half the window");
    refuses("{\"layers\":[{\"kind\":\"conv2d\",\"channels\":4}]}", "kernel");
    refuses("{\"layers\":[{\"kind\":\"conv2d\",\"channels\":4,\"kernel\":3,\"pading\":1}]}", "pading");
    refuses("{\"layers\":[{\"kind\":\"conv2d\",\"channels\":0,\"kernel\":3}]}", "channels");
    refuses("{\"layers\":[{\"kind\":\"conv2d\",\"channels\":1.5,\"kernel\":3}]}", "whole number");
    refuses("{\"layers\":[{\"kind\":\"conv2d\",\"channels\":1,\"kernel\":[3,3,3]}]}", "{height, width}");
    refuses("{\"layers\":[{\"kind\":\"conv2d\",\"channels\":1,\"kernel\":3,\"padding\":3}]}", "padding");
    refuses("{\"layers\":[{\"kind\":\"conv2d\",\"channels\":4,\"kernel\":3,\"groups\":2}]}", "groups");
    refuses("{\"layers\":[{\"kind\":\"conv2d\",\"channels\":4,\"kernel\":3,\"bias\":1}]}", "true or false");
    refuses("{\"layers\":[{\"kind\":\"dropout\",\"rate\":1}]}", "rate");
    refuses("{\"layers\":[{\"kind\":\"lstm\",\"units\":4}]}", "takes a sequence");
    refuses("{\"layers\":[{\"kind\":\"embedding\",\"vocabulary\":4,\"units\":4}]}", "takes tokens");
    refuses("{\"layers\":[{\"kind\":\"flatten\"}],\"input\":{\"tokens\":5}}", "embedding");
    refuses("{\"layers\":[{\"kind\":\"conv2d\",\"channels\":1,\"kernel\":1}],\"input\":{\"steps\":5,"
            "\"features\":3}}",
            "takes an image and gets 5 steps × 3");
    refuses("{\"layers\":[{\"kind\":\"reshape\",\"shape\":[3,3]}]}", "9 elements");
    refuses("{\"layers\":[{\"kind\":\"residual\",\"layers\":[{\"kind\":\"maxpool\",\"size\":2}]}]}",
            "layer 1 (add): its paths must end in the same shape, and one gives 1×14×14, another 1×28×28");
    refuses("{\"layers\":[{\"kind\":\"residual\",\"layers\":[]}]}", "at least one layer");
    refuses("{\"layers\":[{\"kind\":\"residual\",\"layers\":[{\"kind\":\"relu\"}],\"skip\":[]}]}",
            "layer 1 (residual) has no field \"skip\"");
    refuses("{\"layers\":[{\"kind\":\"branches\",\"branches\":[[]]}]}", "from 2 to 8");
    refuses("{\"layers\":[{\"kind\":\"branches\",\"branches\":[[],[{\"kind\":\"maxpool\",\"size\":2}]]}]}",
            "same height and width");
    refuses("{\"layers\":[{\"kind\":\"branches\",\"branches\":[[],[{\"kind\":\"maxpool\",\"size\":99}]]}]}",
            "layer 1, branch 2, layer 1 (maxpool 99)");
    refuses("{\"layers\":[{\"kind\":\"relu\"}],\"input\":[28,28]}", "input");
    refuses("{\"layers\":[{\"kind\":\"relu\"}],\"input\":[1,0,28]}", "input");
    refuses("{\"layers\":[{\"kind\":\"relu\"}],\"input\":{\"tokens\":0}}", "input");
    refuses("{\"layers\":[{\"kind\":\"flatten\"},{\"kind\":\"dense\",\"units\":1048576},"
            "{\"kind\":\"dense\",\"units\":1048576}]}",
            "2^30");
    refuses("{\"layers\":[{\"kind\":\"relu\"}],\"loss\":\"hinge\"}", "cross_entropy");
    refuses("{\"layers\":[{\"kind\":\"relu\"}],\"label_smoothing\":1}", "label_smoothing");
    refuses("{\"layers\":[{\"kind\":\"relu\"}],\"loss\":\"mse\",\"label_smoothing\":0.1}", "label_smoothing");
    refuses("{\"layers\":[{\"kind\":\"relu\"}],\"name\":\"a/b\"}", "slashes");
    refuses("{\"layers\":7}", "layers");
    refuses("{\"layers\":[7]}", "layer 1");
    refuses("{\"layer\":[]}", "no field");
    refuses("[]", "JSON object");
    refuses("{\"generator\":{\"layers\":[{\"kind\":\"relu\"}]},\"discriminator\":{\"layers\":7}}",
            "discriminator");
    refuses("{\"generator\":{\"layers\":[{\"kind\":\"relu\"}]},\"discriminator\":{\"input\":[5],\"layers\":[{"
            "\"kind\":"
            "\"dense\",\"units\":1}]}}",
            "as many elements");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(images), cmocka_unit_test(sequences),
                                       cmocka_unit_test(graphs), cmocka_unit_test(buffers),
                                       cmocka_unit_test(costs),  cmocka_unit_test(wrong_models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
