#include "cluster-sim/protocol.h"

#include "cluster-sim/platform_fields.h"

struct protocol_piece protocol_at(const struct protocol *p, double bytes)
{
    if (p->count == 0)
        return (struct protocol_piece){.latency_factor = 1, .bandwidth_factor = 1};
    int i = 0;
    while (i + 1 < p->count && p->piece[i + 1].from_bytes <= bytes)
        i++;
    return p->piece[i];
}

bool protocol_from_json(const json_t *list, struct protocol *p, struct error *e)
{
    static const char *const keys[] = {"from_bytes", "latency_s", "latency_factor", "bandwidth_factor", NULL};
    p->count = 0;
    if (json_is_object(list) || !json_is_array(list) || json_array_size(list) > PROTOCOL_PIECES)
        return error_set(e, ERROR_INPUT,
                         "protocol must be a list of at most %d pieces, each { from_bytes =, latency_s =, "
                         "latency_factor =, bandwidth_factor = }",
                         PROTOCOL_PIECES);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        struct protocol_piece piece = {.latency_factor = 1, .bandwidth_factor = 1};
        if (!field_known(item, "a piece of protocol", keys, e) ||
            !field_seconds(item, "latency_s", &piece.latency_s, e) ||
            !field_seconds(item, "latency_factor", &piece.latency_factor, e) ||
            !field_number(item, "bandwidth_factor", &piece.bandwidth_factor, e))
            return error_wrap(e, "protocol, piece %zu", i + 1);
        piece.from_bytes = json_number_value(json_object_get(item, "from_bytes"));
        if (i > 0 && !(piece.from_bytes > p->piece[i - 1].from_bytes))
            return error_set(e, ERROR_INPUT, "protocol, piece %zu: from_bytes must grow from piece to piece",
                             i + 1);
        p->piece[i] = piece;
        p->count = (int)i + 1;
    }
    return true;
}
