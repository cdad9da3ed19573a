#include "engine/spec/model_lua.h"

#include "engine/base/event.h"
#include "engine/spec/lua_file.h"

#include <stdlib.h>
#include <string.h>

static const struct lua_shelf models = {"exercises/models", "model"};

char **model_names(struct error *e)
{
    return lua_shelf_names(&models, e);
}

void model_names_free(char **names)
{
    lua_shelf_free(names);
}

void model_name_after_file(json_t *model, const char *path)
{
    lua_file_name(model, path, MODEL_NAME_LENGTH);
}

json_t *model_description(const char *name, struct error *e)
{
    char path[PATH_MAX];
    json_t *model =
        lua_shelf_find(&models, name, path, e) ? lua_file_describe(path, lua_api_description, e) : NULL;
    if (!model)
        return NULL;
    model_name_after_file(model, path);
    if (!model_check(model, e)) {
        error_wrap(e, "%s", path);
        json_decref(model);
        return NULL;
    }
    return model;
}

bool model_named(const char *name, struct model_spec *model, struct error *e)
{
    json_t *object = model_description(name, e);
    bool ok = object && model_from_json(object, model, e);
    json_decref(object);
    return ok;
}

bool model_is_gan(const char *name, const json_t *description)
{
    struct error e = {0};
    json_t *read = description ? NULL : model_description(name, &e);
    bool gan = json_object_get(description ? description : read, "generator") != NULL;
    json_decref(read);
    return gan;
}
