/*
 * cluster_network.c - a simulated cluster's links and how busy they are: the topology as blocks where it has such, each link a
 * cell whose height and colour say its utilisation; then the busiest by name.
 *
 * Where there are more links than cells, a cell stands for several and shows the busiest of them.
 */
#include "engine/base/units.h"
#include "tui/axis.h"
#include "tui/cluster_view.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUSIEST = 8, BLOCK_ROWS = 6, STRIP_LABEL = 3 };

/* --- cells --- */

static enum role load_role(double share)
{
    return share <= 0 ? ROLE_MUTED : share < 0.5 ? ROLE_SERIES1 : share < 0.85 ? ROLE_SERIES2 : ROLE_BAD;
}

static void put_load(struct canvas *c, int row, int col, double share)
{
    static const char ascii[] = ".123456789#"; /* tenths; '#': full */
    uint32_t glyph;
    if (c->utf8)
        glyph = share <= 0 ? 0x00B7 : 0x2581u + (uint32_t)fmin(7, floor(share * 8));
    else
        glyph = (uint32_t)ascii[share <= 0 ? 0 : (int)fmin(10, 1 + floor(share * 10 * 0.999))];
    canvas_put(c, row, col, glyph, load_role(share), share >= 0.85 ? ATTR_BOLD : 0);
}

/* Links first, first + step, ... `count` of them, in at most `cols` cells. */
static void draw_strip(const struct link_load *l, struct canvas *c, int row, int col, int cols, int first,
                       int step, int count)
{
    int cells = count < cols ? count : cols;
    for (int k = 0; k < cells; k++) {
        double most = 0;
        for (int i = (int)((long)k * count / cells); i < (int)((long)(k + 1) * count / cells); i++)
            most = fmax(most, link_load_share(l, first + i * step));
        put_load(c, row, col + k, most);
    }
}

/* --- topologies --- */

static bool is(const struct platform *p, const char *kind)
{
    return strncmp(p->topology_text, kind, strlen(kind)) == 0;
}

/* One leaf with its hosts: to and from the spines, out of and into the hosts. */
static void draw_leaf(const struct link_load *l, struct canvas *c, int row, int col, int cols, int leaf,
                      int rows)
{
    const struct platform *p = &l->platform;
    bool fattree = is(p, "fattree"), utf8 = c->utf8;
    int hosts = fattree ? p->size[1] : p->ports, base = 2 * p->ports, up = fattree ? p->uplinks : 0;
    const char *arrow[4] = {utf8 ? "↑" : "^", utf8 ? "↓" : "v", utf8 ? "→" : ">", utf8 ? "←" : "<"};
    if (fattree)
        canvas_format(c, row++, col, cols, ROLE_TITLE, ATTR_BOLD, _("leaf %d"), leaf);
    else
        canvas_text(c, row++, col, cols, ROLE_TITLE, ATTR_BOLD, _("the switch"));
    for (int way = 0; way < 2 && up && rows >= 5; way++, row++) {
        canvas_text(c, row, col, 2, ROLE_MUTED, 0, arrow[way]);
        draw_strip(l, c, row, col + 2, cols - STRIP_LABEL, base + 2 * leaf * up + way, 2, up);
    }
    for (int way = 0; way < 2 && rows >= 3; way++, row++) {
        canvas_text(c, row, col, 2, ROLE_MUTED, 0, arrow[2 + way]);
        draw_strip(l, c, row, col + 2, cols - STRIP_LABEL, 2 * leaf * hosts + way, 2, hosts);
    }
}

/* Returns the rows used. */
static int draw_leaves(const struct link_load *l, struct canvas *c, struct rect area)
{
    const struct platform *p = &l->platform;
    bool fattree = is(p, "fattree");
    int leaves = fattree ? p->size[0] : 1,
        widest = fattree ? (p->size[1] > p->uplinks ? p->size[1] : p->uplinks) : p->ports;
    int cols = widest + STRIP_LABEL + 2 < 11 ? 11 : widest + STRIP_LABEL + 2;
    cols = cols > area.cols ? area.cols : cols;
    int across = area.cols / cols, rows = fattree ? BLOCK_ROWS : BLOCK_ROWS - 2, used = 0;
    while (across < leaves && (leaves + across - 1) / across * rows > area.rows &&
           cols > 11) { /* narrower blocks */
        cols = cols * 3 / 4 > 11 ? cols * 3 / 4 : 11;
        across = area.cols / cols;
    }
    for (int leaf = 0; leaf < leaves; leaf++) {
        int row = area.row + leaf / across * rows;
        if (row + rows - 1 > area.row + area.rows) {
            canvas_format(c, area.row + area.rows - 1, area.col, area.cols, ROLE_MUTED, 0,
                          _("and %d more leaves"), leaves - leaf);
            return area.rows;
        }
        draw_leaf(l, c, row, area.col + leaf % across * cols, cols - 1, leaf, rows - 1);
        used = row + rows - area.row;
    }
    return used;
}

/* A torus: each port a cell with the busiest of its links, slices of x and y side by side. */
static int draw_torus(const struct link_load *l, struct canvas *c, struct rect area)
{
    const struct platform *p = &l->platform;
    int x = p->size[0], y = p->dimensions > 1 ? p->size[1] : 1, links = 2 * p->dimensions;
    int slices = p->ports / (x * y), across = area.cols / (2 * x + 3), used = 0;
    across = across < 1 ? 1 : across;
    for (int s = 0; s < slices; s++) {
        int row = area.row + s / across * (y + 2), col = area.col + s % across * (2 * x + 3);
        if (row + y + 1 > area.row + area.rows)
            break;
        canvas_format(c, row, col, 2 * x + 2, ROLE_TITLE, ATTR_BOLD, _("slice %d"), s);
        for (int j = 0; j < y; j++)
            for (int i = 0; i < x; i++) {
                int port = (s * y + j) * x + i;
                double most = 0;
                for (int k = 0; k < links; k++)
                    most = fmax(most, link_load_share(l, port * links + k));
                put_load(c, row + 1 + j, col + 2 * i, most);
            }
        used = row + y + 2 - area.row;
    }
    return used;
}

/* Any other: all links of the network as one strip over several rows. */
static int draw_links(const struct link_load *l, struct canvas *c, struct rect area)
{
    int links = l->platform.network_links, per_row = area.cols, rows = (links + per_row - 1) / per_row;
    canvas_format(c, area.row, area.col, area.cols, ROLE_TITLE, ATTR_BOLD, _("%d links of the network"),
                  links);
    rows = rows > area.rows - 1 ? area.rows - 1 : rows;
    for (int r = 0; r < rows; r++) {
        int first = (int)((long)r * links / rows), last = (int)((long)(r + 1) * links / rows);
        draw_strip(l, c, area.row + 1 + r, area.col, per_row, first, 1, last - first);
    }
    return rows + 2;
}

/* Inside the nodes, where GPUs or ranks share one: four links each. */
static int draw_inside(const struct link_load *l, struct canvas *c, struct rect area)
{
    static const char *const kinds[] = {N_("to NVLink"), N_("from NVLink"), N_("to PCIe"), N_("from PCIe")};
    const struct platform *p = &l->platform;
    int per_rank = (p->links - p->network_links) / (platform_ranks(p) > 0 ? platform_ranks(p) : 1),
        row = area.row;
    if (p->node.gpus < 1 || per_rank != 4)
        return 0;
    for (int k = 0; k < per_rank && row < area.row + area.rows; k++) {
        double most = 0;
        for (int i = 0; i < l->ranks; i++)
            most = fmax(most, link_load_share(l, p->network_links + i * per_rank + k));
        if (!(most > 0))
            continue;
        int used = canvas_format(c, row, area.col, 18, ROLE_TITLE, 0, _("GPUs, %s"), _(kinds[k]));
        used = used < 18 ? 18 : used;
        draw_strip(l, c, row++, area.col + used + 1, area.cols - used - 1, p->network_links + k, per_rank,
                   l->ranks);
    }
    return row - area.row + (row > area.row);
}

/* --- words --- */

static void draw_head(const struct link_load *l, struct canvas *c, struct rect area)
{
    char time[24], bytes[24];
    const struct platform *p = &l->platform;
    units_show_bytes(l->sum_bytes, bytes, sizeof bytes);
    units_show_seconds(l->time_s, time, sizeof time);
    if (l->asked.training)
        canvas_format(c, area.row, area.col, area.cols, ROLE_TITLE, ATTR_BOLD,
                      _("A step of %s on %d ranks, %d samples each, %s: %s"), LINK_MODEL, l->ranks,
                      LINK_BATCH, l->asked.algo, time);
    else
        canvas_format(c, area.row, area.col, area.cols, ROLE_TITLE, ATTR_BOLD, _("%s of %s on %d ranks: %s"),
                      l->asked.algo, bytes, l->ranks, time);
    if (area.rows < 2)
        return;
    char rate[24], gpus[64] = "";
    units_show_rate(p->bandwidth, rate, sizeof rate);
    if (p->node.gpus > 0)
        snprintf(gpus, sizeof gpus, _(" of %d %.30s"), p->node.gpus, p->node.gpu.name);
    canvas_format(c, area.row + 1, area.col, area.cols, ROLE_MUTED, 0,
                  _("%d nodes%s, %s, %s%s%s a link; simulated (%s)"), p->nodes, gpus, p->topology_text,
                  p->network, *p->network ? ", " : "", rate, sim_tier_name(l->result.tier));
}

static void draw_busiest(const struct link_load *l, struct canvas *c, struct rect area)
{
    int links[BUSIEST], most = area.rows - 1 < BUSIEST ? area.rows - 1 : BUSIEST;
    int count = link_load_busiest(l, links, most);
    canvas_text(c, area.row, area.col, area.cols, ROLE_TITLE, ATTR_BOLD, _("The busiest links"));
    for (int i = 0; i < count; i++) {
        char name[64], bytes[24], rate[24];
        double share = link_load_share(l, links[i]);
        platform_link_name(&l->platform, links[i], name, sizeof name);
        units_show_bytes(round(l->bytes[links[i]]), bytes, sizeof bytes);
        units_show_rate(platform_link_bandwidth(&l->platform, links[i]), rate, sizeof rate);
        put_load(c, area.row + 1 + i, area.col + 1, share);
        canvas_format(c, area.row + 1 + i, area.col + 3, area.cols - 3, ROLE_TEXT, 0,
                      _("%5.1f%%  %-28s %10s of %s"), 100 * share, name, bytes, rate);
    }
}

static void draw_legend(struct canvas *c, struct rect line)
{
    int col = line.col, end = line.col + line.cols;
    col += canvas_text(c, line.row, col, end - col, ROLE_MUTED, 0, _("busy:")) + 1;
    for (int i = 0; i <= 8; i++)
        put_load(c, line.row, col++, i ? (i - 0.5) / 8 : 0);
    canvas_format(c, line.row, col, end - col, ROLE_MUTED, 0,
                  _(" 0 to 100%%   %s out of hosts %s into %s to spines %s from"), c->utf8 ? "→" : ">",
                  c->utf8 ? "←" : "<", c->utf8 ? "↑" : "^", c->utf8 ? "↓" : "v");
}

void cluster_draw_network(const struct link_load *l, struct canvas *c, struct rect area)
{
    const struct platform *p = &l->platform;
    draw_head(l, c, rect_cut_rows(&area, area.rows >= 8 ? 2 : 1));
    if (area.rows >= 12) {
        draw_legend(c, rect_cut_rows(&area, -1));
        struct rect why = rect_cut_rows(&area, wrap_rows(l->why, area.cols) > 1 ? -2 : -1);
        wrap_text(c, why, ROLE_ACCENT, 0, l->why);
        rect_cut_rows(&area, 1);
    }
    struct rect busiest = {0};
    if (area.cols >= 120)
        busiest = rect_cut_cols(&area, -64);
    else if (area.rows >= 13)
        busiest = rect_cut_rows(&area, -5);
    int used = is(p, "fattree") || is(p, "switch") ? draw_leaves(l, c, area)
               : is(p, "torus")                    ? draw_torus(l, c, area)
                                                   : draw_links(l, c, area);
    rect_cut_rows(&area, used < area.rows ? used : area.rows);
    draw_inside(l, c, area);
    if (busiest.rows > 1)
        draw_busiest(l, c, busiest);
}
