-- Tries to bring its own witnesses.
run = "last"
host = "HOST"
function run_info() return { kind = "train", state = "running", host = host, last_step = 100 } end
function attachments() return { { pid = 1, host = "a", step = 1 }, { pid = 2, host = "a", step = 50 } } end
function check() end
