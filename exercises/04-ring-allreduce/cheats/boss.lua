-- Right sums, but with a boss: rank 0 gathers, adds and sends back.
function allreduce(comm, x)
    if comm.rank == 0 then
        local y = x:clone()
        for r = 1, comm.size - 1 do
            comm.recv(r, y)
            x:add(y)
        end
        for r = 1, comm.size - 1 do
            comm.send(r, x)
        end
    else
        comm.send(0, x)
        comm.recv(0, x)
    end
end
cycle = { 0, 1, 2, 3, 0 }
