#include "engine/data/pack.h"

#include "engine/base/paths.h"
#include "engine/data/hash.h"
#include "engine/data/pnm.h"
#include "engine/data/shards.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { TEST_SHARE = 10 };

/* Names in a folder, in their order. */
struct names {
    char **name;
    int count, room;
};

struct picture {
    char *path;
    uint32_t class;
};

struct packing {
    const char *dir;
    struct names classes;
    struct picture *pictures[2]; /* of DATASET_TRAIN, DATASET_TEST */
    int room[2];
    struct pack_report report;
};

/* --- folders --- */

static void names_free(struct names *n)
{
    for (int i = 0; i < n->count; i++)
        free(n->name[i]);
    free(n->name);
    *n = (struct names){0};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_picture(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (!strcasecmp(dot, ".pgm") || !strcasecmp(dot, ".ppm") || !strcasecmp(dot, ".pnm"));
}

static bool is_folder(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    return path_join(path, dir, name, NULL) && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool names_add(struct names *n, const char *name, struct error *e)
{
    if (n->count == n->room) {
        int room = n->room ? 2 * n->room : 64;
        char **grown = realloc(n->name, (size_t)room * sizeof *grown);
        if (!grown)
            return error_set(e, ERROR_FAILED, "not enough memory for the names in a folder");
        n->name = grown;
        n->room = room;
    }
    n->name[n->count] = strdup(name);
    if (!n->name[n->count])
        return error_set(e, ERROR_FAILED, "not enough memory for the names in a folder");
    n->count++;
    return true;
}

/* The folders in a folder, or the pictures; hidden ones are no one's business. *others: files that are neither. */
static bool list(const char *dir, bool folders, struct names *n, long *others, struct error *e)
{
    DIR *d = opendir(dir);
    if (!d)
        return error_errno(e, ERROR_INPUT, "the folder %s cannot be opened", dir);
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(d));) {
        if (entry->d_name[0] == '.')
            continue;
        bool folder = is_folder(dir, entry->d_name);
        if (folder == folders && (folder || is_picture(entry->d_name)))
            ok = names_add(n, entry->d_name, e);
        else
            *others += !folder;
    }
    closedir(d);
    if (n->count)
        qsort(n->name, (size_t)n->count, sizeof *n->name, by_name);
    return ok;
}

/* --- which pictures, in which part --- */

static bool add_picture(struct packing *p, enum dataset_part part, const char *folder, const char *name,
                        uint32_t class, struct error *e)
{
    long *count = &p->report.pictures[part];
    char path[PATH_MAX];
    if (!path_join(path, folder, name, e))
        return false;
    if (*count == p->room[part]) {
        int room = p->room[part] ? 2 * p->room[part] : 1024;
        struct picture *grown = realloc(p->pictures[part], (size_t)room * sizeof *grown);
        if (!grown)
            return error_set(e, ERROR_FAILED, "not enough memory for %d pictures", room);
        p->pictures[part] = grown;
        p->room[part] = room;
    }
    struct picture *at = &p->pictures[part][*count];
    *at = (struct picture){.path = strdup(path), .class = class};
    *count += at->path != NULL;
    return at->path || error_set(e, ERROR_FAILED, "not enough memory for the names of pictures");
}

static int by_hash(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    uint64_t hx = hash_text(x), hy = hash_text(y);
    return hx != hy ? (hx < hy ? -1 : 1) : strcmp(x, y);
}

/* The name of the last picture, in the order of hashes, that is for testing: those up to it are. NULL: no memory. */
static char *last_test(const struct names *n, struct error *e)
{
    char **order = n->count > 0 ? calloc((size_t)n->count, sizeof *order) : NULL;
    if (!order) {
        error_set(e, ERROR_FAILED, "not enough memory for the names in a folder");
        return NULL;
    }
    memcpy(order, n->name, (size_t)n->count * sizeof *order);
    qsort(order, (size_t)n->count, sizeof *order, by_hash);
    int tests = n->count / TEST_SHARE ? n->count / TEST_SHARE : 1;
    char *last = order[tests - 1];
    free(order);
    return last;
}

/* A class's pictures: all in the given part, or, where split, a tenth of them in the test set. */
static bool add_class(struct packing *p, const char *parent, uint32_t class, bool split,
                      enum dataset_part part, struct error *e)
{
    struct names n = {0};
    char folder[PATH_MAX], *last = NULL;
    if (!path_join(folder, parent, p->classes.name[class], e))
        return false;
    bool ok = list(folder, false, &n, &p->report.passed_over, e);
    if (ok && n.count < (split ? 2 : 1))
        ok = error_set(
            e, ERROR_INPUT,
            "%s has %d pictures in the formats PGM and PPM (.pgm, .ppm, .pnm), expected at least %d; "
            "ImageMagick's 'mogrify -format ppm' converts others",
            folder, n.count, split ? 2 : 1);
    if (ok && split)
        ok = (last = last_test(&n, e)) != NULL;
    for (int i = 0; ok && i < n.count; i++) {
        if (last)
            part = by_hash(&n.name[i], &last) <= 0 ? DATASET_TEST : DATASET_TRAIN;
        ok = add_picture(p, part, folder, n.name[i], class, e);
    }
    names_free(&n);
    return ok;
}

/* DIR/train and DIR/test: the classes are train's, and test must have no other. */
static bool scan_parts(struct packing *p, const char *test_name, struct error *e)
{
    char train[PATH_MAX], test[PATH_MAX];
    struct names in_test = {0};
    if (!path_join(train, p->dir, "train", e) || !path_join(test, p->dir, test_name, e))
        return false;
    bool ok = list(train, true, &p->classes, &p->report.passed_over, e) &&
              list(test, true, &in_test, &p->report.passed_over, e);
    for (int i = 0; ok && i < p->classes.count; i++)
        ok = add_class(p, train, (uint32_t)i, false, DATASET_TRAIN, e);
    for (int i = 0; ok && i < in_test.count; i++) {
        char **class = p->classes.count ? bsearch(&in_test.name[i], p->classes.name, (size_t)p->classes.count,
                                                  sizeof *p->classes.name, by_name)
                                        : NULL;
        ok = class ? add_class(p, test, (uint32_t)(class - p->classes.name), false, DATASET_TEST, e)
                   : error_set(e, ERROR_INPUT, "%s has a class \"%s\" that %s has not", test, in_test.name[i],
                               train);
    }
    names_free(&in_test);
    return ok;
}

static bool scan(struct packing *p, struct error *e)
{
    bool test = is_folder(p->dir, "test"), val = is_folder(p->dir, "val");
    if (is_folder(p->dir, "train") && (test || val))
        return scan_parts(p, test ? "test" : "val", e);
    if (!list(p->dir, true, &p->classes, &p->report.passed_over, e))
        return false;
    for (int i = 0; i < p->classes.count; i++)
        if (!add_class(p, p->dir, (uint32_t)i, true, DATASET_TRAIN, e))
            return false;
    return true;
}

/* --- packing --- */

static bool pack_picture(struct shards_writer *w, const struct picture *from, const char *first,
                         struct model_shape shape, struct error *e)
{
    struct pnm image;
    if (!pnm_read(from->path, &image, e))
        return false;
    bool ok = image.channels == shape.channels && image.height == shape.height && image.width == shape.width;
    if (!ok)
        error_set(
            e, ERROR_INPUT,
            "%s is %d × %d × %d, but %s, the first, is %d × %d × %d (channels, height, width): all must be "
            "alike; ImageMagick's 'mogrify -resize %dx%d!' makes them so",
            from->path, image.channels, image.height, image.width, first, shape.channels, shape.height,
            shape.width, shape.width, shape.height);
    ok = ok && shards_add(w, image.pixels, from->class, e);
    pnm_free(&image);
    return ok;
}

static bool pack(struct packing *p, const char *out, struct error *e)
{
    const long *count = p->report.pictures;
    if (!count[DATASET_TRAIN] || !count[DATASET_TEST])
        return error_set(
            e, ERROR_INPUT,
            "%s has %ld pictures for training and %ld for testing: expected a folder for each class, "
            "with pictures in it, or train/CLASS and test/CLASS",
            p->dir, count[DATASET_TRAIN], count[DATASET_TEST]);
    struct pnm image;
    const char *first = p->pictures[DATASET_TRAIN][0].path;
    if (!pnm_read(first, &image, e))
        return false;
    struct shards_header h = {
        .shape = {.channels = image.channels, .height = image.height, .width = image.width},
        .classes = (uint32_t)p->classes.count,
        .rows = {(uint64_t)count[DATASET_TRAIN], (uint64_t)count[DATASET_TEST]},
    };
    pnm_free(&image);
    struct shards_writer *w = shards_create(out, &h, (const char *const *)p->classes.name, e);
    bool ok = w != NULL;
    for (int part = 0; part < 2; part++)
        for (long i = 0; ok && i < count[part]; i++)
            ok = pack_picture(w, &p->pictures[part][i], first, h.shape, e);
    ok = ok && shards_finish(w, e);
    shards_free(w);
    return ok;
}

bool pack_folder(const char *dir, const char *out, struct pack_report *report, struct error *e)
{
    struct packing p = {.dir = dir};
    bool ok =
        shards_known(out) || error_set(e, ERROR_INPUT,
                                       "%s: the packed file's name must end with .shards, so that --data "
                                       "knows it",
                                       out);
    ok = ok && scan(&p, e) && pack(&p, out, e);
    p.report.classes = p.classes.count;
    *report = p.report;
    for (int part = 0; part < 2; part++) {
        for (long i = 0; i < p.report.pictures[part]; i++)
            free(p.pictures[part][i].path);
        free(p.pictures[part]);
    }
    names_free(&p.classes);
    return ok;
}
