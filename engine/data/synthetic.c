#include "engine/data/synthetic.h"

#include "engine/base/random.h"
#include "engine/data/source.h"

#include <stdlib.h>
#include <string.h>

/* What random_stream's purposes are here: parameters have 1, the order of samples 2. */
enum { STREAM_MEANS = 101, STREAM_ROWS = 102 };
enum { CELLS = 4, MAX_EXTENT = 4096, MAX_TOKENS = 65536, MAX_CLASSES = 1000000, TEST_SHARE = 5 };

struct synthetic {
    bool next;        /* each token's class is the one after it */
    uint64_t purpose; /* of the noise of this part */
    float *means;     /* images: classes × channels × CELLS × CELLS, owned */
    uint8_t *cell_of; /* of each row, then of each column: 0 ... CELLS - 1, owned */
};

/* --- images --- */

/* Four numbers below 2^16 of one random number of 64 bits, as noise of mean 0 and deviation 1: uniform in ±√3. */
static void add_noise(struct random *r, float mean, float *out, size_t n)
{
    const float unit = 2 * 1.7320508f / 65536, low = mean - 1.7320508f + unit / 2;
    size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        uint64_t bits = random_next(r);
        for (int i = 0; i < 4; i++)
            out[k + (size_t)i] = low + unit * (float)(uint16_t)(bits >> (16 * i));
    }
    for (uint64_t bits = random_next(r); k < n; k++, bits >>= 16)
        out[k] = low + unit * (float)(uint16_t)bits;
}

static void make_image(const struct dataset *d, uint32_t row, int class, float *out)
{
    const struct synthetic *s = d->self;
    struct random r = random_stream(0, s->purpose, row);
    int height = d->shape.height, width = d->shape.width;
    const float *of_class = s->means + (size_t) class * (size_t)d->shape.channels * CELLS * CELLS;
    for (int c = 0; c < d->shape.channels; c++)
        for (int y = 0; y < height; y++) {
            const float *means = of_class + ((size_t)c * CELLS + s->cell_of[y]) * CELLS;
            for (int x = 0, end; x < width; x = end) {
                const uint8_t *cell = s->cell_of + height;
                for (end = x + 1; end < width && cell[end] == cell[x];)
                    end++;
                add_noise(&r, means[cell[x]], out, (size_t)(end - x));
                out += end - x;
            }
        }
}

/* For the screen: from -4 to 4 in 256 greys. */
static bool pixels(const struct dataset *d, uint32_t row, uint8_t *out, struct error *e)
{
    size_t n = dataset_sample_elements(d);
    float *image = malloc(n * sizeof *image);
    if (!image)
        return error_set(e, ERROR_FAILED, "not enough memory for an image");
    make_image(d, row, (int)(row % (uint32_t)d->classes), image);
    for (size_t i = 0; i < n; i++) {
        float grey = (image[i] + 4) * 32;
        out[i] = grey < 0 ? 0 : grey > 255 ? 255 : (uint8_t)grey;
    }
    free(image);
    return true;
}

/* --- tokens --- */

static void make_tokens(const struct dataset *d, uint32_t row, int class, int32_t *out)
{
    const struct synthetic *s = d->self;
    struct random r = random_stream(0, s->purpose, row);
    uint64_t vocabulary = (uint64_t)d->vocabulary, classes = (uint64_t)d->classes;
    uint64_t own =
        (vocabulary - (uint64_t) class + classes - 1) / classes; /* tokens ≡ class below vocabulary */
    for (int k = 0; k < d->shape.channels; k++)
        out[k] = (int32_t)(random_below(&r, 4) == 0 ? (uint64_t) class + classes * random_below(&r, own)
                                                    : random_below(&r, vocabulary));
}

/* One more token than a sample is long: the last one's class. tokens may be NULL. */
static void make_chain(const struct dataset *d, uint32_t row, int32_t *tokens, int32_t *next)
{
    const struct synthetic *s = d->self;
    struct random r = random_stream(0, s->purpose, row);
    uint64_t vocabulary = (uint64_t)d->vocabulary, token = random_below(&r, vocabulary);
    for (int k = 0; k < d->shape.channels; k++) {
        if (tokens)
            tokens[k] = (int32_t)token;
        bool ruled = random_below(&r, 4) != 0;
        token = ruled ? (5 * token + 1) % vocabulary : random_below(&r, vocabulary);
        next[k] = (int32_t)token;
    }
}

/* --- the source --- */

static void classes_of(const struct dataset *d, uint32_t row, int32_t *classes)
{
    const struct synthetic *s = d->self;
    if (s->next)
        make_chain(d, row, NULL, classes);
    else
        *classes = (int32_t)(row % (uint32_t)d->classes);
}

static bool batch(const struct dataset *d, const uint32_t *which, int n, void *inputs, int32_t *classes,
                  struct error *e)
{
    (void)e;
    const struct synthetic *s = d->self;
    size_t size = dataset_sample_elements(d);
    for (int i = 0; i < n; i++) {
        size_t at = (size_t)i * size;
        if (s->next) {
            make_chain(d, which[i], (int32_t *)inputs + at, classes + at);
            continue;
        }
        classes_of(d, which[i], &classes[i]);
        if (d->shape.kind == SHAPE_TOKENS)
            make_tokens(d, which[i], classes[i], (int32_t *)inputs + at);
        else
            make_image(d, which[i], classes[i], (float *)inputs + at);
    }
    return true;
}

static void close_synthetic(struct dataset *d)
{
    struct synthetic *s = d->self;
    free(s->means);
    free(s->cell_of);
    free(s);
}

static const struct dataset_source images_source = {
    .batch = batch, .classes = classes_of, .pixels = pixels, .close = close_synthetic};
static const struct dataset_source tokens_source = {
    .batch = batch, .classes = classes_of, .close = close_synthetic};

/* --- the name --- */

/* Reads a whole number in [1, most] and moves *at behind it. */
static bool read_number(const char **at, long most, long *number)
{
    if (**at < '0' || **at > '9')
        return false;
    char *end;
    *number = strtol(*at, &end, 10);
    *at = end;
    return *number >= 1 && *number <= most;
}

static bool read_shape(const char **at, struct dataset *d)
{
    long extent[3], vocabulary;
    int n = 0;
    do {
        if (n == 3 || !read_number(at, n ? MAX_EXTENT : MAX_TOKENS, &extent[n]))
            return false;
        n++;
    } while (**at == 'x' && ++*at);
    if (**at == '@') {
        ++*at;
        if (n != 1 || !read_number(at, MAX_CLASSES, &vocabulary))
            return false;
        d->vocabulary = (int)vocabulary;
    } else if (n == 2 || (n == 3 && extent[0] > MAX_EXTENT)) {
        return false;
    }
    d->shape = (struct model_shape){.channels = (int)extent[0],
                                    .height = n == 3 ? (int)extent[1] : 1,
                                    .width = n == 3 ? (int)extent[2] : 1,
                                    .kind = d->vocabulary ? SHAPE_TOKENS : SHAPE_IMAGE};
    return true;
}

static bool read_name(const char *name, struct synthetic *s, struct dataset *d, struct error *e)
{
    const char *at = name + strlen("synthetic:");
    long classes = 0, rows = 0;
    bool ok = read_shape(&at, d) && *at++ == ':';
    if (ok && strncmp(at, "next:", 5) == 0 && d->vocabulary) {
        at += 4;
        s->next = true;
        classes = d->vocabulary;
    } else {
        ok = ok && read_number(&at, MAX_CLASSES, &classes);
    }
    ok = ok && *at++ == ':' && read_number(&at, UINT32_MAX / 2, &rows) && *at == 0;
    if (!ok)
        return error_set(e, ERROR_INPUT,
                         "--data %s: expected synthetic:SHAPE:CLASSES:ROWS, as synthetic:3x224x224:1000:512 "
                         "(images), synthetic:100@10000:2:4096 (100 tokens below 10 000) or "
                         "synthetic:64@65:next:4096 (the class of each token is the next one)",
                         name);
    if (d->vocabulary && classes > d->vocabulary)
        return error_set(e, ERROR_INPUT, "--data %s: %ld classes are more than the %d tokens", name, classes,
                         d->vocabulary);
    d->classes = (int)classes;
    d->rows = (uint32_t)rows;
    d->targets = s->next ? d->shape.channels : 1;
    return true;
}

static bool make_means(struct synthetic *s, const struct dataset *d, struct error *e)
{
    size_t n = (size_t)d->classes * (size_t)d->shape.channels * CELLS * CELLS;
    int height = d->shape.height, width = d->shape.width;
    s->means = malloc(n * sizeof *s->means);
    s->cell_of = malloc((size_t)height + (size_t)width);
    if (!s->means || !s->cell_of)
        return error_set(e, ERROR_FAILED, "not enough memory for the means of %d classes", d->classes);
    struct random r = random_stream(0, STREAM_MEANS, 0);
    for (size_t i = 0; i < n; i++)
        s->means[i] = random_uniform(&r, -1, 1);
    for (int y = 0; y < height; y++)
        s->cell_of[y] = (uint8_t)(y * CELLS / height);
    for (int x = 0; x < width; x++)
        s->cell_of[height + x] = (uint8_t)(x * CELLS / width);
    return true;
}

bool synthetic_known(const char *name)
{
    return strncmp(name, "synthetic:", strlen("synthetic:")) == 0;
}

bool synthetic_read(const char *name, enum dataset_part part, struct dataset *d, struct error *e)
{
    struct synthetic *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(e, ERROR_FAILED, "not enough memory for a dataset");
    d->source = &tokens_source;
    d->self = s;
    s->purpose = STREAM_ROWS + part;
    if (!read_name(name, s, d, e))
        return false;
    if (part == DATASET_TEST)
        d->rows = d->rows / TEST_SHARE ? d->rows / TEST_SHARE : 1;
    if (d->shape.kind == SHAPE_TOKENS)
        return true;
    d->source = &images_source;
    return make_means(s, d, e);
}
