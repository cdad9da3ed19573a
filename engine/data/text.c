#include "engine/data/text.h"

#include "engine/base/paths.h"
#include "engine/data/corpus.h"
#include "engine/data/source.h"
#include "engine/data/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum text_kind { TEXT_CLASSES, TEXT_WORDS, TEXT_CHARS };

static const struct task {
    const char *name;
    int length, stride, shortest; /* tokens: of a sample, from one's begin to the next, of a page at least */
} tasks[] = {
    [TEXT_CLASSES] = {"text-classes", TEXT_CLASSES_LENGTH, 25, 20},
    [TEXT_WORDS] = {"text-words", TEXT_WORDS_LENGTH, 3, TEXT_WORDS_LENGTH + 1},
    [TEXT_CHARS] = {"text-chars", TEXT_CHARS_LENGTH, TEXT_CHARS_LENGTH, TEXT_CHARS_LENGTH + 1},
};

struct sample {
    size_t begin;  /* in tokens */
    int32_t class; /* text-classes */
    int length;    /* shorter ones are padded in front */
};

struct text {
    enum text_kind kind;
    struct corpus corpus;
    struct vocabulary *vocabulary; /* NULL: characters */
    int32_t *tokens;               /* of all pages of the part, one after another */
    size_t token_count, token_room;
    struct sample *samples;
    size_t sample_room;
};

/* --- making samples --- */

static bool add_token(struct text *t, int32_t token, struct error *e)
{
    if (t->token_count == t->token_room) {
        size_t room = t->token_room ? 2 * t->token_room : 1 << 16;
        int32_t *grown = realloc(t->tokens, room * sizeof *grown);
        if (!grown)
            return error_set(e, ERROR_FAILED, "not enough memory for the tokens of a text");
        t->tokens = grown;
        t->token_room = room;
    }
    t->tokens[t->token_count++] = token;
    return true;
}

static bool add_sample(struct text *t, struct dataset *d, struct sample sample, struct error *e)
{
    if (d->rows == t->sample_room) {
        size_t room = t->sample_room ? 2 * t->sample_room : 1 << 12;
        struct sample *grown = room <= UINT32_MAX ? realloc(t->samples, room * sizeof *grown) : NULL;
        if (!grown)
            return error_set(e, ERROR_FAILED, "not enough memory for the samples of a text");
        t->samples = grown;
        t->sample_room = room;
    }
    t->samples[d->rows++] = sample;
    return true;
}

static bool add_tokens(struct text *t, const struct corpus_page *page, struct error *e)
{
    size_t at = 0, length;
    if (!t->vocabulary) {
        for (; at < page->bytes; at++)
            if (!add_token(t, character_number(page->text[at]), e))
                return false;
        return true;
    }
    for (const char *word; (word = word_next(page->text, page->bytes, &at, &length));)
        if (!add_token(t, vocabulary_find(t->vocabulary, word, length), e))
            return false;
    return true;
}

static bool add_page(struct text *t, struct dataset *d, const struct corpus_page *page, struct error *e)
{
    const struct task *task = &tasks[t->kind];
    size_t begin = t->token_count;
    if (!add_tokens(t, page, e))
        return false;
    size_t n = t->token_count - begin, length = (size_t)task->length;
    struct sample s = {.begin = begin, .length = task->length, .class = page->calls};
    if (n < (size_t)task->shortest)
        return true;
    if (n < length) {
        s.length = (int)n;
        return add_sample(t, d, s, e);
    }
    size_t behind = t->kind == TEXT_CLASSES ? 0 : 1; /* the word or character to be told comes after */
    for (size_t k = 0; k + length + behind <= n; k += (size_t)task->stride) {
        s.begin = begin + k;
        if (t->kind == TEXT_WORDS && t->tokens[s.begin + length] == WORD_UNKNOWN)
            continue;
        if (!add_sample(t, d, s, e))
            return false;
    }
    return true;
}

static bool find_words(struct text *t, struct error *e)
{
    t->vocabulary = vocabulary_new(TEXT_VOCABULARY, e);
    if (!t->vocabulary)
        return false;
    for (int i = 0; i < t->corpus.page_count; i++) {
        const struct corpus_page *p = &t->corpus.pages[i];
        if (p->part == DATASET_TRAIN && !vocabulary_count(t->vocabulary, p->text, p->bytes, e))
            return false;
    }
    return vocabulary_number(t->vocabulary, e);
}

/* --- the source --- */

static void classes_of(const struct dataset *d, uint32_t row, int32_t *classes)
{
    const struct text *t = d->self;
    const struct sample *s = &t->samples[row];
    const int32_t *from = t->tokens + s->begin;
    size_t length = (size_t)tasks[t->kind].length;
    if (t->kind == TEXT_CHARS)
        memcpy(classes, from + 1, length * sizeof *classes);
    else
        *classes = t->kind == TEXT_CLASSES ? s->class : from[length];
}

static bool batch(const struct dataset *d, const uint32_t *which, int n, void *inputs, int32_t *classes,
                  struct error *e)
{
    (void)e;
    const struct text *t = d->self;
    int length = tasks[t->kind].length;
    for (int i = 0; i < n; i++) {
        const struct sample *s = &t->samples[which[i]];
        const int32_t *from = t->tokens + s->begin;
        int32_t *to = (int32_t *)inputs + (size_t)i * (size_t)length;
        int padding = length - s->length;
        for (int k = 0; k < padding; k++)
            to[k] = WORD_PADDING;
        memcpy(to + padding, from, (size_t)s->length * sizeof *to);
        classes_of(d, which[i], classes + (size_t)i * (size_t)d->targets);
    }
    return true;
}

static const char *token(const struct dataset *d, int32_t number)
{
    const struct text *t = d->self;
    return t->vocabulary ? vocabulary_word(t->vocabulary, number) : character_text(number);
}

static void close_text(struct dataset *d)
{
    struct text *t = d->self;
    corpus_free(&t->corpus);
    vocabulary_free(t->vocabulary);
    free(t->tokens);
    free(t->samples);
    free(t);
}

static const struct dataset_source text_source = {
    .batch = batch, .classes = classes_of, .token = token, .close = close_text};

/* --- opening --- */

/* The task of a name, with *file behind its colon or NULL; -1: none. */
static int task_of(const char *name, const char **file)
{
    for (size_t k = 0; k < sizeof tasks / sizeof *tasks; k++) {
        size_t length = strlen(tasks[k].name);
        if (strncmp(name, tasks[k].name, length) != 0 || (name[length] != 0 && name[length] != ':'))
            continue;
        *file = name[length] ? name + length + 1 : NULL;
        return (int)k;
    }
    return -1;
}

bool text_known(const char *name)
{
    const char *file;
    return task_of(name, &file) >= 0;
}

static bool find_corpus(const char *file, char path[PATH_MAX], struct error *e)
{
    char data[PATH_MAX];
    if (file)
        return path_join(path, file, "", e);
    return path_data(data, e) && path_join(path, data, "exercises/data/text/corpus.gz", e);
}

static void describe(struct dataset *d, enum text_kind kind)
{
    static const char *const class_names[] = {"other pages", "calls (sections 2, 3)"};
    int length = tasks[kind].length;
    d->shape = (struct model_shape){.channels = length, .height = 1, .width = 1, .kind = SHAPE_TOKENS};
    d->vocabulary = kind == TEXT_CHARS ? CHARACTERS : TEXT_VOCABULARY;
    d->classes = kind == TEXT_CLASSES ? 2 : d->vocabulary;
    d->class_names = kind == TEXT_CLASSES ? class_names : NULL;
    d->targets = kind == TEXT_CHARS ? length : 1;
}

bool text_read(const char *name, enum dataset_part part, struct dataset *d, struct error *e)
{
    const char *file = NULL;
    char path[PATH_MAX];
    int kind = task_of(name, &file);
    struct text *t = calloc(1, sizeof *t);
    if (!t)
        return error_set(e, ERROR_FAILED, "not enough memory for a text");
    d->source = &text_source;
    d->self = t;
    t->kind = (enum text_kind)kind;
    describe(d, t->kind);
    if (!find_corpus(file, path, e) || !corpus_read(path, &t->corpus, e))
        return false;
    if (t->kind != TEXT_CHARS && !find_words(t, e))
        return false;
    for (int i = 0; i < t->corpus.page_count; i++)
        if (t->corpus.pages[i].part == part && !add_page(t, d, &t->corpus.pages[i], e))
            return false;
    corpus_free(&t->corpus);
    if (d->rows == 0)
        return error_set(e, ERROR_INPUT, "%s: the %s pages are too short for %s: none has %d %s", path,
                         part == DATASET_TRAIN ? "training" : "test", tasks[kind].name, tasks[kind].shortest,
                         t->vocabulary ? "words" : "characters");
    return true;
}
