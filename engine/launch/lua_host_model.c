/*
 * lua_host_model.c - a script that only describes a model: its layers become events, for a table of them.
 */
#include "engine/launch/lua_host.h"

#include "engine/base/event.h"
#include "engine/base/sink.h"
#include "engine/spec/model.h"

static bool emit_layers(struct event_sink *sink, const char *name, const struct model_spec *m,
                        struct error *e)
{
    for (int i = 0; i < m->layer_count; i++) {
        const struct layer_spec *l = &m->layers[i];
        bool view = l->kind == LAYER_FLATTEN || l->kind == LAYER_RESHAPE;
        char text[64], shape[64];
        json_t *event = sink_event(sink, "layer");
        event_set_text(event, "model", name);
        event_set_text(event, "layer", l->name);
        event_set_text(event, "text", layer_describe(l, text));
        event_set_text(event, "output", model_shape_describe(l->out, shape));
        event_set_number(event, "output_bytes", view ? 0 : 4.0 * (double)model_shape_elements(l->out));
        event_set_integer(event, "parameters", (long long)layer_parameters(l));
        event_set_number(event, "flops", l->flops);
        event_set_number(event, "backward_flops", l->backward_flops);
        event_set_number(event, "bytes", l->bytes);
        if (!sink_emit(sink, event, e))
            return false;
    }
    return true;
}

bool lua_host_describe(struct event_sink *sink, const json_t *object, struct error *e)
{
    static const char *const parts[] = {"generator", "discriminator"};
    bool gan = json_object_get(object, parts[0]) != NULL;
    if (!model_check(object, e))
        return false;
    for (int i = 0; i < (gan ? 2 : 1); i++) {
        struct model_spec m;
        if (!model_from_json(gan ? json_object_get(object, parts[i]) : object, &m, e))
            return false;
        bool ok = emit_layers(sink, gan ? parts[i] : m.name, &m, e);
        model_free(&m);
        if (!ok)
            return false;
    }
    return true;
}
