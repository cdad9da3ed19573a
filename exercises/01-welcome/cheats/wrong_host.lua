-- Answers with a name that sounds right.
train { model = "mlp", data = "mnist", ranks = 1, steps = 180, pause = 1, detach = true }
run = "last"
host = "not-this-computer"
