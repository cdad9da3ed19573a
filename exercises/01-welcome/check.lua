-- Judges lesson 01: a training run was started, left, and watched again later by another process while it went on;
-- and the learner knows on which computer it computed. Nothing is run here: it looks at what has happened.

local env = learner()

local function ask(name, pass, measured, accepted, next_step)
    check{ name = name, pass = pass, measured = measured, accepted = accepted, next = not pass and next_step or nil }
    return pass
end

local name = rawget(env, "run")
if type(name) ~= "string" or name == "" or name == "?" then
    name = "last"
end

-- 1. The run ----------------------------------------------------------------------------------------------
local info = run_info(name)
local is_training = info ~= nil and info.kind == "train"
ask("there is a training run", is_training,
    not info and ("no run named '" .. name .. "'") or info.kind ~= "train" and ("a run of kind '" .. tostring(info.kind) .. "'")
        or tostring(info.id or name) .. ", " .. tostring(info.state),
    "a run started by train{...}",
    "Start it: `r` in the exercise, or `ringside run` and your file's name. `ringside runs` lists what there is.")
if not is_training then
    return
end

-- 2. Left and watched again, while it ran -----------------------------------------------------------------
local visits = attachments(info.id or name)
local ended = info.state ~= "running" and info.state ~= "pending"

-- A visit after the end sees the last step: it proves nothing about a run that goes on.
local while_it_ran = {}
for _, visit in ipairs(visits) do
    if not ended or visit.step < info.last_step then
        while_it_ran[#while_it_ran + 1] = visit
    end
end

local function same_process(a, b)
    return a.pid == b.pid and a.host == b.host
end

local leaving, coming_back
for i = 1, #while_it_ran do
    for k = i + 1, #while_it_ran do
        local a, b = while_it_ran[i], while_it_ran[k]
        if not coming_back and not same_process(a, b) and b.step > a.step then
            leaving, coming_back = a, b
        end
    end
end

local measured, next_step
if coming_back then
    measured = string.format("process %d at step %d, process %d at step %d", leaving.pid, leaving.step, coming_back.pid,
        coming_back.step)
elseif #visits == 0 then
    measured = "nobody has watched this run"
    next_step = "Watch it: open the run in the application, or `ringside runs watch` and its name. Leave with q, come back, "
        .. "watch again."
elseif #while_it_ran == 0 then
    measured = "watched only after it had ended"
    next_step = "Start it again (it takes about three minutes), watch it, leave, and come back before it ends."
else
    local pids, different = while_it_ran[1], false
    for _, visit in ipairs(while_it_ran) do
        different = different or not same_process(visit, pids)
    end
    if different then
        measured = "two processes, but the second one saw no later step"
        next_step = "Stay away for some seconds, so that the run makes steps without you, and watch it once more."
    else
        measured = string.format("one process only (%d)", pids.pid)
        next_step = ended and "The run has ended. Start it again, watch it, quit the program altogether, start the program again "
            .. "and open the run."
            or "Quit the program altogether (q until the shell's prompt is back), start it again, and open the run once more."
    end
end
ask("it went on while you were away", coming_back ~= nil, measured,
    "two processes that watched it while it ran, the second at a later step", next_step)

-- 3. The computer -----------------------------------------------------------------------------------------
local answer = rawget(env, "host")
local short = function(text) return (tostring(text):lower():gsub("%..*", "")) end
local known = type(info.host) == "string" and info.host ~= ""
if not known then
    check{
        name = "which computer did the work",
        result = "inconclusive",
        measured = "the run has not said yet on which computer it computes",
        accepted = "the host in its rank events",
        next = "Wait for its first steps and check again.",
    }
    return
end
-- The full name (node07.cluster.org) and the short one (node07) are both right.
local right = type(answer) == "string" and answer ~= "" and short(answer) == short(info.host)
ask("which computer did the work", right, "your answer: " .. tostring(answer), "the host in the run's rank events",
    "Read it in the rank table of the run, column host. Do not guess from the prompt: the prompt is where you are, not where "
        .. "the job is.")
