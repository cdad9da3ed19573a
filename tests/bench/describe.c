/*
 * describe - a model's description as one line of JSON: what exercises/models/NAME.lua comes to.
 *
 *     describe NAME|FILE.lua
 */
#include "engine/spec/model_lua.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct error e = {0};
    if (argc != 2) {
        fprintf(stderr, "describe NAME|FILE.lua\n");
        return 2;
    }
    json_t *description = model_description(argv[1], &e);
    char *text = description ? json_dumps(description, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (text)
        puts(text);
    else
        fprintf(stderr, "describe: %s\n", e.text);
    free(text);
    json_decref(description);
    return text ? 0 : 1;
}
