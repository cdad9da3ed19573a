/*
 * cli_application.c - `ringside` without a command: the application, on a terminal, as plain text, or on a
 * key script.
 */
#include "tui/cli.h"
#include "tui/loop.h"
#include "tui/plain.h"
#include "tui/script.h"
#include "tui/settings.h"
#include "tui/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void help(void)
{
    puts("usage: ringside [--open VIEW:ARGUMENT] [--plain] [--ascii]\n"
         "       ringside --script KEYS [--size COLSxROWS] [--dump] [--roles] [--open VIEW:ARGUMENT] "
         "[--ascii]\n\n"
         "  --open      begin with lesson:NAME, exercise:NAME, run:RUN or ring:RUN\n"
         "  --plain     lines of text and numbered choices: for pipes, dumb terminals and screen readers\n"
         "  --ascii     no characters beyond ASCII\n"
         "  --script    drive the application by keys, without a terminal: Down Enter \"text\" wait 2\n"
         "              sleep 2 until \"text\" 10 size 40x12 dump\n"
         "  --dump      print the last screen; --roles prints what each cell means, too\n"
         "  --size      of the scripted window, 80x24 unless given");
}

static int usage(const char *format, const char *what)
{
    struct error e = {0};
    error_set(&e, ERROR_INPUT, format, what);
    return cli_fail(&e);
}

int cli_application(int argc, char **argv)
{
    struct script_options options = {.rows = 24, .cols = 80, .utf8 = true};
    bool plain = false, scripted = false;
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i], *value = argv[i + 1];
        if (!strcmp(option, "--help")) {
            help();
            return 0;
        }
        if (!strcmp(option, "--plain")) {
            plain = true;
        } else if (!strcmp(option, "--ascii")) {
            options.utf8 = false;
        } else if (!strcmp(option, "--dump")) {
            options.dump = scripted = true;
        } else if (!strcmp(option, "--roles")) {
            options.roles = true;
        } else if (strcmp(option, "--script") != 0 && strcmp(option, "--open") != 0 &&
                   strcmp(option, "--size") != 0) {
            return usage("unknown option '%s'; 'ringside --help' lists the commands", option);
        } else if (!value) {
            return usage("%s needs a value; see 'ringside --plain --help'", option);
        } else {
            i++;
            if (!strcmp(option, "--script")) {
                options.keys = value;
                scripted = true;
            } else if (!strcmp(option, "--open")) {
                options.open = value;
            } else if (!size_parse(value, &options.cols, &options.rows)) {
                return usage("--size needs columns x rows, such as 80x24, not '%s'", value);
            }
        }
    }
    struct error e = {0};
    struct settings settings;
    settings_load(&settings, NULL); /* the application says what is wrong with it */
    if (scripted)
        text_choose(settings.language, options.utf8);
    if (scripted)
        return script_run(&options, stdout, &e) ? 0 : cli_fail(&e);
    loop_locale(settings.glyphs);
    bool utf8 = options.utf8 && settings.glyphs != GLYPHS_ASCII && loop_utf8();
    text_choose(settings.language, utf8);
    char why[256] = "";
    if (plain || loop_impossible(why)) {
        if (*why)
            printf("Plain mode: %s.\n\n", why);
        return plain_application(stdin, utf8);
    }
    return loop_run(options.open, options.utf8 && loop_utf8(), &e) ? 0 : cli_fail(&e);
}
