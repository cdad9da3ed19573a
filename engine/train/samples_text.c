/*
 * samples_text.c - what a model of texts writes: a window of the tokens so far, moved on by one with each token drawn.
 */
#include "engine/train/samples.h"

#include "engine/base/event.h"
#include "engine/base/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_WRITING = 7, CHARACTERS = 160, WORDS = 40, MOST = 160, PROMPT = 48, TEXT_BYTES = 2048 };
static const double temperatures[] = {0.5, 1.0};
enum { TEXTS = sizeof temperatures / sizeof *temperatures };

/* Whether its output is the next token, after the window or after each of its steps. */
static bool continues(const struct network *n, const struct dataset *d)
{
    struct model_shape out = model_output(&n->model);
    bool sequence = out.kind == SHAPE_SEQUENCE;
    return d->vocabulary > 0 && n->model.input.kind == SHAPE_TOKENS &&
           n->model.loss.kind == LOSS_CROSS_ENTROPY && (sequence ? out.width : out.channels) == d->vocabulary;
}

/* One of the classes, drawn from softmax(logits / temperature). */
static int32_t draw(const float *logits, int classes, double temperature, struct random *r)
{
    double most = logits[0], sum = 0;
    for (int c = 1; c < classes; c++)
        most = fmax(most, logits[c]);
    for (int c = 0; c < classes; c++)
        sum += exp((logits[c] - most) / temperature);
    double left = (double)random_uniform(r, 0, 1) * sum;
    for (int c = 0; c < classes; c++)
        if ((left -= exp((logits[c] - most) / temperature)) < 0)
            return c;
    return classes - 1;
}

/* Draws `count` tokens for each text; the windows of the network's input move on. */
static bool write_on(struct network *n, const struct dataset *d, uint64_t seed, int count, float *logits,
                     int32_t written[TEXTS][MOST], struct error *e)
{
    int window = n->model.input.channels, classes = d->vocabulary;
    size_t each = model_shape_elements(model_output(&n->model));
    struct random r[TEXTS];
    for (int k = 0; k < TEXTS; k++)
        r[k] = random_stream(seed, STREAM_WRITING, (uint64_t)k);
    for (int i = 0; i < count; i++) {
        if (!network_forward(n, false, e) || !n->backend->ops->read(network_output(n), logits, e))
            return false;
        const int32_t *before = n->input;
        int32_t *tokens = network_input(n); /* the same place, or another */
        for (int k = 0; k < TEXTS; k++, before += window, tokens += window) {
            /* Of a sequence the last step is what comes next. */
            const float *next = logits + (size_t)(k + 1) * each - classes;
            written[k][i] = draw(next, classes, temperatures[k], &r[k]);
            memmove(tokens, before + 1, (size_t)(window - 1) * sizeof *tokens);
            tokens[window - 1] = written[k][i];
        }
    }
    return true;
}

static bool emit(const struct samples *s, const struct dataset *d, int k, const int32_t *prompt,
                 int prompt_count, const int32_t *written, int count, struct error *e)
{
    char text[TEXT_BYTES];
    json_t *event = samples_event(s->sink, "text", s->step, -1);
    json_object_set_new(event, "generated", json_true());
    event_set_text(event, "token", samples_by_character(d) ? "character" : "word");
    event_set_number(event, "temperature", temperatures[k]);
    event_set_integer(event, "seed", (long long)s->seed);
    samples_tokens(d, prompt, prompt_count, text, sizeof text);
    event_set_text(event, "prompt", text);
    samples_tokens(d, written, count, text, sizeof text);
    event_set_text(event, "data", text);
    return sink_emit(s->sink, event, e);
}

bool samples_written(const struct samples *s, const struct network *trained, const struct dataset *d,
                     struct error *e)
{
    if (!continues(trained, d))
        return true;
    int window = trained->model.input.channels, count = samples_by_character(d) ? CHARACTERS : WORDS;
    int shown = window < PROMPT ? window : samples_by_character(d) ? PROMPT : window < 12 ? window : 12;
    struct network *n = network_new(&trained->model, trained->backend, TEXTS, NULL, NETWORK_PLAIN, e);
    if (!n)
        return false;
    size_t each = model_shape_elements(model_output(&n->model));
    float *logits = malloc(TEXTS * each * sizeof *logits);
    int32_t *classes = malloc(TEXTS * (size_t)d->targets * sizeof *classes),
            *prompt = malloc((size_t)window * sizeof *prompt);
    int32_t(*written)[MOST] = malloc(sizeof(int32_t[TEXTS][MOST]));
    uint32_t which[TEXTS] = {0};
    bool rooms = logits && classes && prompt && written;
    if (!rooms)
        error_set(e, ERROR_FAILED, "out of memory for writing texts");
    bool ok =
        rooms && network_take(n, trained, e) && dataset_batch(d, which, TEXTS, network_input(n), classes, e);
    if (ok)
        memcpy(prompt, n->input, (size_t)window * sizeof *prompt);
    ok = ok && write_on(n, d, s->seed + (uint64_t)s->step, count, logits, written, e);
    for (int k = 0; ok && k < TEXTS; k++)
        ok = emit(s, d, k, prompt + window - shown, shown, written[k], count, e);
    free(logits);
    free(classes);
    free(prompt);
    free(written);
    network_free(n);
    return ok;
}
