/*
 * views.c - the views there are, by name.
 */
#include "tui/view.h"

#include <stddef.h>
#include <string.h>

static const struct view_class *const views[] = {
    &view_home,    &view_exercise, &view_run,      &view_ring,    &view_lesson,  &view_settings, &view_doctor,
    &view_present, &view_notes,    &view_timeline, &view_compare, &view_cluster, NULL,
};

const struct view_class *view_at(int n)
{
    return n >= 0 && n < (int)(sizeof views / sizeof *views) ? views[n] : NULL;
}

const struct view_class *view_find(const char *name)
{
    for (size_t i = 0; views[i]; i++)
        if (!strcmp(views[i]->name, name))
            return views[i];
    return NULL;
}
