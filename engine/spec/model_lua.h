/*
 * model_lua.h - models by name or file: exercises/models/NAME.lua, or a file of the learner's own.
 *
 * The file is Lua in the sandbox of engine/base, in a process of its own (lua_file.h):
 * it returns, or ends with, model{...} (for two networks against each other gan{generator =, discriminator =}).
 * Not for use inside ranks, which get the JSON with their job.
 */
#ifndef RINGSIDE_SPEC_MODEL_LUA_H
#define RINGSIDE_SPEC_MODEL_LUA_H

#include "engine/spec/model.h"

/* name: "resnet20", or a path (has a slash, or ends in .lua). A new reference; NULL: e names the file and line. */
json_t *model_description(const char *name, struct error *e);
/* The same, made into a model. */
bool model_named(const char *name, struct model_spec *model, struct error *e);
/* A description without a name of its own is called as its file is, without the ending. */
void model_name_after_file(json_t *model, const char *path);
/*
 * Whether it is of two networks against each other, which want small, even steps: the default is then a constant rate of
 * MODEL_GAN_LR. description: NULL: that of the name. False too where it cannot be read, which whoever reads it tells.
 */
#define MODEL_GAN_LR 2e-4
bool model_is_gan(const char *name, const json_t *description);
/* The names of the files in exercises/models, sorted, NULL after the last; free with model_names_free. */
char **model_names(struct error *e);
void model_names_free(char **names);

#endif
