-- Is a review of 100 words good or bad? One logit after the last word. 1 292 417 parameters, almost all of them in the
-- embedding.
return model{
    embedding{10000, 128},
    simple_rnn{64, last = true},
    dense{1},
    input = {tokens = 100},
    loss = "bce",
}
