-- Names a run that never was.
train { model = "mlp", data = "mnist", ranks = 1, steps = 180, pause = 1, detach = true }
run = "20000101-000000-no-such-run"
host = "HOST"
