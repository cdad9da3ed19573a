-- Judges a ring-allreduce: runs the learner's function in every rank and looks at what was sent to whom.
--
-- What is accepted, with N ranks and a vector of L elements of 4 bytes, for every rank:
--   the right sum; messages to the two ring neighbours only;
--   messages: 2(N-1). Where L < N some chunks are empty: sending them or leaving them out are both accepted,
--             so at most 2(N-1).
--   data: 2(N-1)/N of the vector, exactly 2(L - one chunk) elements, where a chunk has floor(L/N) or ceil(L/N)
--         elements. So between 2(L - ceil(L/N)) and 2(L - floor(L/N)) elements.

local env = learner()

local function ask(name, pass, measured, accepted, next_step)
    check{ name = name, pass = pass, measured = measured, accepted = accepted, next = not pass and next_step or nil }
    return pass
end

local function plural(n, word)
    return n == 1 and ("1 " .. word) or (n .. " " .. word .. "s")
end

-- "4 ranks, 16 elements"
local function where(case)
    return plural(case.ranks, "rank") .. ", " .. plural(case.length, "element")
end

-- 1. There is something to run ----------------------------------------------------------------------------
if type(rawget(env, "allreduce")) ~= "function" then
    ask("there is a function allreduce(comm, x)", false, "your file defines none", "function allreduce(comm, x) ... end",
        "Keep the line `function allreduce(comm, x)` and its `end` as they were: every rank calls that name.")
    return
end

local result = rank_script{
    entry = "allreduce",
    counts = { 1, 2, 3, 4, 5, 8 },
    lengths = { 0, 1, 2, 3, 7, 16, 1000 },
}
local cases = result.cases

-- The case to show: the smallest one in which no chunk is empty; else the first.
local function first(wrong)
    local found
    for _, case in ipairs(cases) do
        if wrong(case) then
            if case.ranks >= 2 and case.length >= case.ranks then
                return case
            end
            found = found or case
        end
    end
    return found
end

local broken = first(function(case) return case.error and not case.deadlock end)
ask("your function runs in every rank", not broken, broken and (where(broken) .. ": " .. broken.error) or "no errors",
    "no errors",
    "Read the sentence: it names the line. A chunk and what arrives in it must have the same length on both sides.")
if broken then
    return
end

local stuck = first(function(case) return case.deadlock end)
if stuck and stuck.ranks ~= 4 then
    -- The question in part 3 is about four ranks: show those where they are stuck as well.
    local four = rank_script{ entry = "allreduce", counts = { 4 }, lengths = { 16 } }.cases[1]
    stuck = four and four.deadlock and four or stuck
end
ask("nobody waits for ever", not stuck, stuck and (where(stuck) .. ": " .. stuck.deadlock) or "no deadlock",
    "no deadlock at 1, 2, 3, 4, 5, 8 ranks",
    "send returns only when the receiver has taken the message. If everybody sends first, nobody receives. "
        .. "Use comm.sendrecv, or let even ranks send first and odd ranks receive first. "
        .. "Is this deadlock part 3 of the task? Then write the cycle down and mend it.")
if stuck then
    return
end

-- 2. Right sums -------------------------------------------------------------------------------------------
local function all(values, holds)
    for i = 1, #values do
        if not holds(values[i]) then
            return false
        end
    end
    return true
end

local wrong = first(function(case) return case.right_ranks < case.ranks end)

-- The sentence that helps most, from the shape of what was sent.
local function advice(case)
    local n = case.ranks
    if all(case.messages, function(m) return m == 0 end) then
        return "Nothing was sent. Every rank must give away its part and fetch the others': begin with one sendrecv."
    end
    local several = first(function(c) return c.ranks > 2 and c.length >= c.ranks and c.right_ranks ~= 1 end)
    if case.right_ranks == 1 and not several then
        return "One rank has the whole sum, the others do not. There is no boss here: pass the complete chunks on, "
            .. "round by round, until everybody has all of them."
    end
    if n >= 2 and all(case.messages, function(m) return m == n - 1 end) then
        return "Your ranks stop after the first half: each holds one complete chunk. Write the second loop: n - 1 more "
            .. "rounds in which what arrives replaces (does not add to) what was there."
    end
    if n >= 3 and all(case.messages, function(m) return m == 2 * (n - 1) end) then
        local two = first(function(c) return c.ranks == 2 and c.right_ranks < 2 end)
        if not two then
            return "At two ranks a wrong ring can pass; it shows from three on. After the first half the complete chunk of "
                .. "rank r is (r + 1) % n: is that what you send in round 0 of the second half? In round k, send the one "
                .. "that arrived in round k - 1."
        end
        return "The number of messages is right, the contents are not. In the first half what arrives is added; in the second "
            .. "it replaces what was there. Take 3 ranks and paper: which chunk is complete where?"
    end
    return "Take 3 ranks and 3 elements on paper, as in the lesson. Write down for each round which chunk leaves rank 0 and "
        .. "which arrives, then compare with your two indices."
end

ask("the right sum on every rank", not wrong,
    wrong and string.format("%s: right on %d of %d (first wrong: rank %s)", where(wrong), wrong.right_ranks, wrong.ranks,
        tostring(wrong.wrong_rank or "?")) or (#cases .. " cases right on all their ranks"),
    "all ranks, at 1, 2, 3, 4, 5, 8 ranks and lengths from 0 to 1000", wrong and advice(wrong))

-- 3. How it was done --------------------------------------------------------------------------------------
local stranger = first(function(case) return case.strangers > 0 end)
ask("messages to ring neighbours only", not stranger,
    stranger and (where(stranger) .. ": " .. plural(stranger.strangers, "message") .. " to others") or "neighbours only",
    "every rank sends to rank + 1 or rank - 1 (modulo N)",
    "In a ring nobody talks across: send to (comm.rank + 1) % n and let the chunk travel on from there.")

-- The first case, rank by rank, whose figure is outside what is accepted.
local function outside(figures, low, high)
    for _, case in ipairs(cases) do
        for rank = 0, case.ranks - 1 do
            local value = case[figures][rank + 1]
            if value < low(case) or value > high(case) then
                return case, rank, value
            end
        end
    end
end

local function most_messages(case) return 2 * (case.ranks - 1) end
local function least_messages(case) return case.length >= case.ranks and most_messages(case) or 0 end

-- While the sums are wrong, how they were made is the second question.
local function after_sums(advice_then)
    return wrong and "First the sums." or advice_then
end

local case, rank, value = outside("messages", least_messages, most_messages)
ask("2(N-1) messages from each rank", not case,
    case and string.format("%s: rank %d sends %d", where(case), rank, value)
        or "0, 2, 4, 6, 8 and 14 from each at 1, 2, 3, 4, 5 and 8 ranks",
    case and string.format("%d (below N elements: at most that)", most_messages(case)) or "2(N-1); below N elements at most that",
    case and after_sums(value == case.ranks - 1
        and "N - 1 is one half of the ring. Either the second half is missing, or whole vectors go round: "
        .. "cut the vector in n chunks and send one chunk a round."
        or value > most_messages(case)
        and "Some rank sends more than its share. Each of the two halves has n - 1 rounds with one message in each."
        or "Each of the two halves has n - 1 rounds, and every rank sends one chunk in each: for k = 0, n - 2 do."))

local function chunk_low(c) return c.length // c.ranks end
local function chunk_high(c) return (c.length + c.ranks - 1) // c.ranks end
case, rank, value = outside("bytes", function(c) return 8 * (c.length - chunk_high(c)) end,
    function(c) return 8 * (c.length - chunk_low(c)) end)
ask("2(N-1)/N of the data from each rank", not case,
    case and string.format("%s: rank %d sends %d bytes, %.2f times its vector", where(case), rank, value,
        case.length > 0 and value / (4 * case.length) or 0) or "2(N-1)/N, to the element",
    case and string.format("%d to %d bytes (chunks differ by one element)", 8 * (case.length - chunk_high(case)),
        8 * (case.length - chunk_low(case))) or "2(L - one chunk) elements",
    case and after_sums(value > 8 * (case.length - chunk_low(case))
        and "Too much travels. Send x:chunk(i, n), one part in n, never x itself: that is what keeps the traffic of one rank "
        .. "below two vectors however many ranks there are."
        or "Too little travels: each rank has to send all chunks but one, twice."))

-- 4. The deadlock -----------------------------------------------------------------------------------------
-- All four send first to the right: 0 waits for 1, 1 for 2, 2 for 3, 3 for 0 (or the other way round, to the left).
local function is_cycle(c)
    if type(c) ~= "table" then
        return false
    end
    local length = #c == 5 and c[5] == c[1] and 4 or #c
    if length ~= 4 or type(c[1]) ~= "number" then
        return false
    end
    for _, step in ipairs{ 1, 3 } do
        local good = true
        for i = 1, 4 do
            good = good and c[i % 4 + 1] == (c[i] + step) % 4
        end
        if good then
            return true
        end
    end
    return false
end

local function shown(c)
    if type(c) ~= "table" then
        return tostring(c)
    end
    local words = {}
    for i = 1, math.min(#c, 8) do
        words[i] = tostring(c[i])
    end
    return #words > 0 and table.concat(words, " -> ") or "nothing"
end

local cycle = rawget(env, "cycle")
ask("the deadlock: who waits for whom", is_cycle(cycle), shown(cycle),
    "the four ranks in the order in which they wait",
    "Part 3: put comm.send(right, out) and comm.recv(left, arrived) in place of the sendrecv of the first half, check, and read "
        .. "the sentence. It names the ranks. Write them in `cycle` as numbers, then mend your function.")
