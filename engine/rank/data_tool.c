/*
 * data_tool.c - `ringside-rank --data ...`: what `ringside data` asks for. No MPI, no ranks; results go to standard
 * output, as text or as one event, and a mistake, in one sentence, to standard error.
 */
#include "engine/rank/rank.h"

#include "engine/base/event.h"
#include "engine/data/facts.h"
#include "engine/data/pack.h"
#include "engine/data/shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- info --- */

static void print_classes(const struct dataset *d)
{
    enum { SHOWN = 10 };
    char text[16];
    printf("  classes    %d", d->classes);
    for (int k = 0; d->class_names && k < d->classes && k < SHOWN; k++)
        printf("%s%s", k ? ", " : ": ", dataset_class(d, k, text));
    puts(d->class_names && d->classes > SHOWN ? ", ..." : "");
}

/* A class's name or, where the classes are tokens of text, what the token says. */
static const char *class_text(const struct dataset *d, int class, char text[16])
{
    const char *token = d->classes == d->vocabulary ? dataset_token(d, class) : NULL;
    return token ? token : dataset_class(d, class, text);
}

static void print_facts(const char *name, const struct dataset *d, const struct dataset_facts *f)
{
    char shape[64], text[16];
    printf("%s\n  samples    %u for training, %u for testing\n", name, f->rows[0], f->rows[1]);
    printf("  a sample   %s", model_shape_describe(d->shape, shape));
    if (d->vocabulary)
        printf(" below %d", d->vocabulary);
    if (d->targets > 1)
        printf(", a class at each of %d steps", d->targets);
    puts("");
    print_classes(d);
    printf("  largest    \"%s\": guessing it always is right for %.2f %% in training, %.2f %% in testing\n",
           class_text(d, f->largest, text), 100 * f->share[0], 100 * f->share[1]);
    for (int c = 0; f->measured && c < d->shape.channels; c++)
        printf("  %-10s mean %.4f, deviation %.4f (channel %d of %u training images, values from 0 to 1)\n",
               c ? "" : "pixels", f->mean[c], f->deviation[c], c + 1, f->measured);
}

static json_t *facts_event(const char *name, const struct dataset *d, const struct dataset_facts *f)
{
    char shape[64], text[16];
    json_t *event = event_new("dataset", -1);
    event_set_text(event, "name", name);
    event_set_integer(event, "train_samples", f->rows[0]);
    event_set_integer(event, "test_samples", f->rows[1]);
    event_set_text(event, "shape", model_shape_describe(d->shape, shape));
    if (d->vocabulary)
        event_set_integer(event, "vocabulary", d->vocabulary);
    event_set_integer(event, "classes", d->classes);
    event_set_integer(event, "targets", d->targets);
    event_set_text(event, "largest", class_text(d, f->largest, text));
    event_set_number(event, "largest_train_share", f->share[0]);
    event_set_number(event, "largest_test_share", f->share[1]);
    if (f->measured) {
        json_t *mean = json_array(), *deviation = json_array();
        for (int c = 0; c < d->shape.channels; c++) {
            json_array_append_new(mean, json_real(f->mean[c]));
            json_array_append_new(deviation, json_real(f->deviation[c]));
        }
        json_object_set_new(event, "mean", mean);
        json_object_set_new(event, "deviation", deviation);
    }
    return event;
}

static bool info(const char *name, bool json, struct error *e)
{
    struct dataset train = {0}, test = {0};
    struct dataset_facts facts;
    bool ok = dataset_read(name, DATASET_TRAIN, &train, e) && dataset_read(name, DATASET_TEST, &test, e) &&
              dataset_facts(&train, &test, &facts, e);
    if (ok && json)
        ok = event_write(STDOUT_FILENO, facts_event(name, &train, &facts), e);
    else if (ok)
        print_facts(name, &train, &facts);
    dataset_free(&train);
    dataset_free(&test);
    return ok;
}

/* --- pack and verify --- */

static bool say_file(const char *path, const struct shards_report *r, long passed_over, bool json,
                     struct error *e)
{
    const struct shards_header *h = &r->header;
    char shape[64];
    model_shape_describe(h->shape, shape);
    if (!json) {
        printf("%s: %llu training and %llu test images of %s, %u classes, %llu shards, %llu bytes, every "
               "CRC-32 is "
               "right\n",
               path, (unsigned long long)h->rows[0], (unsigned long long)h->rows[1], shape, h->classes,
               (unsigned long long)r->shards, (unsigned long long)h->file_bytes);
        if (passed_over > 0)
            printf("%ld files were passed over: their names do not end with .pgm, .ppm or .pnm\n",
                   passed_over);
        return true;
    }
    json_t *event = event_new("dataset", -1);
    event_set_text(event, "name", path);
    event_set_integer(event, "train_samples", (long long)h->rows[0]);
    event_set_integer(event, "test_samples", (long long)h->rows[1]);
    event_set_text(event, "shape", shape);
    event_set_integer(event, "classes", h->classes);
    event_set_integer(event, "shards", (long long)r->shards);
    event_set_integer(event, "bytes", (long long)h->file_bytes);
    event_set_integer(event, "passed_over", passed_over);
    return event_write(STDOUT_FILENO, event, e);
}

static bool verify(const char *path, long passed_over, bool json, struct error *e)
{
    struct shards_report report;
    return shards_verify(path, &report, e) && say_file(path, &report, passed_over, json, e);
}

static bool pack(const char *dir, const char *out, bool json, struct error *e)
{
    struct pack_report report;
    return pack_folder(dir, out, &report, e) && verify(out, report.passed_over, json, e);
}

int rank_data_tool(int argc, char **argv)
{
    struct error e = {0};
    bool json = argc > 0 && !strcmp(argv[argc - 1], "--json"), ok;
    int words = argc - json;
    if (words == 3 && !strcmp(argv[0], "pack"))
        ok = pack(argv[1], argv[2], json, &e);
    else if (words == 2 && !strcmp(argv[0], "verify"))
        ok = verify(argv[1], 0, json, &e);
    else if (words == 2 && !strcmp(argv[0], "info"))
        ok = info(argv[1], json, &e);
    else
        ok = error_set(&e, ERROR_INPUT, "expected pack DIR FILE.shards, verify FILE.shards or info NAME");
    if (!ok)
        fprintf(stderr, "ringside: %s\n", e.text);
    return ok ? 0 : (int)e.kind;
}
