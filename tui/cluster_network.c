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

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUSIEST = 8, STRIP_LABEL = 3, TEXT_SIZE = 700 };

/* --- cells --- */

static enum role load_role(double share)
{
    return share <= 0 ? ROLE_MUTED : share < 0.5 ? ROLE_SERIES1 : share < 0.85 ? ROLE_SERIES2 : ROLE_BAD;
}

/* A cell, or a bar of several: its height says how busy the link is. */
static void put_bar(struct canvas *c, struct rect at, double share)
{
    static const char ascii[] = ".123456789#"; /* tenths; '#': full */
    int eighths = share <= 0 ? 0 : (int)fmax(1, ceil(share * 8 * at.rows - 1e-9));
    enum role role = load_role(share);
    for (int r = 0; r < at.rows; r++) {
        int n = eighths - 8 * (at.rows - 1 - r);
        uint32_t glyph = n <= 0 ? ' ' : n >= 8 ? 0x2588 : 0x2580u + (uint32_t)n;
        if (!c->utf8)
            glyph = (uint32_t)ascii[share <= 0 ? 0 : (int)fmin(10, 1 + floor(share * 10 * 0.999))];
        if (share <= 0 && r == at.rows - 1)
            glyph = c->utf8 ? 0x00B7 : '.';
        if (!c->utf8 && n <= 0 && at.rows > 1 && r < at.rows - 1)
            glyph = ' ';
        canvas_fill(c, (struct rect){at.row + r, at.col, 1, at.cols}, glyph, role,
                    share >= 0.85 ? ATTR_BOLD : 0);
    }
}

static void put_load(struct canvas *c, int row, int col, double share)
{
    put_bar(c, (struct rect){row, col, 1, 1}, share);
}

/* Links first, first + step, ... `count` of them, in at most `cols` cells, or each as a bar of that size. */
struct strip {
    int first, step, count;
    int wide, high; /* of a bar, a gap of one column behind it where it is wider than that */
};

/* Returns how many links a cell stands for: of all cells the same number. */
static int draw_strip(const struct link_load *l, struct canvas *c, int row, int col, int cols, struct strip s)
{
    int most_cells = cols / s.wide > 1 ? cols / s.wide : 1, each = (s.count + most_cells - 1) / most_cells;
    for (int k = 0; k * each < s.count; k++) {
        double most = 0;
        for (int i = k * each; i < (k + 1) * each && i < s.count; i++)
            most = fmax(most, link_load_share(l, s.first + i * s.step));
        put_bar(c, (struct rect){row, col + k * s.wide, s.high, s.wide - (s.wide > 1)}, most);
    }
    return each;
}

/* --- topologies --- */

static bool is(const struct platform *p, const char *kind)
{
    return strncmp(p->topology_text, kind, strlen(kind)) == 0;
}

/* How leaves and their links are drawn. */
struct blocks {
    int leaves, hosts, uplinks; /* of a leaf; a switch is one without uplinks */
    int across, cols, rows;     /* blocks side by side, and the size of one with its gap */
    int wide, high;             /* of a link */
    bool names;                 /* of the ports, below them */
};

/* The largest bars for which all leaves fit; else single cells. */
static struct blocks fit_blocks(const struct platform *p, struct rect area)
{
    bool fattree = is(p, "fattree");
    struct blocks b = {.leaves = fattree ? p->size[0] : 1,
                       .hosts = fattree ? p->size[1] : p->ports,
                       .uplinks = fattree ? p->uplinks : 0};
    int links = b.hosts > b.uplinks ? b.hosts : b.uplinks, kinds = b.uplinks ? 4 : 2;
    for (b.wide = 5; b.wide >= 1; b.wide--)
        for (b.high = 4; b.high >= 1; b.high--) {
            b.names = b.wide >= 3;
            b.cols = links * b.wide + STRIP_LABEL + 2 < 9 ? 9 : links * b.wide + STRIP_LABEL + 2;
            b.rows = 2 + kinds * b.high + (b.high > 1 ? kinds - 1 : 0) + b.names;
            b.across = area.cols / b.cols;
            if (b.across > 0 && (b.across >= b.leaves || b.wide <= 2) &&
                (b.leaves + b.across - 1) / b.across * b.rows - (b.high == 1) <= area.rows)
                return b;
        }
    b.wide = b.high = 1;
    b.names = false;
    b.rows = 2 + kinds;
    b.cols = b.cols > area.cols ? area.cols : b.cols;
    b.across = area.cols / b.cols;
    while (b.across < b.leaves && (b.leaves + b.across - 1) / b.across * b.rows > area.rows && b.cols > 9) {
        b.cols = b.cols * 3 / 4 > 9 ? b.cols * 3 / 4 : 9; /* a cell for several links */
        b.across = area.cols / b.cols;
    }
    return b;
}

/* One leaf with its hosts: to and from the spines, out of and into the hosts. */
static void draw_leaf(const struct link_load *l, const struct blocks *b, struct canvas *c, int row, int col,
                      int leaf)
{
    const char *arrow[4] = {c->utf8 ? "↑" : "^", c->utf8 ? "↓" : "v", c->utf8 ? "→" : ">",
                            c->utf8 ? "←" : "<"};
    int base = 2 * l->platform.ports, cols = b->cols - STRIP_LABEL;
    if (b->uplinks)
        canvas_format(c, row++, col, b->cols - 1, ROLE_TITLE, ATTR_BOLD, _("leaf %d"), leaf);
    else
        canvas_text(c, row++, col, b->cols - 1, ROLE_TITLE, ATTR_BOLD, _("the switch"));
    for (int way = b->uplinks ? 0 : 2; way < 4; way++, row += b->high + (b->high > 1)) {
        struct strip s = {.first =
                              way < 2 ? base + 2 * leaf * b->uplinks + way : 2 * leaf * b->hosts + way - 2,
                          .step = 2,
                          .count = way < 2 ? b->uplinks : b->hosts,
                          .wide = b->wide,
                          .high = b->high};
        canvas_text(c, row + b->high - 1, col, 2, ROLE_MUTED, 0, arrow[way]);
        draw_strip(l, c, row, col + 2, cols, s);
    }
    row -= b->high > 1;
    for (int k = 0; b->names && k < b->hosts; k++)
        canvas_format(c, row, col + 2 + k * b->wide, b->wide, ROLE_MUTED, 0, "%d", leaf * b->hosts + k);
}

/* Returns the rows used. */
static int draw_leaves(const struct link_load *l, struct canvas *c, struct rect area)
{
    struct blocks b = fit_blocks(&l->platform, area);
    int used = 0;
    for (int leaf = 0; leaf < b.leaves; leaf++) {
        int row = area.row + leaf / b.across * b.rows;
        if (row + b.rows - 1 > area.row + area.rows) {
            canvas_format(c, area.row + area.rows - 1, area.col, area.cols, ROLE_MUTED, 0,
                          text_plural("and %d more leaf", "and %d more leaves", b.leaves - leaf),
                          b.leaves - leaf);
            return area.rows;
        }
        draw_leaf(l, &b, c, row, area.col + leaf % b.across * b.cols, leaf);
        used = row + b.rows - area.row;
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

/* Links in a list, cell by cell over several rows, below a title; returns the rows used. */
static int draw_list(const struct link_load *l, struct canvas *c, struct rect area, const char *title,
                     const int *links, int count)
{
    int rows = (count + area.cols - 1) / area.cols, most = area.rows - 1;
    rows = rows > most ? most : rows;
    if (rows < 1)
        return 0;
    canvas_text(c, area.row, area.col, area.cols, ROLE_TITLE, ATTR_BOLD, title);
    for (int cell = 0, cells = rows * area.cols < count ? rows * area.cols : count; cell < cells; cell++) {
        double busy = 0;
        for (int i = (int)((long)cell * count / cells); i < (int)((long)(cell + 1) * count / cells); i++)
            busy = fmax(busy, link_load_share(l, links[i]));
        put_load(c, area.row + 1 + cell / area.cols, area.col + cell % area.cols, busy);
    }
    return rows + 2;
}

/* Of a dragonfly the links of hosts, those between the routers of a group, those between groups; of any other all as one. */
static int draw_links(const struct link_load *l, struct canvas *c, struct rect area)
{
    const struct platform *p = &l->platform;
    bool dragonfly = is(p, "dragonfly");
    int routers = dragonfly ? p->size[1] : 1, groups = dragonfly ? p->size[0] : 1, all = p->network_links,
        top = area.row;
    int end[3] = {dragonfly ? 2 * p->ports : all, dragonfly ? 2 * p->ports + groups * routers * routers : all,
                  all};
    const char *titles[3] = {dragonfly ? _("Hosts: out of each, into each") : _("Links of the network"),
                             _("Between the routers of a group"), _("Between groups")};
    int *links = calloc((size_t)all + 1, sizeof *links);
    for (int kind = 0; links && kind < 3; kind++) {
        int count = 0, begin = kind ? end[kind - 1] : 0, side = kind == 1 ? routers : groups;
        for (int i = begin; i < end[kind]; i++) {
            int pair = (i - begin) % (side * side);
            if (kind == 0 || pair / side != pair % side) /* nothing leads to itself */
                links[count++] = i;
        }
        int used = count ? draw_list(l, c, area, titles[kind], links, count) : 0;
        rect_cut_rows(&area, used < area.rows ? used : area.rows);
    }
    free(links);
    return area.row - top;
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
        int col = area.col + used + 1, cols = area.cols - used - 1;
        cols -= l->ranks > cols ? 12 : 0;
        int each =
            draw_strip(l, c, row, col, cols, (struct strip){p->network_links + k, per_rank, l->ranks, 1, 1});
        if (each > 1)
            canvas_format(c, row, col + (l->ranks + each - 1) / each + 2, 10, ROLE_MUTED, 0, _("%d a cell"),
                          each);
        row++;
    }
    return row - area.row + (row > area.row);
}

/* --- words --- */

/* The simulator's texts are ASCII; screens have an arrow and a µ where they can. */
static void typeset(const struct canvas *c, const char *from, char to[TEXT_SIZE])
{
    size_t n = 0;
    while (*from && n + 8 < TEXT_SIZE) {
        bool unit =
            n && to[n - 1] == ' ' && from[0] == 'u' && from[1] == 's' && !isalnum((unsigned char)from[2]);
        bool arrow = from[0] == '-' && from[1] == '>';
        const char *better = !c->utf8 ? NULL : arrow ? "→" : unit ? "µs" : NULL;
        if (better) {
            n += (size_t)sprintf(to + n, "%s", better);
            from += 2;
        } else {
            to[n++] = *from++;
        }
    }
    to[n] = '\0';
}

/* How the time was worked out. */
static const char *tier_words(enum sim_tier tier)
{
    return tier == SIM_CLOSED ? _("by formula") : tier == SIM_ROUNDS ? _("by rounds") : _("by messages");
}

static void draw_head(const struct link_load *l, struct canvas *c, struct rect area)
{
    char time[24], bytes[24];
    const struct platform *p = &l->platform;
    format_bytes(l->sum_bytes, bytes, sizeof bytes);
    format_seconds(l->time_s, time, sizeof time);
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
    canvas_format(c, area.row + 1, area.col, area.cols, ROLE_MUTED, 0, _("%d nodes%s, %s, %s%s%s a link; %s"),
                  p->nodes, gpus, p->topology_text, p->network, *p->network ? ", " : "", rate,
                  tier_words(l->result.tier));
}

/* Its share of what it could carry, and that as a rate: the mean over the time that all takes. */
static void draw_busiest(const struct link_load *l, struct canvas *c, struct rect area)
{
    enum { NAME_COLS = 28 };
    int links[BUSIEST], most = area.rows - 1 < BUSIEST ? area.rows - 1 : BUSIEST;
    int count = link_load_busiest(l, links, most);
    canvas_text(c, area.row, area.col, area.cols, ROLE_TITLE, ATTR_BOLD, _("The busiest links"));
    for (int i = 0; i < count; i++) {
        char name[64], shown[TEXT_SIZE], mean[24], rate[24];
        double share = link_load_share(l, links[i]);
        platform_link_name(&l->platform, links[i], name, sizeof name);
        typeset(c, name, shown);
        format_rate(share * platform_link_bandwidth(&l->platform, links[i]), mean, sizeof mean);
        units_show_rate(platform_link_bandwidth(&l->platform, links[i]), rate, sizeof rate);
        put_load(c, area.row + 1 + i, area.col + 1, share);
        canvas_format(c, area.row + 1 + i, area.col + 3, area.cols - 3, ROLE_TEXT, 0,
                      _("%5.1f%%  %s%*s %10s of %s"), 100 * share, shown,
                      NAME_COLS - text_columns(shown) > 0 ? NAME_COLS - text_columns(shown) : 0, "", mean,
                      rate);
    }
}

static void draw_legend(const struct platform *p, struct canvas *c, struct rect line)
{
    int col = line.col, end = line.col + line.cols;
    bool utf8 = c->utf8;
    col += canvas_text(c, line.row, col, end - col, ROLE_MUTED, 0, _("busy:")) + 1;
    for (int i = 0; i <= 8; i++)
        put_load(c, line.row, col++, i ? (i - 0.5) / 8 : 0);
    col += canvas_text(c, line.row, col, end - col, ROLE_MUTED, 0, _(" 0 to 100%   "));
    if (is(p, "fattree"))
        canvas_format(c, line.row, col, end - col, ROLE_MUTED, 0,
                      _("%s out of hosts %s into %s to spines %s from"), utf8 ? "→" : ">", utf8 ? "←" : "<",
                      utf8 ? "↑" : "^", utf8 ? "↓" : "v");
    else if (is(p, "switch"))
        canvas_format(c, line.row, col, end - col, ROLE_MUTED, 0, _("%s out of hosts %s into"),
                      utf8 ? "→" : ">", utf8 ? "←" : "<");
    else if (is(p, "torus"))
        canvas_text(c, line.row, col, end - col, ROLE_MUTED, 0, _("of each node its busiest link"));
}

/* What bounds it, how it was worked out, what is left out: as much as there is room for. */
static struct rect draw_why(const struct link_load *l, struct canvas *c, struct rect area)
{
    char text[TEXT_SIZE], shown[TEXT_SIZE];
    const char *more[] = {*l->result.note ? l->result.note : NULL, l->result.formula, sim_not_modelled};
    snprintf(text, sizeof text, l->asked.training ? "%s" : _("Bottleneck: %s"), l->why);
    for (size_t i = 0; area.rows >= 30 && i < sizeof more / sizeof *more; i++) {
        typeset(c, more[i] ? more[i] : "", shown);
        int wanted = *shown ? wrap_rows(shown, area.cols) : 0;
        wanted = wanted > 3 ? 3 : wanted;
        if (wanted)
            wrap_text(c, rect_cut_rows(&area, -wanted), ROLE_MUTED, 0, shown);
    }
    typeset(c, text, shown);
    int rows = wrap_rows(shown, area.cols) > 1 ? 2 : 1;
    wrap_text(c, rect_cut_rows(&area, -rows), ROLE_ACCENT, 0, shown);
    return area;
}

void cluster_draw_network(const struct link_load *l, struct canvas *c, struct rect area)
{
    const struct platform *p = &l->platform;
    draw_head(l, c, rect_cut_rows(&area, area.rows >= 8 ? 2 : 1));
    if (area.rows >= 12) {
        draw_legend(p, c, rect_cut_rows(&area, -1));
        area = draw_why(l, c, area);
        rect_cut_rows(&area, 1);
    }
    struct rect busiest = {0}, inside = {0};
    if (area.cols >= 120)
        busiest = rect_cut_cols(&area, -64);
    else if (area.rows >= 13)
        busiest = rect_cut_rows(&area, -5);
    if (p->node.gpus > 0 && area.rows >= 10)
        inside = rect_cut_rows(&area, -5);
    int used = is(p, "fattree") || is(p, "switch") ? draw_leaves(l, c, area)
               : is(p, "torus")                    ? draw_torus(l, c, area)
                                                   : draw_links(l, c, area);
    inside.rows += area.rows - used > 0 ? inside.row - (area.row + used) : 0;
    inside.row = area.rows - used > 0 ? area.row + used : inside.row; /* right below */
    if (inside.cols)
        draw_inside(l, c, inside);
    if (busiest.rows > 1)
        draw_busiest(l, c, busiest);
}
