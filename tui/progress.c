/*
 * progress.c - the learner's progress, kept whole through crashes and through two sessions at once.
 */
#include "tui/progress.h"

#include "tui/text.h"

#include "engine/base/files.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PREDICTIONS_MAX = 1000 };

struct progress {
    char file[PATH_MAX]; /* "" where there is no home */
    json_t *root;
    struct stat seen; /* the file as it was read */
    char warning[PATH_MAX + 256];
    bool warned, readonly;
};

static void warn(struct progress *p, const char *format, const char *what)
{
    if (!p->warned && !p->warning[0])
        snprintf(p->warning, sizeof p->warning, format, what);
}

const char *progress_warning(struct progress *p)
{
    if (p->warned || !p->warning[0])
        return NULL;
    p->warned = true;
    return p->warning;
}

bool progress_kept(const struct progress *p)
{
    return !p->readonly;
}

static void name_beside(char out[PATH_MAX + 16], const char *file, const char *suffix)
{
    snprintf(out, PATH_MAX + 16, "%s%s", file, suffix);
}

/* A progress of the right shape, or NULL. Fields it does not know are kept. */
static json_t *parse(const char *file)
{
    json_t *root = file_json(file, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        return NULL;
    }
    static const char *const members[] = {"lessons", "exercises"};
    for (int i = 0; i < 2; i++)
        if (!json_is_object(json_object_get(root, members[i])))
            json_object_set_new(root, members[i], json_object());
    if (!json_is_array(json_object_get(root, "predictions")))
        json_object_set_new(root, "predictions", json_array());
    return root;
}

static json_t *empty(void)
{
    return json_pack("{s:i, s:{}, s:{}, s:[]}", "version", 1, "lessons", "exercises", "predictions");
}

/* Replaces the file; the file before becomes the backup. */
static bool replace(struct progress *p, const json_t *root)
{
    char temporary[PATH_MAX + 16], backup[PATH_MAX + 16];
    name_beside(temporary, p->file, ".new");
    name_beside(backup, p->file, ".bak");
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS);
    int fd = text ? open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644) : -1;
    bool ok = fd >= 0;
    for (size_t done = 0, length = ok ? strlen(text) : 0; ok && done < length;) {
        ssize_t n = write(fd, text + done, length - done);
        if (n < 0 && errno != EINTR)
            ok = false;
        else if (n > 0)
            done += (size_t)n;
    }
    ok = ok && fsync(fd) == 0;
    if (fd >= 0 && close(fd) != 0)
        ok = false;
    free(text);
    if (ok) {
        /* The backup is a hard link to the old file, so that at every moment one whole file has the name. */
        unlink(backup);
        if (link(p->file, backup) != 0 && errno != ENOENT)
            errno = 0; /* a filesystem without hard links goes without a backup */
        ok = rename(temporary, p->file) == 0;
    }
    int why = errno;
    if (!ok && fd >= 0)
        unlink(temporary);
    struct stat info;
    if (ok && stat(p->file, &info) == 0)
        p->seen = info;
    errno = why;
    return ok;
}

/* Reads the file, or its backup where it is broken. A new reference; NULL where memory is short. */
static json_t *read_file(struct progress *p)
{
    struct stat info;
    if (!p->file[0] || stat(p->file, &info) != 0)
        return empty();
    json_t *root = parse(p->file);
    p->seen = info;
    if (root)
        return root;
    char backup[PATH_MAX + 16], broken[PATH_MAX + 16];
    name_beside(backup, p->file, ".bak");
    name_beside(broken, p->file, ".broken");
    root = parse(backup);
    rename(p->file, broken);
    warn(p,
         root ? _("your progress file was broken; its backup is used, the broken one is kept as %s")
              : _("your progress file was broken and has no backup; it is kept as %s"),
         broken);
    if (!root)
        root = empty();
    /* Written at once, so that the next reading finds it; where that fails the next note says so. */
    if (root)
        replace(p, root);
    return root;
}

struct progress *progress_load(struct error *e)
{
    struct progress *p = calloc(1, sizeof *p);
    struct error home = {0};
    char dir[PATH_MAX];
    if (p && (!ringside_home(dir, &home) || !path_join(p->file, dir, "progress.json", &home))) {
        p->file[0] = '\0';
        p->readonly = true;
        warn(p, _("progress is not kept: %s"), home.text);
    }
    if (p)
        p->root = read_file(p);
    if (!p || !p->root) {
        progress_free(p);
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    return p;
}

void progress_free(struct progress *p)
{
    if (!p)
        return;
    json_decref(p->root);
    free(p);
}

/* Files are replaced, so a new one has another inode, even within one tick of the filesystem's clock. */
static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool progress_refresh(struct progress *p)
{
    struct stat info;
    if (p->readonly || !p->file[0] || stat(p->file, &info) != 0 || same_file(&info, &p->seen))
        return false;
    json_t *root = read_file(p);
    if (!root)
        return false;
    json_decref(p->root);
    p->root = root;
    return true;
}

/*
 * Every note: lock, read what is there, change, replace. `change` gets the root; without a writable home it
 * works on the root in memory alone.
 */
struct note {
    void (*change)(json_t *root, const struct note *note);
    const char *name, *what, *text;
    int a, b;
    double value;
};

static void note(struct progress *p, const struct note *n)
{
    if (p->readonly) {
        n->change(p->root, n);
        return;
    }
    char lock[PATH_MAX + 16];
    snprintf(lock, sizeof lock, "%.*s.lock", (int)(strrchr(p->file, '.') - p->file), p->file);
    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    /* A lock that is held for seconds belongs to a hung filesystem: do not hang with it. */
    for (int i = 0; fd >= 0 && i < 1000 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    json_t *root = fd >= 0 ? read_file(p) : NULL;
    if (root) {
        json_decref(p->root);
        p->root = root;
    }
    n->change(p->root, n);
    if (fd < 0 || !replace(p, p->root)) {
        warn(p, _("progress is not kept: the folder of %s cannot be written"), p->file);
        p->readonly = true;
    }
    if (fd >= 0)
        close(fd);
}

static void stamp(json_t *object, const char *key)
{
    char text[32];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_object_set_new(object, key, json_string(text));
}

/* root[section][name], made where it is missing. */
static json_t *entry(json_t *root, const char *section, const char *name)
{
    json_t *all = json_object_get(root, section), *one = json_object_get(all, name);
    if (!json_is_object(one)) {
        json_object_set_new(all, name, json_object());
        one = json_object_get(all, name);
    }
    return one;
}

static const json_t *entry_get(const struct progress *p, const char *section, const char *name)
{
    return name ? json_object_get(json_object_get(p->root, section), name) : NULL;
}

static int integer(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 && value < 1000000000 ? (int)value : 0;
}

static void change_reading(json_t *root, const struct note *n)
{
    json_t *lesson = entry(root, "lessons", n->name);
    json_object_set_new(lesson, "line", json_integer(n->a));
    int percent = integer(lesson, "percent");
    json_object_set_new(lesson, "percent", json_integer(n->b > percent ? n->b : percent));
    if (n->b >= 100 && !json_object_get(lesson, "read_at"))
        stamp(lesson, "read_at");
    json_object_set_new(root, "last", json_string(n->name));
}

void progress_note_reading(struct progress *p, const char *lesson, int line, int percent)
{
    const char *last = progress_last_lesson(p);
    if (last && !strcmp(last, lesson) && progress_reading_line(p, lesson) == line &&
        progress_reading_percent(p, lesson) >= percent)
        return;
    note(p, &(struct note){.change = change_reading, .name = lesson, .a = line, .b = percent});
}

int progress_reading_line(const struct progress *p, const char *lesson)
{
    return integer(entry_get(p, "lessons", lesson), "line");
}

int progress_reading_percent(const struct progress *p, const char *lesson)
{
    int percent = integer(entry_get(p, "lessons", lesson), "percent");
    return percent > 100 ? 100 : percent;
}

bool progress_read(const struct progress *p, const char *lesson)
{
    return json_object_get(entry_get(p, "lessons", lesson), "read_at") != NULL;
}

/* The marks of a lesson, ascending, with `line` put in or taken out. */
static void change_mark(json_t *root, const struct note *n)
{
    json_t *lesson = entry(root, "lessons", n->name), *marks = json_array();
    const json_t *before = json_object_get(lesson, "marks"), *one;
    bool there = false;
    size_t i;
    json_array_foreach(before, i, one)
    {
        json_int_t line = json_integer_value(one);
        there |= line == n->a;
        if (line > n->a && !there) {
            json_array_append_new(marks, json_integer(n->a));
            there = true;
        }
        if (line != n->a)
            json_array_append_new(marks, json_integer(line));
    }
    if (!there && json_array_size(marks) < PROGRESS_MAX_MARKS)
        json_array_append_new(marks, json_integer(n->a));
    json_object_set_new(lesson, "marks", marks);
}

bool progress_toggle_mark(struct progress *p, const char *lesson, int line)
{
    int lines[PROGRESS_MAX_MARKS];
    note(p, &(struct note){.change = change_mark, .name = lesson, .a = line});
    for (int i = 0, count = progress_marks(p, lesson, lines); i < count; i++)
        if (lines[i] == line)
            return true;
    return false;
}

int progress_marks(const struct progress *p, const char *lesson, int lines[PROGRESS_MAX_MARKS])
{
    const json_t *marks = json_object_get(entry_get(p, "lessons", lesson), "marks"), *one;
    int count = 0;
    size_t i;
    json_array_foreach(marks, i, one)
    {
        json_int_t line = json_integer_value(one);
        if (count < PROGRESS_MAX_MARKS && line > 0 && line < 1000000000)
            lines[count++] = (int)line;
    }
    return count;
}

static void change_block(json_t *root, const struct note *n)
{
    json_t *lesson = entry(root, "lessons", n->name);
    if (!json_is_object(json_object_get(lesson, "blocks")))
        json_object_set_new(lesson, "blocks", json_object());
    json_t *block = json_object();
    json_object_set_new(block, "answer", json_string(n->text));
    stamp(block, "at");
    json_object_set_new(json_object_get(lesson, "blocks"), n->what, block);
}

void progress_note_block(struct progress *p, const char *lesson, const char *block, const char *answer)
{
    note(p, &(struct note){.change = change_block, .name = lesson, .what = block, .text = answer});
}

const char *progress_block(const struct progress *p, const char *lesson, const char *block)
{
    const json_t *blocks = json_object_get(entry_get(p, "lessons", lesson), "blocks");
    return json_string_value(json_object_get(json_object_get(blocks, block), "answer"));
}

const char *progress_last_lesson(const struct progress *p)
{
    return json_string_value(json_object_get(p->root, "last"));
}

static void change_check(json_t *root, const struct note *n)
{
    json_t *exercise = entry(root, "exercises", n->name);
    json_object_set_new(exercise, "checks", json_integer(integer(exercise, "checks") + 1));
    if (n->a && !json_object_get(exercise, "passed_at"))
        stamp(exercise, "passed_at");
}

void progress_note_check(struct progress *p, const char *exercise, bool passed)
{
    note(p, &(struct note){.change = change_check, .name = exercise, .a = passed});
}

bool progress_passed(const struct progress *p, const char *exercise)
{
    return json_object_get(entry_get(p, "exercises", exercise), "passed_at") != NULL;
}

int progress_checks(const struct progress *p, const char *exercise)
{
    return integer(entry_get(p, "exercises", exercise), "checks");
}

static void change_hint(json_t *root, const struct note *n)
{
    json_t *exercise = entry(root, "exercises", n->name);
    if (n->a > integer(exercise, "hints"))
        json_object_set_new(exercise, "hints", json_integer(n->a));
}

void progress_note_hint(struct progress *p, const char *exercise, int shown)
{
    if (shown > progress_hints(p, exercise))
        note(p, &(struct note){.change = change_hint, .name = exercise, .a = shown});
}

int progress_hints(const struct progress *p, const char *exercise)
{
    return integer(entry_get(p, "exercises", exercise), "hints");
}

static void change_prediction(json_t *root, const struct note *n)
{
    json_t *all = json_object_get(root, "predictions"), *one = json_object();
    json_object_set_new(one, "question", json_string(n->name));
    json_object_set_new(one, "value", json_real(n->value));
    stamp(one, "at");
    if (json_array_size(all) >= PREDICTIONS_MAX)
        json_array_remove(all, 0);
    json_array_append_new(all, one);
}

void progress_note_prediction(struct progress *p, const char *question, double value)
{
    if (value - value == 0) /* JSON has no infinities */
        note(p, &(struct note){.change = change_prediction, .name = question, .value = value});
}
