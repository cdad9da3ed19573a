/*
 * cli_doctor.c - `ringside doctor`: what works here, what does not, and how to mend it.
 */
#include "engine/base/event.h"
#include "tui/cli.h"
#include "tui/doctor.h"
#include "tui/options.h"
#include "tui/settings.h"
#include "tui/text.h"
#include "tui/text_plot.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct report {
    bool json;
    bool lacking; /* something that training needs */
};

static void print_text(const struct finding *f)
{
    printf("%-8s  %-14s", finding_result_name(f->result), f->what);
    if (*f->text)
        printf("  %s", f->text);
    putchar('\n');
    if (*f->cause)
        printf("%10s%-14s  why:  %s\n", "", "", f->cause);
    if (*f->cure)
        printf("%10s%-14s  cure: %s\n", "", "", f->cure);
    fflush(stdout);
}

static void take_finding(void *self, const struct finding *f)
{
    struct report *report = self;
    report->lacking |= f->needed && f->result == FINDING_MISSING;
    if (!report->json) {
        print_text(f);
        return;
    }
    json_t *event = event_new("finding", -1);
    event_set_text(event, "what", f->what);
    event_set_text(event, "result", finding_result_name(f->result));
    json_object_set_new(event, "needed", json_boolean(f->needed));
    const struct {
        const char *key, *text;
    } texts[] = {{"text", f->text}, {"cause", f->cause}, {"cure", f->cure}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*texts[i].text)
            event_set_text(event, texts[i].key, texts[i].text);
    event_write(STDOUT_FILENO, event, NULL);
}

int cli_doctor(int argc, char **argv)
{
    struct report report = {0};
    const struct option options[] = {
        {"json", NULL, OPTION_FLAG, &report.json, 0, 0, 0, "findings as events, one JSON object a line", NULL,
         NULL},
        {NULL, NULL, OPTION_FLAG, NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    const struct option_command command = {
        .usage = "ringside doctor [--json]",
        .summary = "Looks at everything ringside needs or can use here, and really starts two ranks. Exit "
                   "code 3 where\n"
                   "something is missing without which no training runs.",
        .options = options,
    };
    int code;
    if (!cli_options_only(&command, argc, argv, &code))
        return code;
    struct settings settings;
    settings_load(&settings, NULL);
    text_choose(settings.language, text_is_utf8());
    doctor_examine(take_finding, &report);
    return report.lacking ? ERROR_MISSING : 0;
}
