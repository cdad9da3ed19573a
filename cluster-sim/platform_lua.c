#include "cluster-sim/platform_lua.h"

#include "engine/base/event.h"
#include "engine/spec/lua_file.h"

#include <stdlib.h>
#include <string.h>

static const struct lua_shelf clusters = {"exercises/clusters", "cluster"};

char **platform_names(struct error *e)
{
    return lua_shelf_names(&clusters, e);
}

void platform_names_free(char **names)
{
    lua_shelf_free(names);
}

json_t *platform_description(const char *name, struct error *e)
{
    char path[PATH_MAX];
    json_t *object =
        lua_shelf_find(&clusters, name, path, e) ? lua_file_describe(path, lua_api_cluster, e) : NULL;
    if (object) {
        lua_file_name(object, path, sizeof((struct platform *)0)->name);
        event_set_text(object, "file", path); /* whole, for the sentences about mistakes */
    }
    return object;
}

bool platform_named(const char *name, struct platform *p, struct error *e)
{
    json_t *object = platform_description(name, e);
    bool ok = object && platform_from_json(object, p, e);
    json_decref(object);
    return ok;
}
