/*
 * text.c - looks texts up.
 */
#include "tui/text.h"

const char *text_translate(const char *english)
{
    return english;
}

const char *text_plural(const char *one, const char *many, long n)
{
    return n == 1 ? one : many;
}
