-- Far too long steps: it blows up.
-- A bigger batch: faster, and as good?
--
-- The same network, the same digits, one pass over them (one epoch) on two
-- ranks. Only the batch changes: how many pictures each rank looks at
-- before the weights move by one step.

-- Part 1. Predict before you measure: a number, or "don't know".
prediction = {
    times_as_fast = 2,    -- pictures/s: batch 512 over batch 8
    points_lost = 10,     -- accuracy in %: batch 32 minus batch 512
}
predict("Batch 512: how many times as fast as batch 8?",
    prediction.times_as_fast)
predict("Batch 512: how many points of accuracy lost to batch 32?",
    prediction.points_lost)

-- Part 2. Measure: four trainings, one after the other.
function training(batch, rate)
    return train {
        model = "cnn",
        data = "mnist",
        ranks = 2,
        batch = batch,    -- per rank
        epochs = 1,
        optimizer = adam { lr = rate },
        schedule = "constant",
    }
end

function report(batch, rate, result)
    print(string.format("batch %d, rate %g: %.0f pictures/s, %.2f %% right",
        batch, rate, result.samples_per_s, 100 * result.accuracy))
end

lr = 0.001
speed, accuracy = {}, {}
for i, batch in ipairs { 8, 32, 128, 512 } do
    local result = training(batch, lr)
    report(batch, lr, result)
    speed[i] = { batch, result.samples_per_s }
    accuracy[i] = { batch, result.accuracy }
end
plot { title = "Speed", x = "batch per rank", y = "pictures/s",
    series = { measured = speed } }
plot { title = "After one epoch", x = "batch per rank", y = "accuracy",
    series = { measured = accuracy } }

-- Part 3. Repair batch 512 by the learning rate alone.
repaired_lr = 1
report(512, repaired_lr, training(512, repaired_lr))
