-- ResNet-20 for the 32×32 images of CIFAR (K. He et al., Deep residual learning for image recognition, CVPR 2016,
-- section 4.2): 272 474 parameters. Where the shape changes the shortcut is a projection (the paper's option B); with
-- its option A, which pads with zeros and learns nothing there, the paper's network has 2752 fewer.
local function conv(channels, kernel, stride)
    return { conv2d{channels, kernel, stride = stride, padding = kernel // 2, bias = false}, batchnorm{} }
end

local function block(channels, stride, shortcut)
    return {
        residual{
            conv(channels, 3, stride), relu{},
            conv(channels, 3),
            shortcut = shortcut,
        },
        relu{},
    }
end

return model{
    conv(16, 3), relu{},
    block(16), block(16), block(16),
    block(32, 2, conv(32, 1, 2)), block(32), block(32),
    block(64, 2, conv(64, 1, 2)), block(64), block(64),
    global_avgpool{},
    dense{10},
    input = {3, 32, 32},
}
