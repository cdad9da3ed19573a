#include "engine/train/samples.h"

#include "engine/base/event.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RIGHT_SAMPLES = 4,
    WRONG_SAMPLES = 4,
    DATA_BYTES = 7168, /* of an event: twice as many hexadecimal digits, and room for the other fields */
    IMAGE_SIDE = 48,   /* pixels of a side that are shown at most */
    MAPS = 32,         /* channels */
    GATE_UNITS = 8,
    GATE_STEPS = 64,
    TEXT_BYTES = 2048
};

json_t *samples_event(struct event_sink *sink, const char *kind, long step, long row)
{
    json_t *event = sink_event(sink, "sample");
    event_set_text(event, "kind", kind);
    event_set_integer(event, "step", step);
    if (row >= 0)
        event_set_integer(event, "row", row);
    return event;
}

static bool set_bytes(json_t *event, const uint8_t *bytes, size_t count, struct error *e)
{
    static const char digit[] = "0123456789abcdef";
    char *hex = malloc(2 * count + 1);
    if (!hex)
        return error_set(e, ERROR_FAILED, "out of memory for a sample");
    for (size_t i = 0; i < count; i++) {
        hex[2 * i] = digit[bytes[i] >> 4];
        hex[2 * i + 1] = digit[bytes[i] & 15];
    }
    hex[2 * count] = 0;
    event_set_text(event, "data", hex);
    free(hex);
    return true;
}

/* The mean of `by` × `by` pixels of a plane, the first of them given. */
static float mean_of_square(const float *first, int cols, int by)
{
    float sum = 0;
    for (int i = 0; i < by * by; i++)
        sum += first[i / by * cols + i % by];
    return sum / (float)(by * by);
}

/*
 * Sets rows, cols and data: `channels` planes, of which squares of by × by pixels become one (what is left at the right and
 * below is left out), on the scale from lo to hi.
 */
static bool set_planes(json_t *event, const float *values, int channels, int rows, int cols, int by, float lo,
                       float hi, struct error *e)
{
    int high = rows / by, wide = cols / by;
    size_t plane = (size_t)rows * (size_t)cols, small = (size_t)high * (size_t)wide;
    uint8_t *bytes = calloc((size_t)channels * small + 1, 1), *at = bytes;
    if (!bytes)
        return error_set(e, ERROR_FAILED, "out of memory for a sample");
    float scale = hi > lo ? 255 / (hi - lo) : 0;
    for (int c = 0; c < channels; c++)
        for (int r = 0; r < high; r++)
            for (int k = 0; k < wide; k++) {
                const float *first = values + (size_t)c * plane + (size_t)r * (size_t)by * (size_t)cols;
                *at++ = (uint8_t)lrintf((mean_of_square(first + k * by, cols, by) - lo) * scale);
            }
    event_set_integer(event, "rows", high);
    event_set_integer(event, "cols", wide);
    bool ok = set_bytes(event, bytes, (size_t)channels * small, e);
    free(bytes);
    return ok;
}

bool samples_image(struct event_sink *sink, json_t *event, const uint8_t *pixels, int channels, int rows,
                   int cols, struct error *e)
{
    size_t count = (size_t)channels * (size_t)rows * (size_t)cols;
    int longer = rows > cols ? rows : cols, by = (longer + IMAGE_SIDE - 1) / IMAGE_SIDE;
    float *values = malloc(count * sizeof *values + 1);
    for (size_t i = 0; values && i < count; i++)
        values[i] = pixels[i];
    event_set_integer(event, "channels", channels);
    bool ok = values ? set_planes(event, values, channels, rows, cols, by, 0, 255, e)
                     : error_set(e, ERROR_FAILED, "out of memory for a sample");
    free(values);
    if (!ok) {
        json_decref(event);
        return false;
    }
    return sink_emit(sink, event, e);
}

/* --- texts --- */

bool samples_by_character(const struct dataset *d)
{
    int longest = 0;
    for (int32_t t = 0; t < d->vocabulary; t++) {
        const char *token = dataset_token(d, t);
        int letters = 0;
        for (const char *p = token ? token : ""; *p; p++)
            letters += (*p & 0xc0) != 0x80; /* of UTF-8 the first byte of a character */
        longest = letters > longest ? letters : longest;
    }
    return longest <= 1;
}

void samples_tokens(const struct dataset *d, const int32_t *tokens, int count, char *text, size_t size)
{
    bool characters = samples_by_character(d);
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < count; i++) {
        const char *token = dataset_token(d, tokens[i]);
        if (!token || !*token)
            continue;
        int n = snprintf(text + used, size - used, "%s%s", used && !characters ? " " : "", token);
        if (n < 0 || (size_t)n >= size - used) {
            text[used] = 0; /* no half of a token */
            break;
        }
        used += (size_t)n;
    }
    /* What steers a terminal does not even enter the stream. */
    for (char *p = text; *p; p++)
        if (((unsigned char)*p < 32 && *p != '\n') || *p == 127)
            *p = ' ';
}

/* --- a test sample and what the model says --- */

static void set_class(json_t *event, const char *key, const struct dataset *d, int class)
{
    char number[16];
    if (d->class_names)
        event_set_text(event, key, dataset_class(d, class, number));
    else
        event_set_integer(event, key, class);
}

/* Of what the model says: the softmax of its logits, or of one number its sigmoid. */
static double probability(const float *logits, int count, int said)
{
    if (count == 1) {
        double one = 1 / (1 + exp(-(double)logits[0]));
        return said ? one : 1 - one;
    }
    double sum = 0;
    for (int c = 0; c < count; c++)
        sum += exp((double)logits[c] - logits[said]);
    return 1 / sum;
}

static bool emit_one(struct samples *s, const struct dataset *d, uint32_t row, const void *input, int label,
                     int said, double probability, struct error *e)
{
    bool text = d->vocabulary > 0;
    json_t *event = samples_event(s->sink, text ? "text" : "image", s->step, row);
    set_class(event, "label", d, label);
    set_class(event, "predicted", d, said);
    event_set_number(event, "probability", probability);
    if (text) {
        char words[TEXT_BYTES];
        samples_tokens(d, input, (int)dataset_sample_elements(d), words, sizeof words);
        event_set_text(event, "token", samples_by_character(d) ? "character" : "word");
        event_set_text(event, "data", words);
        return sink_emit(s->sink, event, e);
    }
    uint8_t *pixels = malloc(dataset_sample_elements(d));
    if (!pixels || !dataset_pixels(d, row, pixels, e)) {
        json_decref(event);
        free(pixels);
        return pixels ? false : error_set(e, ERROR_FAILED, "out of memory for a sample");
    }
    bool ok = samples_image(s->sink, event, pixels, d->shape.channels, d->shape.height, d->shape.width, e);
    free(pixels);
    return ok;
}

static bool emit_judged(struct samples *s, struct network *n, const struct dataset *d, const uint32_t *which,
                        const int32_t *classes, const int32_t *predicted, int count, struct error *e)
{
    int outputs = (int)model_shape_elements(model_output(&n->model));
    float *logits = NULL;
    bool ok = true;
    for (int i = 0; ok && i < count; i++) {
        bool right = predicted[i] == classes[i];
        if (right ? s->right >= RIGHT_SAMPLES : s->wrong >= WRONG_SAMPLES)
            continue;
        if (!logits) {
            logits = malloc((size_t)n->batch * (size_t)outputs * sizeof *logits);
            if (!logits)
                return error_set(e, ERROR_FAILED, "out of memory for a sample");
            ok = n->backend->ops->read(network_output(n), logits, e);
        }
        const char *inputs = n->input;
        ok = ok &&
             emit_one(s, d, which[i], inputs + (size_t)i * dataset_sample_bytes(d), classes[i], predicted[i],
                      probability(logits + (size_t)i * (size_t)outputs, outputs, predicted[i]), e);
        s->right += right;
        s->wrong += !right;
    }
    free(logits);
    return ok;
}

/* --- inside: feature maps and gates of the batch's first sample --- */

/* "conv2d 32, 3×3, relu, maxpool 2": layer i and what is done with it in one go. Returns the last of them. */
static int describe_stage(const struct network *n, int i, char text[128])
{
    int last = i;
    size_t used = 0;
    text[0] = 0;
    while (last + 1 < n->model.layer_count && n->stage_of[last + 1] == n->stage_of[i])
        last++;
    for (int k = i; k <= last && used < 120; k++) {
        char layer[64];
        int wrote = snprintf(text + used, 128 - used, "%s%s", k > i ? ", " : "",
                             layer_describe(&n->model.layers[k], layer));
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    return last;
}

static int first_of(const struct model_spec *m, enum layer_kind kind)
{
    for (int i = 0; i < m->layer_count; i++)
        if (m->layers[i].kind == kind)
            return i;
    return -1;
}

static bool emit_maps(struct samples *s, struct network *n, int layer, uint32_t row, struct error *e)
{
    char name[128];
    struct model_shape out = n->model.layers[describe_stage(n, layer, name)].out;
    size_t plane = (size_t)out.height * (size_t)out.width;
    int channels = out.channels < MAPS ? out.channels : MAPS, by = 1;
    /* Smaller first, down to some 14 × 14; then fewer. */
    while ((size_t)channels * (plane / (size_t)(by * by)) > DATA_BYTES && out.height / (by + 1) >= 13 &&
           out.width / (by + 1) >= 13)
        by++;
    size_t fit = DATA_BYTES / ((size_t)(out.height / by) * (size_t)(out.width / by));
    if ((size_t)channels > fit)
        channels = (int)fit;
    float *values = malloc((size_t)n->batch * model_shape_elements(out) * sizeof *values);
    if (!values || channels < 1 || !n->backend->ops->read(network_stage(n, layer), values, e)) {
        bool nothing = values && channels < 1;
        free(values);
        return nothing || (values ? false : error_set(e, ERROR_FAILED, "out of memory for feature maps"));
    }
    float lo = values[0], hi = values[0];
    for (size_t i = 0; i < (size_t)channels * plane; i++) {
        lo = fminf(lo, values[i]);
        hi = fmaxf(hi, values[i]);
    }
    json_t *event = samples_event(s->sink, "feature_map", s->step, row);
    event_set_text(event, "layer", name);
    event_set_integer(event, "channels", channels);
    event_set_integer(event, "of", out.channels);
    event_set_number(event, "lo", lo);
    event_set_number(event, "hi", hi);
    bool ok = set_planes(event, values, channels, out.height, out.width, by, lo, hi, e);
    free(values);
    if (!ok) {
        json_decref(event);
        return false;
    }
    return sink_emit(s->sink, event, e);
}

struct gate {
    const char *name, *internal; /* for people; as read_internal calls it, NULL: made of others */
    double lo, hi;               /* 0 and 0: as large as the largest value seen, and as far below 0 */
};
enum { GATE_INPUT, GATE_FORGET, GATE_CANDIDATE, GATE_OUTPUT, GATE_CELL, GATE_HIDDEN, GATES };
static const struct gate gates[GATES] = {
    {"input", "i", 0, 1},  {"forget", "f", 0, 1}, {"candidate", "g", -1, 1},
    {"output", "o", 0, 1}, {"cell", "c", 0, 0},   {"hidden", NULL, -1, 1}, /* o · tanh(c) */
};

/* Of the first sample, the first units: values are gate × unit × step. */
static bool read_gates(struct network *n, int layer, int steps, int units, float *values, struct error *e)
{
    const struct layer_spec *l = &n->model.layers[layer];
    size_t each = (size_t)units * (size_t)steps;
    float *all = malloc((size_t)n->batch * (size_t)l->in.channels * (size_t)l->units * sizeof *all);
    bool ok = true;
    if (!all)
        return error_set(e, ERROR_FAILED, "out of memory for the gates of a layer");
    for (int g = 0; ok && g < GATES; g++) {
        if (!gates[g].internal)
            continue;
        ok = n->backend->ops->read_internal(network_stage(n, layer), gates[g].internal, all, e);
        for (int u = 0; ok && u < units; u++)
            for (int t = 0; t < steps; t++)
                values[(size_t)g * each + (size_t)(u * steps + t)] = all[t * l->units + u];
    }
    for (size_t i = 0; ok && i < each; i++)
        values[GATE_HIDDEN * each + i] = values[GATE_OUTPUT * each + i] * tanhf(values[GATE_CELL * each + i]);
    free(all);
    return ok;
}

/* Bytes on the gate's scale, which is added to the list. */
static void scale_gate(const struct gate *gate, const float *values, size_t count, uint8_t *bytes,
                       json_t *list)
{
    double lo = gate->lo, hi = gate->hi;
    if (lo == hi) {
        for (size_t i = 0; i < count; i++)
            hi = fmax(hi, fabs((double)values[i]));
        hi = hi > 0 ? hi : 1;
        lo = -hi;
    }
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)lrint(255 * fmin(1, fmax(0, (values[i] - lo) / (hi - lo))));
    json_array_append_new(list, json_pack("{s:s, s:f, s:f}", "name", gate->name, "lo", lo, "hi", hi));
}

static bool emit_gates(struct samples *s, struct network *n, const struct dataset *d, int layer, uint32_t row,
                       struct error *e)
{
    const struct layer_spec *l = &n->model.layers[layer];
    int steps = l->in.channels < GATE_STEPS ? l->in.channels : GATE_STEPS;
    int units = l->units < GATE_UNITS ? l->units : GATE_UNITS;
    size_t each = (size_t)units * (size_t)steps;
    float *values = calloc(GATES * each, sizeof *values);
    uint8_t *bytes = calloc(GATES, each);
    if (!values || !bytes) {
        free(values);
        free(bytes);
        return error_set(e, ERROR_FAILED, "out of memory for the gates of a layer");
    }
    json_t *event = samples_event(s->sink, "gate", s->step, row), *list = json_array();
    bool ok = read_gates(n, layer, steps, units, values, e);
    for (size_t g = 0; ok && g < GATES; g++)
        scale_gate(&gates[g], values + g * each, each, bytes + g * each, list);
    json_object_set_new(event, "gates", list);
    if (ok) {
        char name[64], words[TEXT_BYTES];
        event_set_text(event, "layer", layer_describe(l, name));
        event_set_integer(event, "units", units);
        event_set_integer(event, "of", l->units);
        event_set_integer(event, "steps", steps);
        if (d->vocabulary > 0) {
            samples_tokens(d, n->input, steps, words, sizeof words);
            event_set_text(event, "token", samples_by_character(d) ? "character" : "word");
            event_set_text(event, "tokens", words);
        }
        ok = set_bytes(event, bytes, GATES * each, e);
    }
    free(values);
    free(bytes);
    if (!ok) {
        json_decref(event);
        return false;
    }
    return sink_emit(s->sink, event, e);
}

bool samples_of_batch(struct samples *s, struct network *n, const struct dataset *d, const uint32_t *which,
                      const int32_t *classes, const int32_t *predicted, int count, struct error *e)
{
    if (d->targets == 1 && d->classes != d->vocabulary &&
        !emit_judged(s, n, d, which, classes, predicted, count, e))
        return false;
    if (s->inside)
        return true;
    s->inside = true;
    int conv = first_of(&n->model, LAYER_CONV2D), lstm = first_of(&n->model, LAYER_LSTM);
    return (conv < 0 || emit_maps(s, n, conv, which[0], e)) &&
           (lstm < 0 || emit_gates(s, n, d, lstm, which[0], e));
}
