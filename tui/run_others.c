/*
 * run_others.c - what the run view does with other runs, and what it does in slices: laying runs over the plots, setting
 * them side by side, writing a run's figures to a file.
 */
#include "tui/app.h"
#include "tui/run_view.h"
#include "tui/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_AT_ONCE = 8000, BUCKETS_WANTED = 600 /* of a part that is looked at closely */ };

void run_drop_overlays(struct run_view *v)
{
    for (int i = 0; i < v->overlay_count; i++) {
        run_model_free(v->overlays[i]);
        free(v->overlays[i]);
    }
    v->overlay_count = 0;
}

/* --- other runs --------------------------------------------------------------------------------------------------- */

/* Opens or closes the list; what was overlaid is marked in it. */
void run_choose_overlays(struct run_view *v, struct app *app)
{
    if (v->picker) {
        picker_free(v->picker);
        v->picker = NULL;
        return;
    }
    v->picker = picker_new(RUN_OVERLAYS, v->m.dir, true);
    if (!v->picker)
        app_message(app, ROLE_BAD, "%s", _("out of memory"));
    for (int i = 0; v->picker && i < v->overlay_count; i++)
        picker_mark(v->picker, v->overlays[i]->dir);
}

void run_take_overlays(struct run_view *v, struct app *app)
{
    struct run_picker *p = v->picker;
    if (p->mark_count == 0 && v->overlay_count == 0)
        picker_toggle(p); /* Enter alone takes the selected one */
    run_drop_overlays(v);
    for (int i = 0; i < p->mark_count; i++) {
        struct run_model *m = malloc(sizeof *m);
        struct error e = {0};
        if (!m || !run_model_open_quickly(m, p->marks[i], &e)) {
            free(m);
            app_message(app, ROLE_BAD, "%s", e.text);
            continue;
        }
        m->attached = true; /* it is looked at, not watched */
        run_model_poll(m, EVENTS_AT_ONCE);
        v->overlays[v->overlay_count++] = m;
    }
    v->refit = true;
    run_choose_overlays(v, app);
}

/* This run and the others that are marked or overlaid, in the view that compares. */
void run_compare(struct run_view *v, struct app *app)
{
    size_t size = (size_t)(RUN_OVERLAYS + 1) * (PATH_MAX + 1);
    char *names = calloc(1, size);
    if (!names)
        return;
    size_t used = (size_t)snprintf(names, size, "%s", v->m.dir);
    int count = v->picker ? v->picker->mark_count : v->overlay_count;
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(names + used, size - used, "\n%s",
                                 v->picker ? v->picker->marks[i] : v->overlays[i]->dir);
    app_open(app, &view_compare, names);
    free(names);
}

void run_begin_export(struct run_view *v, struct app *app, enum export_format format)
{
    struct error e = {0};
    char file[PATH_MAX];
    if (v->export_)
        return;
    if (!run_export_path(v->m.dir, format, file, &e) ||
        !(v->export_ = run_export_begin(v->m.dir, format, file, true, &e)))
        app_message(app, ROLE_BAD, "%s", e.text);
    else
        run_work(v, app, &(bool){false}); /* a short one is written at once */
}

/* --- work in slices ----------------------------------------------------------------------------------------------- */

/* Reads and writes what takes longer than a tick; true where it wants to be called again at once. */
bool run_work(struct run_view *v, struct app *app, bool *changed)
{
    bool more = run_model_reading(&v->m, &v->share);
    for (int i = 0; i < v->overlay_count && !more; i++)
        more = run_model_reading(v->overlays[i], &v->share);
    if (v->zoomed)
        more |= run_detail_tick(&v->detail, &v->m, v->from, v->to, BUCKETS_WANTED, changed);
    if (v->export_ && run_export_step(v->export_, &v->share))
        return true;
    if (v->export_) {
        struct error e = {0};
        char file[PATH_MAX];
        snprintf(file, sizeof file, "%s", run_export_file(v->export_));
        if (run_export_end(v->export_, &e))
            app_message(app, ROLE_GOOD, _("Written to %s"), file);
        else
            app_message(app, ROLE_BAD, "%s", e.text);
        v->export_ = NULL;
        *changed = true;
    }
    return more;
}
