/*
 * gan_quality CNN_RUN GAN_RUN [IMAGES] - what a trained classifier makes of a trained generator's images.
 *
 * Reads the last checkpoints of both runs, generates IMAGES (10 000) from noise neither has seen, and lets the classifier
 * say what they are. An image counts as recognised where it gives some class a probability of 0.9 or more. Prints one
 * line of JSON: recognised (a share), largest (the largest share that one class takes of all), shares by class. Some real
 * test images are judged beside them: what the classifier says of those is the most that could be had.
 */
#include "engine/base/event.h"
#include "engine/base/random.h"
#include "engine/data/dataset.h"
#include "engine/nn/network.h"
#include "engine/spec/job.h"
#include "engine/train/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 100, CLASSES = 10, STREAM_JUDGED = 77 };
#define SURE 0.9

struct verdict {
    long images, recognised, of_class[CLASSES];
};

/* A network of a run's last checkpoint; part: "generator" of a gan, NULL: the run's one model. */
static struct network *trained(const char *run, const char *part, struct backend *b, struct error *e)
{
    struct job job;
    struct model_spec model;
    if (!job_load(&job, run, e))
        return NULL;
    const json_t *layers = part ? json_object_get(job.train.layers, part) : job.train.layers;
    bool ok = model_from_json(layers, &model, e);
    struct network *n = ok ? network_new(&model, b, BATCH, NULL, NETWORK_PLAIN, e) : NULL;
    struct network *other = NULL;
    struct model_spec discriminator = {0};
    struct checkpoint c = {0};
    char note[600];
    if (n && part) { /* a checkpoint of a gan holds both */
        ok = model_from_json(json_object_get(job.train.layers, "discriminator"), &discriminator, e) &&
             (other = network_new(&discriminator, b, BATCH, NULL, NETWORK_PLAIN, e));
        if (ok)
            checkpoint_add(&c, "discriminator.", &discriminator, other->parameters, other->state, NULL);
    }
    if (n && ok)
        checkpoint_add(&c, part ? "generator." : "", &n->model, n->parameters, n->state, NULL);
    ok = n && ok && checkpoint_read(run, &c, note, sizeof note, e);
    network_free(other);
    model_free(&discriminator);
    model_free(&model);
    job_clear(&job);
    if (!ok) {
        network_free(n);
        return NULL;
    }
    return n;
}

static bool judge(struct network *cnn, struct verdict *v, struct error *e)
{
    float logits[BATCH * CLASSES];
    if (!network_forward(cnn, false, e) || !cnn->backend->ops->read(network_output(cnn), logits, e))
        return false;
    for (int i = 0; i < BATCH; i++) {
        const float *row = logits + (size_t)i * CLASSES;
        int best = 0;
        double sum = 0;
        for (int c = 1; c < CLASSES; c++)
            best = row[c] > row[best] ? c : best;
        for (int c = 0; c < CLASSES; c++)
            sum += exp((double)row[c] - row[best]);
        v->images++;
        v->of_class[best]++;
        v->recognised += 1 / sum >= SURE;
    }
    return true;
}

/* From the generator's [-1, 1] over bytes, as they are shown, to what the classifier has learnt on. */
static bool generated(struct network *gan, struct network *cnn, const struct dataset *d, long images,
                      struct verdict *v, struct error *e)
{
    size_t inputs = model_shape_elements(gan->model.input), pixels = dataset_sample_elements(d);
    float *out = malloc(BATCH * pixels * sizeof *out), zero, one, *to = network_input(cnn);
    /* The dataset's scale: what the bytes 0 and 255 become, from an image that has both. */
    uint8_t *bytes = malloc(pixels);
    uint32_t first = 0;
    int32_t class;
    float *sample = malloc(pixels * sizeof *sample);
    bool ok = out && bytes && sample && dataset_pixels(d, first, bytes, e) &&
              dataset_batch(d, &first, 1, sample, &class, e);
    size_t dark = 0, light = 0;
    for (size_t k = 0; ok && k < pixels; k++) {
        dark = bytes[k] < bytes[dark] ? k : dark;
        light = bytes[k] > bytes[light] ? k : light;
    }
    ok = ok && bytes[light] > bytes[dark];
    float step = ok ? (sample[light] - sample[dark]) / (float)(bytes[light] - bytes[dark]) : 0;
    zero = ok ? sample[dark] - step * (float)bytes[dark] : 0;
    one = step;
    for (long done = 0; ok && done < images; done += BATCH) {
        float *z = network_input(gan);
        for (long i = 0; i < BATCH; i++) {
            struct random r = random_stream(1, STREAM_JUDGED, (uint64_t)(done + i));
            for (size_t k = 0; k < inputs; k++)
                *z++ = random_normal(&r);
        }
        ok = network_forward(gan, false, e) && gan->backend->ops->read(network_output(gan), out, e);
        for (size_t k = 0; ok && k < BATCH * pixels; k++)
            to[k] = zero + one * roundf(fminf(255, fmaxf(0, (out[k] + 1) * 127.5f)));
        ok = ok && judge(cnn, v, e);
    }
    free(out);
    free(bytes);
    free(sample);
    return ok;
}

static bool real(struct network *cnn, const struct dataset *d, long images, struct verdict *v,
                 struct error *e)
{
    uint32_t which[BATCH];
    int32_t classes[BATCH];
    for (long done = 0; done + BATCH <= images && done + BATCH <= d->rows; done += BATCH) {
        for (int i = 0; i < BATCH; i++)
            which[i] = (uint32_t)(done + i);
        if (!dataset_batch(d, which, BATCH, network_input(cnn), classes, e) || !judge(cnn, v, e))
            return false;
    }
    return true;
}

static void print(const char *name, const struct verdict *v)
{
    long largest = 0;
    for (int c = 0; c < CLASSES; c++)
        largest = v->of_class[c] > largest ? v->of_class[c] : largest;
    printf("{\"images\": \"%s\", \"count\": %ld, \"recognised\": %.4f, \"largest\": %.4f, \"shares\": [",
           name, v->images, (double)v->recognised / (double)v->images, (double)largest / (double)v->images);
    for (int c = 0; c < CLASSES; c++)
        printf("%s%.3f", c ? ", " : "", (double)v->of_class[c] / (double)v->images);
    printf("]}\n");
}

int main(int argc, char **argv)
{
    struct error e = {0};
    struct dataset d = {0};
    struct verdict made = {0}, seen = {0};
    if (argc < 3) {
        fprintf(stderr, "usage: gan_quality CNN_RUN GAN_RUN [IMAGES]\n");
        return 2;
    }
    long images = argc > 3 ? strtol(argv[3], NULL, 10) : 10000;
    struct backend *b = backend_cpu_open(1, &e);
    struct network *cnn = b ? trained(argv[1], NULL, b, &e) : NULL;
    struct network *gan = cnn ? trained(argv[2], "generator", b, &e) : NULL;
    bool ok = gan && dataset_read("mnist", DATASET_TEST, &d, &e) &&
              generated(gan, cnn, &d, images, &made, &e) && real(cnn, &d, images, &seen, &e);
    if (ok) {
        print("generated", &made);
        print("real", &seen);
    } else {
        fprintf(stderr, "gan_quality: %s\n", e.text);
    }
    network_free(gan);
    network_free(cnn);
    backend_close(b);
    dataset_free(&d);
    return ok ? 0 : 1;
}
