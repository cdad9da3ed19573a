-- Ring-allreduce, both halves, without sendrecv:
-- even ranks send first, odd ranks receive first.
-- comm.sendrecv(right, out, left, place) does as well.

local function exchange(comm, right, out, left, place)
    if comm.rank % 2 == 0 then
        comm.send(right, out)
        comm.recv(left, place)
    else
        comm.recv(left, place)
        comm.send(right, out)
    end
end

function allreduce(comm, x)
    local n = comm.size
    local right = (comm.rank + 1) % n
    local left = (comm.rank - 1) % n

    -- Reduce-scatter: what arrives is added.
    -- Afterwards chunk rank + 1 is complete.
    for k = 0, n - 2 do
        local out = x:chunk((comm.rank - k) % n, n)
        local mine = x:chunk((comm.rank - k - 1) % n, n)
        local arrived = mine:clone()
        exchange(comm, right, out, left, arrived)
        mine:add(arrived)
    end

    -- Allgather: what arrives is complete, so it replaces what was there.
    for k = 0, n - 2 do
        local out = x:chunk((comm.rank + 1 - k) % n, n)
        local place = x:chunk((comm.rank - k) % n, n)
        exchange(comm, right, out, left, place)
    end
end

cycle = { 0, 1, 2, 3, 0 }
