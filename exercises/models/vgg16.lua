-- VGG-16 (K. Simonyan and A. Zisserman, Very deep convolutional networks for large-scale image recognition, ICLR 2015,
-- configuration D): 138 357 544 parameters.
local function block(convolutions, channels)
    local layers = {}
    for i = 1, convolutions do
        layers[i] = { conv2d{channels, 3, padding = 1}, relu{} }
    end
    return { layers, maxpool{2} }
end

return model{
    block(2, 64),
    block(2, 128),
    block(3, 256),
    block(3, 512),
    block(3, 512),
    flatten{},
    dense{4096}, relu{}, dropout{0.5},
    dense{4096}, relu{}, dropout{0.5},
    dense{1000},
    input = {3, 224, 224},
}
