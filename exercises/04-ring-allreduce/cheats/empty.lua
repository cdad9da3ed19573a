-- Does nothing. At one rank that is even right.
function allreduce(comm, x)
end
cycle = { 0, 1, 2, 3, 0 }
