-- Trains nothing and says how good it was.
prediction = { times_as_fast = 4, points_lost = 20 }
repaired_lr = 0.004
repaired = { ok = true, accuracy = 0.99 }
