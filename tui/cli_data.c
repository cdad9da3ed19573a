/*
 * cli_data.c - `ringside data`: what a dataset holds; packing a folder of pictures into one file, and verifying it.
 *
 * `ringside-rank` knows the formats and does the work.
 */
#include "engine/launch/tool.h"
#include "tui/cli.h"
#include "tui/options.h"

#include <string.h>

static const struct verb {
    const char *name, *takes;
    int words;
} verbs[] = {
    {"info", "NAME", 1},
    {"pack", "DIR FILE.shards", 2},
    {"verify", "FILE.shards", 1},
};

int cli_data(int argc, char **argv)
{
    bool json = false;
    struct error e = {0};
    char *rest[OPTION_MAX_WORDS];
    int count, code;
    const struct option options[] = {
        {"json", NULL, OPTION_FLAG, &json, 0, 0, 0, "print one JSON object", NULL, NULL},
        {NULL, NULL, OPTION_FLAG, NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    const struct option_command command = {
        .usage = "ringside data info NAME | pack DIR FILE.shards | verify FILE.shards",
        .summary =
            "info: how many samples, of what shape, and what always guessing the largest class would score. "
            "pack: one\n"
            "file from a folder with a folder of PGM or PPM pictures for each class, or from DIR/train and "
            "DIR/test;\n"
            "train on it with --data FILE.shards. verify: reads it all and compares every CRC-32.",
        .more = "\nNAME is what 'ringside train --data' takes:\n"
                "  mnist                                 in the course\n"
                "  text-classes, text-words, text-chars  manual pages, in the course; NAME:FILE is another "
                "corpus\n"
                "  cifar10, cifar100                     in $RINGSIDE_HOME/data/cifar-10-batches-bin, "
                "cifar-100-binary\n"
                "  synthetic:SHAPE:CLASSES:ROWS          made up: SHAPE is 3x224x224, 784, or 100@10000 for "
                "tokens\n"
                "  FILE.shards                           packed\n"
                "  DIR                                   with MNIST's four IDX files, or CIFAR's\n",
        .options = options,
    };
    if (!cli_options(&command, argc, argv, rest, &count, &code))
        return code;
    for (size_t i = 0; count > 0 && i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(rest[0], verbs[i].name) != 0)
            continue;
        if (count - 1 != verbs[i].words) {
            error_set(&e, ERROR_INPUT, "expected 'ringside data %s %s'", verbs[i].name, verbs[i].takes);
            return cli_fail(&e);
        }
        const char *args[8] = {"--data"};
        for (int k = 0; k < count; k++)
            args[k + 1] = rest[k];
        args[count + 1] = json ? "--json" : NULL;
        code = tool_run(args, &e);
        return code < 0 ? cli_fail(&e) : code;
    }
    error_set(&e, ERROR_INPUT, "expected info, pack or verify, got '%s'; 'ringside data --help' says more",
              count ? rest[0] : "nothing");
    return cli_fail(&e);
}
