-- What Lua files of the course may call; the learner's own names are globals on purpose.
std = "lua54"
max_line_length = 130
allow_defined_top = true

local api = {
    "model", "gan", "residual", "branches", "conv2d", "maxpool", "avgpool", "global_avgpool", "batchnorm", "layernorm",
    "dropout", "relu", "leaky_relu", "gelu", "tanh", "sigmoid", "dense", "embedding", "simple_rnn", "lstm", "flatten",
    "reshape", "sgd", "adam",
    "cluster",
    "train", "allreduce", "simulate", "plot", "predict", "note",
}
local judge = { "learner", "rank_script", "run_info", "attachments", "check", "instant" }

files["exercises/**"] = { globals = api, ignore = { "131" } } -- 131: globals that the check reads, not the file
files["exercises/**/check.lua"] = { read_globals = judge, globals = api }
