/* old.c - a plugin of another version than the program. */
#define PLUGIN_VERSION 99
#include "tests/plugins/declines.c"
