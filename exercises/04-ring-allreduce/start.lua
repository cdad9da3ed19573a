-- Ring-allreduce: sum a vector over all ranks, with no boss.
--
-- Every rank runs this function at the same time, each with its own x.
-- At the end every x must hold the sum over all ranks.
-- The first half is written. The second half is yours.

function allreduce(comm, x)
    local n = comm.size                    -- how many ranks there are
    local right = (comm.rank + 1) % n      -- I send to this neighbour
    local left = (comm.rank - 1) % n       -- I receive from this one

    -- First half, reduce-scatter: n - 1 rounds. In each, send a chunk
    -- to the right; add what arrives from the left to what I have.
    for k = 0, n - 2 do
        local out = x:chunk((comm.rank - k) % n, n)
        local mine = x:chunk((comm.rank - k - 1) % n, n)
        local arrived = mine:clone()       -- a place for what arrives
        comm.sendrecv(right, out, left, arrived)
        mine:add(arrived)
    end

    -- Now one chunk of my x is complete, another one on each rank.
    -- Second half, allgather: n - 1 more rounds that pass the complete
    -- chunks on until everybody has all of them. Write it here.

end

-- The deadlock (part 3 of the task): four ranks all send first.
-- Rank 0 waits for rank ?, which waits for rank ?, and so on, back to 0.
cycle = { 0, "?", "?", "?", 0 }
