/*
 * sample.h - what a model shows of itself: a `sample` event taken in.
 *
 * Images (of the test set with what the model says, or made by a generator), texts it has written or judged, the
 * feature maps of a convolution, the gates of an LSTM along a sequence. Numbers come as bytes, two hexadecimal digits
 * each, on a scale from lo to hi. The fields are listed in CONTRIBUTING.md. Texts are cleaned: what steers a terminal
 * (control characters, escape sequences, marks that turn the direction of writing) never leaves this module.
 */
#ifndef RINGSIDE_TUI_SAMPLE_H
#define RINGSIDE_TUI_SAMPLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum sample_kind { SAMPLE_IMAGE, SAMPLE_TEXT, SAMPLE_MAPS, SAMPLE_GATES, SAMPLE_KINDS };

enum {
    SAMPLE_MAX_BYTES = 16384, /* of pixels, maps, gates: more is not taken */
    SAMPLE_MAX_TEXT = 4096,
    SAMPLE_MAX_GATES = 8
};

struct sample {
    enum sample_kind kind;
    long step; /* when it was taken */
    int row;   /* of the test set, or the number of the noise; -1: not said */
    bool generated;
    char label[48], predicted[48]; /* "": not said */
    char name[64];                 /* of the layer */
    char prompt[256];              /* what a text goes on from */
    double probability;            /* of what is predicted, or the discriminator's that it is real; NaN */
    double temperature;            /* of a text that was written; NaN */

    /* Image: channels 1 or 3. Maps: `channels` maps, of the layer's `of`. Gates: channels = gates, rows = units. */
    int channels, of, rows, cols;
    unsigned char *bytes; /* channels × rows × cols, plain; owned; NULL: none came */
    char gates[SAMPLE_MAX_GATES][24];
    double lo[SAMPLE_MAX_GATES], hi[SAMPLE_MAX_GATES]; /* maps: [0] for all; image: 0 and 255 */
    char *text;      /* the text; of gates the tokens, a blank between words */
    bool characters; /* a token is a character */
};

/* step: where the event does not say. False: it is of no known kind, or memory is short. */
bool sample_parse(struct sample *s, const json_t *event, long step);
void sample_free(struct sample *s);

/* "test images", "generated images", "texts", "feature maps", "gates". */
const char *sample_kind_name(const struct sample *s);
/* Whether the model is right; only where both are known. */
bool sample_judged(const struct sample *s);
bool sample_right(const struct sample *s);

/* A copy (free it) of a text with whatever steers a terminal replaced; line ends and tabs become blanks unless kept. */
char *sample_clean(const char *text, size_t limit, bool lines);

#endif
