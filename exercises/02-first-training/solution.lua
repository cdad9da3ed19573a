-- A bigger batch: faster, and as good?
--
-- The same network, the same digits, one pass over them (one epoch) on two ranks.
-- Only the batch changes: how many pictures each rank looks at before a step.

-- Part 1. Predict before you measure: a number, or "don't know".
prediction = {
    times_as_fast = 2,     -- pictures/s at batch 512, over pictures/s at batch 8
    points_lost = 10,      -- accuracy at batch 32 minus at batch 512, in points of 100
}
predict("times as fast: batch 512 against batch 8", prediction.times_as_fast)
predict("points of accuracy lost: batch 512 against batch 32", prediction.points_lost)

-- Part 2. Measure: four trainings, one after the other.
function training(batch, lr)
    return train {
        model = "cnn",
        data = "mnist",
        ranks = 2,
        batch = batch,          -- per rank
        epochs = 1,
        optimizer = sgd { lr = lr, momentum = 0.9 },
        schedule = "constant",
    }
end

lr = 0.01
speed, accuracy = {}, {}
for i, batch in ipairs { 8, 32, 128, 512 } do
    local result = training(batch, lr)
    speed[i] = { batch, result.samples_per_s }
    accuracy[i] = { batch, result.accuracy }
    print("batch", batch, "pictures/s", result.samples_per_s, "accuracy", result.accuracy)
end
plot { title = "Speed", x = "batch per rank", y = "pictures/s", series = { measured = speed } }
plot { title = "Accuracy", x = "batch per rank", y = "accuracy", series = { measured = accuracy } }

-- Part 3. Repair batch 512 by the learning rate alone.
repaired_lr = 0.08
repaired = training(512, repaired_lr)
print("batch 512 repaired, learning rate", repaired_lr, "accuracy", repaired.accuracy)
