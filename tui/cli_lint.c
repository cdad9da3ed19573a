/*
 * cli_lint.c - `ringside lint`: the live blocks of the course's lessons, each named with file and line where it is wrong.
 *
 * What a lesson's text, its exercise and the recordings owe each other is checked by tests/check/course, which calls this.
 */
#include "engine/base/event.h"
#include "engine/base/paths.h"
#include "tui/block.h"
#include "tui/cli.h"
#include "tui/options.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct lint {
    bool json;
    int lessons, blocks, wrong;
};

static void tell(struct lint *lint, const char *file, const char *what)
{
    lint->wrong++;
    if (!lint->json) {
        printf("%s:%s\n", file, what);
        return;
    }
    json_t *line = event_new("finding", -1);
    char where[PATH_MAX + 600];
    snprintf(where, sizeof where, "%s:%s", file, what);
    event_set_text(line, "what", where);
    event_set_text(line, "result", "fail");
    event_write(STDOUT_FILENO, line, NULL);
}

/* "line 12: ..." as "12: ...", as compilers say it. */
static const char *numbered(const char *text)
{
    return !strncmp(text, "line ", 5) ? text + 5 : text;
}

static bool lesson(struct lint *lint, const char *file, struct error *e)
{
    char name[128];
    const char *slash = strrchr(file, '/');
    snprintf(name, sizeof name, "%.*s", (int)strcspn(slash ? slash + 1 : file, "."),
             slash ? slash + 1 : file);
    char *text = markdown_read(file, e);
    struct block_set *blocks = text ? block_set_new(name, text, NULL, e) : NULL;
    for (int i = 0; blocks && i < block_count(blocks); i++) {
        lint->blocks++;
        if (block_error(blocks, i))
            tell(lint, file, numbered(block_error(blocks, i)));
    }
    lint->lessons++;
    bool ok = blocks != NULL;
    block_set_free(blocks);
    free(text);
    return ok;
}

static bool all(struct lint *lint, const char *folder, struct error *e)
{
    char pattern[PATH_MAX];
    glob_t files;
    if (!path_join(pattern, folder, "lessons/[a-z][a-z]/*.md", e))
        return false;
    if (glob(pattern, 0, NULL, &files) != 0)
        return error_set(e, ERROR_INPUT, "%s has no lessons/LANGUAGE/NAME.md", folder);
    bool ok = true;
    for (size_t i = 0; ok && i < files.gl_pathc; i++)
        ok = lesson(lint, files.gl_pathv[i], e);
    globfree(&files);
    return ok;
}

int cli_lint(int argc, char **argv)
{
    struct lint lint = {0};
    char data[PATH_MAX], *names[OPTION_MAX_WORDS];
    int count = 0, code;
    struct error e = {0};
    const struct option options[] = {
        {"json", NULL, OPTION_FLAG, &lint.json, 0, 0, 0, "one finding a line, as JSON", NULL, NULL},
        {0},
    };
    const struct option_command command = {
        .usage = "ringside lint [DIR] [options]",
        .summary =
            "Checks the live blocks (run, sim, plot, predict, quiz, figure) of a course's lessons. DIR holds "
            "lessons/;\nwithout one it is the course that is installed.",
        .options = options,
    };
    if (!cli_options(&command, argc, argv, names, &count, &code))
        return code;
    if (count > 1) {
        error_set(&e, ERROR_INPUT, "one folder at a time: '%s' is one too many", names[1]);
        return cli_fail(&e);
    }
    if ((!count && !path_data(data, &e)) || !all(&lint, count ? names[0] : data, &e))
        return cli_fail(&e);
    if (!lint.json)
        printf("%d lessons, %d live blocks, %d wrong\n", lint.lessons, lint.blocks, lint.wrong);
    return lint.wrong ? 1 : 0;
}
