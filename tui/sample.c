#include "tui/sample.h"

#include "engine/base/event.h"
#include "tui/canvas.h"
#include "tui/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Controls (C0, DEL, C1), and the marks of Unicode that change the direction or order of what follows. */
static bool steers(uint32_t glyph)
{
    return glyph < 32 || (glyph >= 127 && glyph < 160) || (glyph >= 0x200b && glyph <= 0x200f) ||
           (glyph >= 0x2028 && glyph <= 0x202e) || (glyph >= 0x2060 && glyph <= 0x206f) || glyph == 0xfeff;
}

char *sample_clean(const char *text, size_t limit, bool lines)
{
    size_t used = 0;
    char *clean = malloc(limit + 5);
    if (!clean)
        return NULL;
    for (uint32_t glyph; used < limit && (glyph = utf8_next(&text));) {
        if (glyph == '\t' || (glyph == '\n' && !lines))
            glyph = ' ';
        else if (glyph != '\n' && steers(glyph))
            glyph = 0xfffd;
        used += (size_t)utf8_put(clean + used, glyph);
    }
    clean[used] = '\0';
    return clean;
}

static void clean_field(char *out, size_t size, const char *text)
{
    char *clean = sample_clean(text, size - 5, false);
    snprintf(out, size, "%s", clean ? clean : "");
    free(clean);
}

static void number_or_text(char *out, size_t size, const json_t *value)
{
    if (json_is_string(value))
        clean_field(out, size, json_string_value(value));
    else if (json_is_number(value))
        snprintf(out, size, "%g", json_number_value(value));
}

/* -1: no hexadecimal digit. */
static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Numbers 0..255 in a list, or two hexadecimal digits each. Leaves bytes NULL where they are not as many as said. */
static bool take_bytes(struct sample *s, const json_t *data)
{
    bool sizes = s->channels > 0 && s->rows > 0 && s->cols > 0 && s->channels <= SAMPLE_MAX_BYTES &&
                 s->rows <= SAMPLE_MAX_BYTES && s->cols <= SAMPLE_MAX_BYTES;
    size_t count = sizes ? (size_t)s->channels * (size_t)s->rows * (size_t)s->cols : 0;
    bool list = json_is_array(data) && json_array_size(data) == count;
    bool text = json_is_string(data) && json_string_length(data) == 2 * count;
    if (!count || count > SAMPLE_MAX_BYTES || !(list || text))
        return true;
    if (!(s->bytes = malloc(count)))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (list) {
            double value = json_number_value(json_array_get(data, i));
            s->bytes[i] = value >= 0 && value <= 255 ? (unsigned char)value : 0;
            continue;
        }
        int high = digit(json_string_value(data)[2 * i]), low = digit(json_string_value(data)[2 * i + 1]);
        if (high < 0 || low < 0) {
            free(s->bytes);
            s->bytes = NULL;
            return true;
        }
        s->bytes[i] = (unsigned char)(16 * high + low);
    }
    return true;
}

static bool parse_image(struct sample *s, const json_t *event)
{
    enum { SIDE = 28 }; /* where the event does not say, as in MNIST */
    s->channels = (int)event_integer(event, "channels", 1);
    s->rows = (int)event_integer(event, "rows", SIDE);
    s->cols = (int)event_integer(event, "cols", SIDE);
    s->lo[0] = 0;
    s->hi[0] = 255;
    return (s->channels != 1 && s->channels != 3) || take_bytes(s, json_object_get(event, "data"));
}

static bool parse_maps(struct sample *s, const json_t *event)
{
    s->channels = (int)event_integer(event, "channels", 0);
    s->of = (int)event_integer(event, "of", s->channels);
    s->rows = (int)event_integer(event, "rows", 0);
    s->cols = (int)event_integer(event, "cols", 0);
    s->lo[0] = event_number(event, "lo", 0);
    s->hi[0] = event_number(event, "hi", NAN);
    return take_bytes(s, json_object_get(event, "data"));
}

static bool parse_gates(struct sample *s, const json_t *event)
{
    const json_t *gates = json_object_get(event, "gates");
    s->rows = (int)event_integer(event, "units", 0);
    s->of = (int)event_integer(event, "of", s->rows);
    s->cols = (int)event_integer(event, "steps", 0);
    size_t i;
    json_t *gate;
    json_array_foreach(gates, i, gate)
    {
        if (i >= SAMPLE_MAX_GATES)
            return true; /* more gates than any layer has: shown as nothing */
        clean_field(s->gates[i], sizeof s->gates[i], event_text(gate, "name", ""));
        s->lo[i] = event_number(gate, "lo", 0);
        s->hi[i] = event_number(gate, "hi", 1);
        s->channels = (int)i + 1;
    }
    const char *tokens = event_text(event, "tokens", "");
    s->text = sample_clean(tokens, SAMPLE_MAX_TEXT, false);
    return s->text && take_bytes(s, json_object_get(event, "data"));
}

bool sample_parse(struct sample *s, const json_t *event, long step)
{
    static const char *const KINDS[SAMPLE_KINDS] = {"image", "text", "feature_map", "gate"};
    const char *kind = event_text(event, "kind", "image");
    int k = 0;
    while (k < SAMPLE_KINDS && strcmp(kind, KINDS[k]) != 0)
        k++;
    if (k == SAMPLE_KINDS)
        return false;
    *s = (struct sample){.kind = (enum sample_kind)k};
    s->step = (long)event_integer(event, "step", step);
    s->row = (int)event_integer(event, "row", -1);
    s->generated = json_is_true(json_object_get(event, "generated"));
    s->probability = event_number(event, "probability", NAN);
    s->temperature = event_number(event, "temperature", NAN);
    s->characters = !strcmp(event_text(event, "token", "word"), "character");
    clean_field(s->name, sizeof s->name, event_text(event, "layer", ""));
    clean_field(s->prompt, sizeof s->prompt, event_text(event, "prompt", ""));
    number_or_text(s->label, sizeof s->label, json_object_get(event, "label"));
    number_or_text(s->predicted, sizeof s->predicted, json_object_get(event, "predicted"));
    bool ok = true;
    switch (s->kind) {
    case SAMPLE_IMAGE: ok = parse_image(s, event); break;
    case SAMPLE_MAPS: ok = parse_maps(s, event); break;
    case SAMPLE_GATES: ok = parse_gates(s, event); break;
    case SAMPLE_TEXT:
        s->text = sample_clean(event_text(event, "data", ""), SAMPLE_MAX_TEXT, true);
        ok = s->text != NULL;
        break;
    case SAMPLE_KINDS: break;
    }
    if (!ok)
        sample_free(s);
    return ok;
}

void sample_free(struct sample *s)
{
    free(s->bytes);
    free(s->text);
    s->bytes = NULL;
    s->text = NULL;
}

const char *sample_kind_name(const struct sample *s)
{
    switch (s->kind) {
    case SAMPLE_IMAGE: return s->generated ? _("generated images") : _("test images");
    case SAMPLE_TEXT: return s->generated ? _("generated text") : _("test texts");
    case SAMPLE_MAPS: return _("feature maps");
    case SAMPLE_GATES: return _("LSTM gates");
    case SAMPLE_KINDS: break;
    }
    return "";
}

bool sample_judged(const struct sample *s)
{
    return s->label[0] && s->predicted[0];
}

bool sample_right(const struct sample *s)
{
    return strcmp(s->label, s->predicted) == 0;
}
