/*
 * storage_json.c - reading a dataset as a description, and what comes out as fields of an event (ask.h).
 */
#include "cluster-sim/ask.h"
#include "cluster-sim/platform_fields.h"
#include "engine/base/event.h"

#include <string.h>

void storage_defaults(struct storage_load *load)
{
    *load = (struct storage_load){.files = 1281167,
                                  .file_bytes = 110e3,
                                  .clients = 1,
                                  .readers = 8,
                                  .epochs = 2,
                                  .order = STORAGE_SHUFFLED,
                                  .share = STORAGE_NEW_PART,
                                  .memory_bytes_per_s = 10e9,
                                  .client_link_bytes_per_s = 10e9 / 8,
                                  .prefetch = true};
    storage_preset("nvme", &load->local);
}

/* One of the words, by its number. */
static bool word(const json_t *o, const char *key, const char *const *words, int *value, struct error *e)
{
    const json_t *field = json_object_get(o, key);
    const char *text = json_string_value(field);
    if (!field)
        return true;
    for (int i = 0; text && words[i]; i++)
        if (!strcmp(text, words[i])) {
            *value = i;
            return true;
        }
    return error_set(e, ERROR_INPUT, "%s: expected %s%s%s%s%s, got %.40s", key, words[0],
                     words[2] ? ", " : " or ", words[1], words[2] ? " or " : "", words[2] ? words[2] : "",
                     text ? text : "no text");
}

static bool flag(const json_t *o, const char *key, bool *value, struct error *e)
{
    const json_t *field = json_object_get(o, key);
    if (field && !json_is_boolean(field))
        return error_set(e, ERROR_INPUT, "%s: expected true or false", key);
    if (field)
        *value = json_is_true(field);
    return true;
}

static bool preset(const json_t *o, const char *key, bool local, struct storage_system *s, struct error *e)
{
    const json_t *field = json_object_get(o, key);
    const char *name = json_string_value(field);
    struct storage_system known;
    if (!field)
        return true;
    if (!name || !storage_preset(name, &known) || (local && known.kind != STORAGE_LOCAL))
        return error_set(e, ERROR_INPUT, "%s: expected nvme, ssd%s, got %.40s", key,
                         local ? " or hdd" : ", hdd, nfs or parallel", name ? name : "no text");
    *s = known;
    return true;
}

/* Figures that the kind has no use for are no figures. */
static bool takes_all(const json_t *o, const struct storage_system *s, struct error *e)
{
    static const struct {
        const char *key;
        bool stripes;
    } keys[] = {{"stripe_count", true}, {"stripe", true},       {"servers", false},
                {"link", false},        {"client_link", false}, {"opens_per_s", false}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_object_get(o, keys[i].key) && !storage_takes(s, keys[i].stripes, keys[i].key, e))
            return false;
    return true;
}

bool storage_from_json(const json_t *o, const struct platform *platform, struct storage_system *s,
                       struct storage_load *load, struct error *e)
{
    static const char *const known[] = {
        "kind",        "files",   "file_bytes", "clients",      "readers",     "epochs",  "order",
        "share",       "cache",   "warm",       "stage",        "disk",        "compute", "prefetch",
        "targets",     "servers", "depth",      "stripe_count", "stripe",      "read",    "link",
        "client_link", "memory",  "seek",       "open",         "opens_per_s", NULL};
    static const char *const orders[] = {"sequential", "shuffled", NULL};
    static const char *const shares[] = {"own", "new", "all", NULL};
    const int most = 100000000;
    int order = load->order == STORAGE_SHUFFLED, share = (int)load->share;
    if (!field_known(o, "it", known, e))
        return false;
    if (!json_object_get(o, "kind") && !platform)
        return error_set(e, ERROR_INPUT,
                         "give kind = \"nvme\", \"ssd\", \"hdd\", \"nfs\" or \"parallel\", or a cluster");
    if ((platform && !json_object_get(o, "kind") && !storage_of_platform(platform, s, load, e)) ||
        !preset(o, "kind", false, s, e) || !preset(o, "disk", true, &load->local, e))
        return false;
    bool ok =
        field_number(o, "files", &load->files, e) && field_bytes(o, "file_bytes", &load->file_bytes, e) &&
        field_whole(o, "clients", 1, most, &load->clients, e) &&
        field_whole(o, "readers", 1, most, &load->readers, e) &&
        field_whole(o, "epochs", 1, most, &load->epochs, e) && word(o, "order", orders, &order, e) &&
        word(o, "share", shares, &share, e) && field_bytes(o, "cache", &load->cache_bytes, e) &&
        flag(o, "warm", &load->warm, e) && flag(o, "stage", &load->stage, e) &&
        flag(o, "prefetch", &load->prefetch, e) &&
        field_number(o, "compute", &load->compute_files_per_s, e) &&
        field_rate(o, "client_link", &load->client_link_bytes_per_s, e) &&
        field_rate(o, "memory", &load->memory_bytes_per_s, e) &&
        field_whole(o, "targets", 1, most, &s->targets, e) &&
        field_whole(o, "servers", 1, most, &s->servers, e) &&
        field_whole(o, "depth", 1, most, &s->depth, e) &&
        field_whole(o, "stripe_count", 1, most, &s->stripe_count, e) &&
        field_bytes(o, "stripe", &s->stripe_bytes, e) && field_rate(o, "read", &s->target_bytes_per_s, e) &&
        field_rate(o, "link", &s->server_link_bytes_per_s, e) && field_seconds(o, "seek", &s->seek_s, e) &&
        field_seconds(o, "open", &s->open_s, e) && field_number(o, "opens_per_s", &s->metadata_per_s, e);
    ok = ok && takes_all(o, s, e);
    load->order = order ? STORAGE_SHUFFLED : STORAGE_SEQUENTIAL;
    load->share = (enum storage_share)share;
    return ok;
}

static void put_pass(json_t *event, const char *name, const struct storage_pass *p)
{
    json_t *pass = json_object(), *limits = json_object();
    event_set_number(pass, "files_per_s", p->files_per_s);
    event_set_number(pass, "bytes_per_s", p->bytes_per_s);
    event_set_number(pass, "time_s", p->time_s);
    event_set_number(pass, "hit", p->hit);
    event_set_text(pass, "bottleneck", storage_station_name(p->bottleneck));
    for (int i = 0; i < STORAGE_STATIONS; i++)
        event_set_number(limits, storage_station_name((enum storage_station)i), p->limit[i]);
    json_object_set_new(pass, "limits_files_per_s", limits);
    json_object_set_new(event, name, pass);
}

void storage_to_json(const struct storage_system *s, const struct storage_load *load,
                     const struct storage_result *r, json_t *event)
{
    char note[256];
    storage_note(s, load, r, note, sizeof note);
    event_set_text(event, "tier", "closed");
    if (*note)
        event_set_text(event, "note", note);
    const struct storage_pass *usual = load->epochs > 1 ? &r->later : &r->first;
    event_set_number(event, "total_s", r->total_s);
    event_set_number(event, "files_per_s", usual->files_per_s);
    event_set_number(event, "bytes_per_s", usual->bytes_per_s);
    event_set_text(event, "bottleneck", storage_station_name(usual->bottleneck));
    event_set_number(event, "read_s", r->read_s);
    event_set_number(event, "data_share", r->data_share);
    if (r->stage.time_s > 0)
        put_pass(event, "stage", &r->stage);
    put_pass(event, "first", &r->first);
    put_pass(event, "later", &r->later);
}
