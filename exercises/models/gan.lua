-- Two networks against each other (I. Goodfellow et al., Generative adversarial nets, NeurIPS 2014): the generator makes
-- an image of 28×28 from 100 random numbers, the discriminator tells it from a real one. 227 344 and 201 217 parameters.
local generator = model{
    dense{256}, relu{},
    dense{784}, tanh{},
    input = {100},
}

local discriminator = model{
    dense{256}, relu{},
    dense{1},
    input = {784},
    loss = "bce",
}

return gan{ generator = generator, discriminator = discriminator }
