-- The right ring, but every rank sends before it receives: nobody ever gets to the receive.
function allreduce(comm, x)
    local n = comm.size
    local right, left = (comm.rank + 1) % n, (comm.rank - 1) % n
    for k = 0, n - 2 do
        local mine = x:chunk((comm.rank - k - 1) % n, n)
        local arrived = mine:clone()
        comm.send(right, x:chunk((comm.rank - k) % n, n))
        comm.recv(left, arrived)
        mine:add(arrived)
    end
    for k = 0, n - 2 do
        comm.send(right, x:chunk((comm.rank + 1 - k) % n, n))
        comm.recv(left, x:chunk((comm.rank - k) % n, n))
    end
end
cycle = { 0, 1, 2, 3, 0 }
