-- Judges lesson 02: the sweep changes the batch alone, the repair changes the learning rate alone, and batch 512 with
-- the repaired rate comes as close to batch 32 as the calibrated margin asks. It trains twice itself (one epoch each),
-- because an accuracy that somebody wrote down proves nothing. Speed never passes or fails anyone.
-- The margin and how it was found: calibration.md beside this file.

local MARGIN = 0.02
local HOPELESS = 0.95
local BASE_BATCH, BASE_LR, LARGE_BATCH = 32, 0.001, 512

local env = learner()

local function ask(name, pass, measured, accepted, next_step)
    check{ name = name, pass = pass, measured = measured, accepted = accepted, next = not pass and next_step or nil }
    return pass
end

local function settings(batch, lr)
    return {
        model = "cnn",
        data = "mnist",
        ranks = 2,
        batch = batch,
        epochs = 1,
        optimizer = adam{ lr = lr },
        schedule = "constant",
    }
end

-- 1. Predictions ------------------------------------------------------------------------------------------
local prediction = rawget(env, "prediction")
local missing = {}
for _, key in ipairs{ "times_as_fast", "points_lost" } do
    local value = type(prediction) == "table" and prediction[key]
    if not (type(value) == "number" and value == value) and value ~= "don't know" then
        missing[#missing + 1] = key
    end
end
ask("your predictions are there", #missing == 0, #missing == 0 and "two predictions" or "open: " .. table.concat(missing, ", "),
    "a number or \"don't know\" for each; no guess is wrong",
    "Write a number, or \"don't know\" with its quotes, in `prediction` before you measure.")

-- 2. What the file asks for -------------------------------------------------------------------------------
-- The learning rate may stand in optimizer{...} or beside it.
local function rate(args)
    local optimizer = args.optimizer
    return args.lr or (type(optimizer) == "table" and optimizer.lr) or nil
end

local function difference(args, wanted, path)
    for key, value in pairs(wanted) do
        local name = path .. tostring(key)
        if key ~= "lr" and name ~= "batch" then
            if type(value) == "table" then
                local found = type(args[key]) == "table" and difference(args[key], value, name .. ".") or nil
                if type(args[key]) ~= "table" or found then
                    return found or name
                end
            elseif args[key] ~= value then
                return name
            end
        end
    end
    for key in pairs(args) do
        local name = path .. tostring(key)
        if wanted[key] == nil and key ~= "lr" and key ~= "seed" and name ~= "batch" then
            return name
        end
    end
end

local trainings = {}
for _, call in ipairs(env.calls) do
    if call[1] == "train" and type(call[2]) == "table" then
        trainings[#trainings + 1] = call[2]
    end
end

local changed
for _, args in ipairs(trainings) do
    changed = changed or difference(args, settings(args.batch, 0), "")
end
local alike = ask("only batch and learning rate differ", #trainings > 0 and not changed,
    #trainings == 0 and "your file trains nothing" or changed and ("changed: " .. changed)
        or #trainings .. " trainings, all alike",
    "model, data, ranks, epochs, optimizer and schedule as in the starter",
    "Put " .. tostring(changed or "the calls of training(...)") .. " back as it was. If two things change, nobody can say "
        .. "which of them helped.")

local swept = {}
for _, args in ipairs(trainings) do
    if rate(args) == BASE_LR and type(args.batch) == "number" then
        swept[args.batch] = true
    end
end
local unswept = {}
for _, batch in ipairs{ 8, 32, 128, 512 } do
    if not swept[batch] then
        unswept[#unswept + 1] = tostring(batch)
    end
end
local complete = ask("the sweep: batch 8, 32, 128, 512", #unswept == 0, #unswept == 0 and "four batches, learning rate 0.001"
    or "not swept: " .. table.concat(unswept, ", "), "each once at learning rate 0.001",
    "Keep the loop of part 2 and its lr = 0.001.")

local repaired = rawget(env, "repaired_lr")
local usable = type(repaired) == "number" and repaired > 0 and repaired < math.huge
local asked = false
for _, args in ipairs(trainings) do
    asked = asked or (args.batch == LARGE_BATCH and rate(args) == repaired)
end
local changes_rate = ask("the repair changes the learning rate", usable and asked and repaired ~= BASE_LR,
    "repaired_lr = " .. tostring(repaired), "a rate other than 0.001, used with batch 512",
    repaired == BASE_LR
        and "It is still the rate of batch 32. Sixteen times the batch makes a sixteenth of the steps: each may be longer."
        or "repaired_lr is one positive number, and part 3 trains with training(512, repaired_lr).")
if not (alike and complete and changes_rate) then
    return -- a training would say nothing about the repair
end

-- 3. Does it work? ----------------------------------------------------------------------------------------
if instant then
    check{
        name = "batch 512 as good as batch 32",
        result = "inconclusive",
        measured = "not trained: saving a file starts no training",
        accepted = string.format("within %.1f points", 100 * MARGIN),
        next = "Press c: it trains both for one epoch.",
    }
    return
end

-- The large batch first: where it stays below what batch 32 reached in every calibration, the other need not be run.
local large = train(settings(LARGE_BATCH, repaired))
local reached = large.ok and large.accuracy or 0
if reached ~= reached then
    reached = 0 -- it blew up: an accuracy of NaN is none
end

local small
if reached >= HOPELESS then
    small = train(settings(BASE_BATCH, BASE_LR))
    if not (small.ok and small.accuracy) then
        check{
            name = "batch 512 as good as batch 32",
            result = "inconclusive",
            measured = "the training at batch 32 did not end: run " .. tostring(small.run),
            accepted = "a training that ends",
            next = "Look at its log (`ringside runs watch " .. tostring(small.run) .. "`), and at `ringside doctor`.",
        }
        return
    end
end

local advice
if reached < 0.5 then
    advice = "The steps are so long that training blows up. Go back towards 0.001: halve the rate until it learns again."
elseif repaired < BASE_LR then
    advice = "Shorter steps and fewer of them: that is the wrong way. Try a rate above 0.001."
elseif repaired > 16 * BASE_LR then
    advice = "More than sixteen times the rate for sixteen times the batch: try less."
else
    advice = "Double or halve the rate and look which way the accuracy goes. There is room between 0.001 and 0.016."
end
local lost = small and small.accuracy - reached
ask("batch 512 as good as batch 32", lost ~= nil and lost <= MARGIN,
    lost and string.format("%.2f %% against %.2f %%: %.2f points %s", 100 * reached, 100 * small.accuracy, 100 * math.abs(lost),
        lost >= 0 and "lost" or "gained")
        or string.format("%.2f %%; batch 32 reaches more than %.0f %%", 100 * reached, 100 * (HOPELESS + MARGIN)),
    string.format("at most %.1f points lost", 100 * MARGIN), advice)
