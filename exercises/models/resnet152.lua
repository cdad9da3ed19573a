-- ResNet-152 (K. He et al., Deep residual learning for image recognition, CVPR 2016) with the stride in the 3×3
-- convolution, as PyTorch has it: 60 192 808 parameters.
local function conv(channels, kernel, stride)
    return { conv2d{channels, kernel, stride = stride, padding = kernel // 2, bias = false}, batchnorm{} }
end

-- A bottleneck: fewer channels for the 3×3 convolution, four times as many at its end.
local function block(width, stride, shortcut)
    return {
        residual{
            conv(width, 1), relu{},
            conv(width, 3, stride), relu{},
            conv(4 * width, 1),
            shortcut = shortcut,
        },
        relu{},
    }
end

-- The first block changes the shape, so its shortcut is a projection.
local function stage(blocks, width, stride)
    local layers = { block(width, stride, conv(4 * width, 1, stride)) }
    for i = 2, blocks do
        layers[i] = block(width)
    end
    return layers
end

return model{
    conv(64, 7, 2), relu{}, maxpool{3, stride = 2, padding = 1},
    stage(3, 64, 1),
    stage(8, 128, 2),
    stage(36, 256, 2),
    stage(3, 512, 2),
    global_avgpool{},
    dense{1000},
    input = {3, 224, 224},
}
