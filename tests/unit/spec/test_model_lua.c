/*
 * The models of exercises/models against the counts their authors and PyTorch's torchvision publish, a few shapes and
 * sums worked out by hand, and files that are wrong.
 */
#include "engine/base/paths.h"
#include "engine/spec/model_lua.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct model_spec named(const char *name)
{
    struct model_spec m;
    struct error e = {0};
    if (!model_named(name, &m, &e))
        fail_msg("%s", e.text);
    assert_string_equal(m.name, name);
    return m;
}

static void parameters(void **state)
{
    (void)state;
    static const struct {
        const char *name, *output;
        size_t parameters;
        struct model_shape input;
    } known[] = {
        {"mlp", "10", 784 * 128 + 128 + 128 * 10 + 10, {1, 28, 28, SHAPE_IMAGE}},
        /* 80 MB of float32 */
        {"wide_mlp", "10", 784 * 4096 + 4096 + 4096 * 4096 + 4096 + 40960 + 10, {1, 28, 28, SHAPE_IMAGE}},
        /* 32·9+32, 64·32·9+64, 64·64·9+64, 576·64+64, 64·10+10 */
        {"cnn", "10", 320 + 18496 + 36928 + 36928 + 650, {1, 28, 28, SHAPE_IMAGE}},
        {"text_rnn", "1", 10000 * 128 + 64 * (128 + 64 + 1) + 65, {100, 1, 1, SHAPE_TOKENS}},
        {"text_lstm", "10000", 10000 * 128 + 512 * (128 + 128 + 1) + 10000 * 129, {50, 1, 1, SHAPE_TOKENS}},
        {"char_lstm", "64 steps × 65", 65 * 64 + 1024 * (64 + 256 + 1) + 65 * 257, {64, 1, 1, SHAPE_TOKENS}},
        /* He et al., table 6: 0.27 M; 2752 of them in two projections */
        {"resnet20", "10", 269722 + 2752, {3, 32, 32, SHAPE_IMAGE}},
        /* torchvision */
        {"resnet50", "1000", 25557032, {3, 224, 224, SHAPE_IMAGE}},
        {"resnet101", "1000", 44549160, {3, 224, 224, SHAPE_IMAGE}},
        {"resnet152", "1000", 60192808, {3, 224, 224, SHAPE_IMAGE}},
        {"vgg16", "1000", 138357544, {3, 224, 224, SHAPE_IMAGE}},
        {"alexnet", "1000", 61100840, {3, 224, 224, SHAPE_IMAGE}},
        /* 27 161 264 less the auxiliary classifier: 98 304 + 256 + 2 457 600 + 1536 + 769 000 */
        {"inception_v3", "1000", 27161264 - 3326696, {3, 299, 299, SHAPE_IMAGE}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct model_spec m = named(known[i].name);
        char text[64];
        assert_int_equal(m.parameters, known[i].parameters);
        assert_memory_equal(&m.input, &known[i].input, sizeof m.input);
        assert_string_equal(model_shape_describe(model_output(&m), text), known[i].output);
        assert_int_equal(m.loss.kind, strcmp(m.name, "text_rnn") ? LOSS_CROSS_ENTROPY : LOSS_BCE);
        model_free(&m);
    }
}

static const struct layer_spec *find(const struct model_spec *m, const char *name)
{
    for (int i = 0; i < m->layer_count; i++)
        if (!strcmp(m->layers[i].name, name))
            return &m->layers[i];
    fail_msg("%s has no layer %s", m->name, name);
    return NULL;
}

static void shape(const struct model_spec *m, const char *name, const char *description, const char *out)
{
    char text[64];
    const struct layer_spec *l = find(m, name);
    assert_string_equal(layer_describe(l, text), description);
    assert_string_equal(model_shape_describe(l->out, text), out);
}

static void shapes(void **state)
{
    (void)state;
    struct model_spec m = named("resnet50");
    /* (224 + 6 - 7)/2 + 1 = 112, (112 + 2 - 3)/2 + 1 = 56 */
    shape(&m, "0", "conv2d 64, 7×7, stride 2", "64×112×112");
    shape(&m, "3", "maxpool 3, stride 2", "64×56×56");
    shape(&m, "4.shortcut.0", "conv2d 256, 1×1", "256×56×56");
    shape(&m, "10.layers.3", "conv2d 128, 3×3, stride 2", "128×28×28");
    shape(&m, "34", "add", "2048×7×7");
    /*
     * 4.1 GMAC: the published figure counts the multiply-adds of convolutions and of the dense layer alone,
     * 4 089 184 256 (fvcore, Facebook AI Research 2021); FLOPs are two each, with the biases of the dense layer.
     */
    double macs = 0;
    for (int i = 0; i < m.layer_count; i++)
        if (m.layers[i].kind == LAYER_CONV2D || m.layers[i].kind == LAYER_DENSE)
            macs += m.layers[i].flops / 2;
    assert_float_equal(macs, 4089184256.0 + 500, 0.5);
    assert_in_range((uint64_t)m.flops, (uint64_t)(2 * macs), (uint64_t)(2.05 * macs));
    model_free(&m);

    m = named("inception_v3");
    shape(&m, "16", "maxpool 3, stride 2", "192×35×35");
    shape(&m, "17", "concat", "256×35×35");
    shape(&m, "20", "concat", "768×17×17");
    shape(&m, "25", "concat", "1280×8×8");
    shape(&m, "27", "concat", "2048×8×8");
    model_free(&m);

    m = named("alexnet");
    shape(&m, "12", "maxpool 3, stride 2", "256×6×6");
    model_free(&m);
}

/* Worked out for the first layers of the cnn by hand. */
static void costs(void **state)
{
    (void)state;
    struct model_spec m = named("cnn");
    const struct layer_spec *first = &m.layers[0], *pool = &m.layers[2], *second = &m.layers[3];
    assert_float_equal(first->flops, 32 * 676 * (2 * 9 + 1), 0.5);
    assert_float_equal(first->backward_flops, first->flops, 0.5); /* of the weights alone */
    assert_float_equal(first->bytes, 4 * (784 + 320 + 32 * 676), 0.5);
    assert_float_equal(pool->bytes, 4 * (32 * 676 + 32 * 169), 0.5);
    assert_float_equal(second->backward_flops, 2 * second->flops, 0.5);
    assert_float_equal(m.layers[8].bytes, 0, 0); /* flatten */
    model_free(&m);
    m = named("text_rnn");
    assert_float_equal(m.layers[0].bytes, 4 * (100 + 2 * 12800), 0.5);
    model_free(&m);
}

static void two_networks(void **state)
{
    (void)state;
    struct error e = {0};
    json_t *object = model_description("gan", &e);
    struct model_spec generator, discriminator;
    assert_non_null(object);
    assert_true(model_from_json(json_object_get(object, "generator"), &generator, &e));
    assert_true(model_from_json(json_object_get(object, "discriminator"), &discriminator, &e));
    assert_int_equal(generator.parameters, 100 * 256 + 256 + 256 * 784 + 784);
    assert_int_equal(discriminator.parameters, 784 * 256 + 256 + 257);
    assert_int_equal(discriminator.loss.kind, LOSS_BCE);
    assert_int_equal(model_output(&generator).channels, discriminator.input.channels);
    model_free(&generator);
    model_free(&discriminator);
    json_decref(object);
}

static void every_file_is_a_model(void **state)
{
    (void)state;
    struct error e = {0};
    char **names = model_names(&e);
    int count = 0;
    assert_non_null(names);
    for (char **name = names; *name; name++, count++) {
        json_t *object = model_description(*name, &e);
        if (!object)
            fail_msg("%s", e.text);
        assert_true(name == names || strcmp(name[-1], *name) < 0);
        json_decref(object);
    }
    assert_true(count >= 14);
    model_names_free(names);
    model_names_free(NULL);
}

/* --- a learner's file -------------------------------------------------------------------------------------- */

static char file[64];

static void write_file(const char *text)
{
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static json_t *describe(const char *text)
{
    struct error e = {0};
    write_file(text);
    json_t *object = model_description(file, &e);
    if (!object)
        fail_msg("%s", e.text);
    return object;
}

static void own_files(void **state)
{
    (void)state;
    /* Ending with model{...} is enough; lists stand for the layers in them; the name is the file's. */
    json_t *object = describe("local function block(n) return { dense{n}, relu{} } end\n"
                              "model{ flatten{}, { block(4), { block(5) } }, dense{2}, loss = 'mse' }\n");
    struct model_spec m;
    assert_true(model_from_json(object, &m, NULL));
    assert_int_equal(m.layer_count, 6);
    assert_string_equal(m.layers[5].name, "5");
    assert_int_equal(m.layers[3].units, 5);
    assert_string_equal(m.name, "mine");
    assert_int_equal(m.loss.kind, LOSS_MSE);
    model_free(&m);
    json_decref(object);
    /* What is returned counts more than what was described last. */
    object = describe("local m = model{ flatten{}, dense{3}, name = 'first' }\nmodel{ relu{} }\nreturn m\n");
    assert_string_equal(json_string_value(json_object_get(object, "name")), "first");
    json_decref(object);
}

static void refuses(const char *text, const char *expected)
{
    struct error e = {0};
    write_file(text);
    assert_null(model_description(file, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    if (!strstr(e.text, expected) || !strstr(e.text, "mine.lua"))
        fail_msg("\"%s\" does not mention \"%s\" and the file", e.text, expected);
}

static void wrong_files(void **state)
{
    (void)state;
    struct error e = {0};
    assert_null(model_description("vgg", &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "the models are alexnet, char_lstm, cnn"));
    assert_null(model_description("no/such.lua", &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    refuses("return model{ dense{10 }\n", "mine.lua:");
    refuses("\n\nreturn model{ conv2d{32} }\n", "mine.lua:3: conv2d{...} lacks its kernel");
    refuses("return model{ flatten{}, desne{10} }\n", "desne");
    refuses("return model{ relu{}, 7 }\n", "layer 2 of model{...} is no layer");
    refuses("return model{}\n", "no layers");
    refuses("return model{ relu{}, blok, relu{} }\n", "layer 2 of model{...} is nil");
    refuses("return model{ blok, relu{} }\n", "layer 1 of model{...} is nil");
    refuses("return model{ relu{}, inputs = {1, 2, 2} }\n", "does not know 'inputs'");
    refuses("return model{ relu{}, residual{ shortcut = {} } }\n", "residual");
    refuses("return model{ branches{ relu{}, 3 } }\n", "branch 2");
    refuses(
        "\nreturn model{\n    relu{},\n    dense{10},\n}\n",
        "layer 2 (dense 10) in line 4: it takes a flat input and gets 1×28×28; put flatten{} in front of it");
    refuses("local function down(x)\n  return residual{ maxpool{2} }\nend\nreturn model{ down() }\n",
            "layer 1 (add) in line 2: its paths");
    refuses("return model{ dropout{2} }\n", "layer 1 (dropout 2) in line 1");
    refuses("return model{ flatten{}, dense{1e9} }\n", "units");
    refuses("return model{ flatten{}, dense{1e300} }\n", "dense");
    refuses("return gan{ generator = model{ relu{} } }\n", "discriminator");
    refuses("return gan{ generator = model{ relu{} }, discriminator = {} }\n", "model");
    refuses("return 7\n", "return model{");
    refuses("os.exit(0)\n", "os");
    refuses("local t = { kind = 'relu' }\nreturn model{ t, { t, { t } }, input = {kind = 1} }\n", "input");
    refuses("local r = relu{}\nfor i = 1, 9 do r = residual{ r } end\nreturn model{ r }\n",
            "nested too deeply");
    refuses("local t = {}\nt[1] = t\nreturn model{ t }\n", "no layer");
    refuses("local t = {}\nfor i = 1, 5000 do t[i] = relu{} end\nreturn model{ t }\n", "4096 layers");
    refuses("local t = {}\nfor i = 1, 2000 do t[i] = relu{} end\nreturn model{ t }\n", "1024 layers");
    setenv("RINGSIDE_SCRIPT_SECONDS", "0.2", 1);
    refuses("while true do end\n", "0.2 s");
    refuses("return string.rep('a', 40):find(string.rep('a?', 40) .. string.rep('a', 40) .. 'b')\n", "0.2 s");
    unsetenv("RINGSIDE_SCRIPT_SECONDS");
}

int main(void)
{
    char folder[] = "/tmp/ringside-models-XXXXXX";
    if (!mkdtemp(folder))
        return 1;
    snprintf(file, sizeof file, "%s/mine.lua", folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters),   cmocka_unit_test(shapes),    cmocka_unit_test(costs),
        cmocka_unit_test(two_networks), cmocka_unit_test(own_files), cmocka_unit_test(every_file_is_a_model),
        cmocka_unit_test(wrong_files),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(file);
    rmdir(folder);
    return failed;
}
