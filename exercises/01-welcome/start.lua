-- Where does my job live?
-- Start a run of about three minutes, leave it, come back.
--
-- One rank, a small model, and a nap of one second after each step:
-- the run is long, but costs the login node next to nothing.

train {
    model = "mlp",       -- a small network: two dense layers
    data = "mnist",      -- 60 000 pictures of handwritten digits
    ranks = 1,           -- one process
    batch = 64,          -- pictures a step
    steps = 180,
    pause = 1,           -- seconds of sleep after each step
    detach = true,       -- start it and do not wait for its end
}

-- Your answers. Fill them in while the run goes on, or after it.

run = "last"             -- the run you mean: its name, or "last"
host = "?"               -- the computer it computed on
