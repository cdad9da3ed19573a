-- Starts the run and answers nothing.
train { model = "mlp", data = "mnist", ranks = 1, steps = 180, pause = 1, detach = true }
run = "last"
host = "?"
