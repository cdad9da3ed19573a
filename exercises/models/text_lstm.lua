-- Which of 10 000 words follows these 50? 2 701 584 parameters.
return model{
    embedding{10000, 128},
    lstm{128, last = true},
    dense{10000},
    input = {tokens = 50},
}
