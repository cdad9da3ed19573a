/*
 * lua_api.h - what a script may call: the description of models and jobs, experiments, and (in a check) the judge's
 * tools. `ringside run --help` has the short form.
 *
 *   model{ conv2d{32, 3}, relu{}, maxpool{2}, flatten{}, dense{10}, input = {1, 28, 28} | {tokens = 100} |
 *          {steps = 28, features = 28}, name =, loss = "cross_entropy" | "bce" | "mse", label_smoothing = 0.1 }
 *       the layers in order; a list of layers { ... } among them stands for the layers in it
 *   conv2d{channels, kernel, stride =, padding =, dilation =, groups =, bias = false}   kernel and so on: 3 or {1, 7}
 *   maxpool{size, stride =, padding =}  avgpool{size, ...}  global_avgpool{}
 *   batchnorm{sync =, epsilon =, momentum =}  layernorm{epsilon =}  dropout{rate}
 *   relu{}  leaky_relu{slope}  gelu{}  tanh{}  sigmoid{}  dense{units, bias = false}
 *   embedding{vocabulary, units}  simple_rnn{units, last = true}  lstm{units, last = true}
 *   flatten{}  reshape{channels, height, width} | reshape{steps, features}
 *   residual{ layers ..., shortcut = {layers ...} }  branches{ {layers ...}, {layers ...} }
 *   gan{ generator = model{...}, discriminator = model{...} }
 *   sgd{lr =, momentum =, nesterov =, weight_decay =}  lars{lr =, momentum =, weight_decay =}
 *   adam{lr =, weight_decay =}  adamw{...}  lamb{...}
 *   train{ model = "cnn" | model{...}, data = "mnist", ranks =, batch = (per rank), epochs = | steps = | seconds =,
 *          accumulate =, lr =, optimizer = "adam" | adam{} ..., clip =, scale_lr =, warmup =,
 *          schedule = "onecycle" | "constant" | "step" | "cosine", step_size =, gamma =, dtype = "fp32" | "bf16" | "tf32",
 *          allreduce = "ring" | "mpi" | "nccl", threads =, seed =, reproducible =, checkpoint_every =, hash_every =, resume =, eval =,
 *          pause =, device = "auto" | "cpu" | "cuda", label =, detach = true }
 *       -> { ok, run, accuracy, loss, samples_per_s, wall_s, steps = {{step, loss, ...}}, evals, ranks, error }
 *       detach = true returns at once, with { run }
 *   allreduce{ ranks =, bytes = 1048576 | {...}, algo = "ring,mpi", iters =, check =, buffer = "engine" | "private",
 *              collective = "allreduce" | "broadcast" | ..., dtype = "f32" | "f64" | "bf16" | "f16",
 *              place = "in" | "out" | "both", link = "1Gbps", link_latency = "50us", trace =, label = }
 *       -> { {op, algo, chosen, bytes, count, dtype, inplace, time_s, predicted_s, algbw_bytes_per_s,
 *             busbw_bytes_per_s, error, slowed, ...}, ..., ok =, run = }: the fields of `collective` events
 *   cluster{ name =, nodes =, topology = "switch" | "fattree:LxH:o" | "torus:XxYxZ" | "dragonfly:GxAxH" | "graph",
 *            network = "10GbE" | bandwidth = "10 Gb/s", latency = "25us", links = { {"node0", "sw"}, ... }, hosts =,
 *            sockets =, cores =, core_flops =, memory =, memory_bandwidth =, gpus =, gpu = "V100-SXM2" | {...},
 *            nvlink = true | rate, pcie = "gen3" | rate, nics =, ranks_per_node =, protocol = {...},
 *            disk = {...}, storage = { kind = "nfs", ... } }   a platform for the simulator (cluster-sim/platform_json.c)
 *   simulate{ cluster = cluster{...} | "NAME", job = { model =, batch =, ranks =, allreduce =, bucket = (bytes),
 *             first_bucket =, overlap =, tensor =, pipeline =, microbatches =, optimizer =, dtype =,
 *             rate = (samples/s of one rank, measured), input = (samples/s that reading yields) or
 *             data = { samples =, sample_bytes =, samples_per_file =, readers = (a rank), cache = (bytes a node) },
 *             straggler = { kind = "normal", spread = 0.02, slow = 1, factor = 1.5 } }, steps =, tier =, seed =, label = }
 *       -> { ok, run, tier, samples_per_s, step_s, compute_s, comm_s, exposed_comm_s, bubble_s, data_s, straggler_s,
 *            efficiency, bottleneck, memory_bytes, fits, steps, collectives = {{bytes, time_s}}, explain = {{what, text}},
 *            error }
 *   simulate{ storage = {...}, cluster = } or { checkpoint = {...} } or { schedule = {...} }: questions that are no training,
 *             described in cluster-sim/ask.h -> the figures of `ringside sim --storage, --checkpoint, --trace`, explain
 *   plot{ title =, x =, y =, series = { name = { {x, y}, ... } } }
 *   predict("question", value)   a guess, committed before measuring; returns value
 *   print(...)  note("text")
 * In check.lua also:
 *   learner()          runs the learner's file apart from the check; train{} and so on are recorded, not carried out,
 *                      and return tables full of NaN. -> its globals, and calls = { {"train", {...}}, ... }
 *   rank_script{ entry =, counts = {...}, lengths = {...} } -> { mode, cases = { {ranks, length, ok, ...}, ... } }
 *   run_info(id)  attachments(id)
 *   check{ name =, pass = | result =, measured =, accepted =, next = }
 *   instant            true where the learner has just saved: no training, ranks as coroutines
 *
 * Acting is somebody else's: events and requests leave through a channel. Arguments are checked here, where the line
 * of the call is known: an unknown key names the nearest one there is.
 */
#ifndef RINGSIDE_BASE_LUA_API_H
#define RINGSIDE_BASE_LUA_API_H

#include "engine/base/lua_sandbox.h"

#include <jansson.h>

struct lua_channel {
    /* Hands on an event (its reference is taken). False: nobody listens any more. */
    bool (*event)(struct lua_channel *c, json_t *event, struct error *e);
    /* {"call": NAME, "args": ...} (taken) -> the answer, a new reference; NULL and *e: the request is refused. */
    json_t *(*request)(struct lua_channel *c, json_t *request, struct error *e);
};

/* Lines and events that one script may print and plot: what floods the stream helps nobody. */
enum { LUA_API_LINES = 2000, LUA_API_BYTES = 512 << 10, LUA_API_POINTS = 20000, LUA_API_CALLS = 1000 };

struct lua_api {
    struct lua_sandbox *sandbox;
    struct lua_channel *channel; /* NULL: calls are recorded, not carried out */
    long lines, bytes, points, calls;
    char returned[16]; /* the type of what the script returned, where that is no model; "": nothing */

    /* Of a check. */
    const char *learner_text, *learner_shown; /* NULL: this is no check */
    size_t learner_length;
    bool instant;
    struct lua_sandbox *learner;
    struct lua_api *learner_api;
    bool ended; /* the learner's file does not run: the check is over, and has said so */
};

/* Makes the functions globals of the sandbox and seals it. The api must outlive the sandbox. */
bool lua_api_open(struct lua_api *api, struct error *e);
void lua_api_close(struct lua_api *api);

/* Runs a script with the API. False and *f; but a check that ended because of the learner's file is true. */
bool lua_api_run(struct lua_api *api, const char *text, size_t length, const char *shown,
                 struct lua_fault *f);

/*
 * The model or gan that a script that has run returned, or else described last, as JSON: a new reference. NULL and *e:
 * there is none, or none that JSON can hold.
 */
json_t *lua_api_description(struct lua_api *api, struct error *e);
/* The same of the cluster that cluster{...} described last. */
json_t *lua_api_cluster(struct lua_api *api, struct error *e);
/* Whether a script that has run described a model. */
bool lua_api_describes(struct lua_api *api);

/* Whether a script that has run defines a function of its own called `name` and has called nothing of the API. */
bool lua_api_defines_only(struct lua_api *api, const char *name);

#endif
