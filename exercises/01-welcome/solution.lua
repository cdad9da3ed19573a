-- The file stays as it was but for one line. The answer is the name of
-- your own computer, so it is not here: read it in the rank table of the
-- run, or in the `rank` events of `ringside runs watch NAME --json`.

train {
    model = "mlp",
    data = "mnist",
    ranks = 1,
    batch = 64,
    steps = 180,
    pause = 1,
    detach = true,
}

run = "last"
host = "HOST" -- yours
