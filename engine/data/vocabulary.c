#include "engine/data/vocabulary.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1 << 12, BLANK = 1 /* among the characters */ };

struct word {
    char *text; /* owned, lower case */
    long count;
};

struct vocabulary {
    int size; /* numbers at most */
    struct word *words;
    int count, room;
    int32_t *slots; /* open addressing: number of a word + 1, or 0; as many as slot_count, a power of two */
    uint32_t slot_count;
    int numbered; /* words that have a number, from WORD_FIRST on; 0 before vocabulary_number */
};

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

const char *word_next(const char *text, size_t bytes, size_t *at, size_t *length)
{
    while (*at < bytes && !in_word(text[*at]))
        ++*at;
    const char *word = text + *at;
    size_t begin = *at;
    while (*at < bytes && in_word(text[*at]))
        ++*at;
    *length = *at - begin;
    return *length ? word : NULL;
}

struct vocabulary *vocabulary_new(int size, struct error *e)
{
    struct vocabulary *v = calloc(1, sizeof *v);
    if (v)
        v->slots = calloc(FIRST_SLOTS, sizeof *v->slots);
    if (!v || !v->slots) {
        free(v);
        error_set(e, ERROR_FAILED, "not enough memory for a vocabulary");
        return NULL;
    }
    v->slot_count = FIRST_SLOTS;
    v->size = size;
    return v;
}

void vocabulary_free(struct vocabulary *v)
{
    if (!v)
        return;
    for (int i = 0; i < v->count; i++)
        free(v->words[i].text);
    free(v->words);
    free(v->slots);
    free(v);
}

static bool same_word(const char *known, const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (known[i] != lower(word[i])) /* a shorter known one ends with a 0, which no word has */
            return false;
    return known[length] == 0;
}

/* Where the word is, or the free slot where it belongs. */
static uint32_t slot_of(const struct vocabulary *v, const char *word, size_t length)
{
    uint32_t h = 0x811c9dc5u; /* FNV-1a in 32 bits */
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)lower(word[i])) * 0x01000193u;
    uint32_t slot = h & (v->slot_count - 1);
    while (v->slots[slot] && !same_word(v->words[v->slots[slot] - 1].text, word, length))
        slot = (slot + 1) & (v->slot_count - 1);
    return slot;
}

/* Files all words anew among so many slots. */
static bool spread(struct vocabulary *v, uint32_t slot_count, struct error *e)
{
    int32_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return error_set(e, ERROR_FAILED, "not enough memory for a vocabulary");
    free(v->slots);
    v->slots = slots;
    v->slot_count = slot_count;
    for (int i = 0; i < v->count; i++)
        v->slots[slot_of(v, v->words[i].text, strlen(v->words[i].text))] = i + 1;
    return true;
}

static bool add_word(struct vocabulary *v, uint32_t slot, const char *word, size_t length, struct error *e)
{
    if (v->count == v->room) {
        int room = v->room ? 2 * v->room : 1024;
        struct word *grown = realloc(v->words, (size_t)room * sizeof *grown);
        if (!grown)
            return error_set(e, ERROR_FAILED, "not enough memory for a vocabulary");
        v->words = grown;
        v->room = room;
    }
    char *text = malloc(length + 1);
    if (!text)
        return error_set(e, ERROR_FAILED, "not enough memory for a vocabulary");
    for (size_t i = 0; i < length; i++)
        text[i] = lower(word[i]);
    text[length] = 0;
    v->words[v->count] = (struct word){.text = text, .count = 1};
    v->slots[slot] = ++v->count;
    return (uint32_t)v->count < v->slot_count / 2 || spread(v, 2 * v->slot_count, e);
}

bool vocabulary_count(struct vocabulary *v, const char *text, size_t bytes, struct error *e)
{
    size_t at = 0, length;
    for (const char *word; (word = word_next(text, bytes, &at, &length));) {
        uint32_t slot = slot_of(v, word, length);
        if (v->slots[slot])
            v->words[v->slots[slot] - 1].count++;
        else if (!add_word(v, slot, word, length, e))
            return false;
    }
    return true;
}

static int by_frequency(const void *a, const void *b)
{
    const struct word *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return strcmp(x->text, y->text);
}

bool vocabulary_number(struct vocabulary *v, struct error *e)
{
    if (v->count)
        qsort(v->words, (size_t)v->count, sizeof *v->words, by_frequency);
    v->numbered = v->count < v->size - WORD_FIRST ? v->count : v->size - WORD_FIRST;
    return spread(v, v->slot_count, e);
}

int32_t vocabulary_find(const struct vocabulary *v, const char *word, size_t length)
{
    int32_t place = v->slots[slot_of(v, word, length)]; /* from 1, by frequency */
    return place && place <= v->numbered ? place - 1 + WORD_FIRST : WORD_UNKNOWN;
}

const char *vocabulary_word(const struct vocabulary *v, int32_t number)
{
    if (number == WORD_PADDING)
        return "";
    if (number < WORD_FIRST || number >= WORD_FIRST + v->numbered)
        return "?";
    return v->words[number - WORD_FIRST].text;
}

/* --- characters --- */

/* Number k stands at 2k, each character ended by a 0, so that it is a string too. */
static const char characters[2 * CHARACTERS + 1] =
    "\n\0 \0a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0k\0l\0m\0n\0o\0p\0q\0r\0s\0t\0u\0v\0w\0x\0y\0z\0"
    "0\0001\0002\0003\0004\0005\0006\0007\0008\0009\0"
    ".\0,\0;\0:\0!\0?\0'\0\"\0(\0)\0[\0]\0<\0>\0{\0}\0-\0_\0/\0\\\0|\0*\0+\0=\0&\0#\0%\0";

int32_t character_number(char c)
{
    c = c == '`' ? '\'' : lower(c);
    for (int32_t k = 0; k < CHARACTERS; k++)
        if (characters[2 * k] == c)
            return k;
    return BLANK;
}

const char *character_text(int32_t number)
{
    return number >= 0 && number < CHARACTERS ? characters + 2 * number : NULL;
}
