#include "engine/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool error_set(struct error *e, enum error_kind kind, const char *format, ...)
{
    if (!e)
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    e->kind = kind;
    return false;
}

bool error_errno(struct error *e, enum error_kind kind, const char *format, ...)
{
    int saved = errno;
    if (!e)
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    size_t used = strlen(e->text);
    snprintf(e->text + used, sizeof e->text - used, ": %s", strerror(saved));
    e->kind = kind;
    return false;
}

bool error_wrap(struct error *e, const char *format, ...)
{
    if (!e)
        return false;
    char inner[sizeof e->text];
    memcpy(inner, e->text, sizeof inner);
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    size_t used = strlen(e->text);
    snprintf(e->text + used, sizeof e->text - used, ": %s", inner);
    return false;
}
