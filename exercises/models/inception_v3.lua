-- Inception v3 (C. Szegedy et al., Rethinking the Inception architecture for computer vision, CVPR 2016) as PyTorch has
-- it, without the auxiliary classifier that only training uses: 23 834 568 parameters. With it there are 27 161 264.
local function conv(channels, kernel, options)
    options = options or {}
    return {
        conv2d{channels, kernel, stride = options.stride, padding = options.padding, bias = false},
        batchnorm{epsilon = 1e-3},
        relu{},
    }
end

-- Convolutions that keep height and width, and the pool that does.
local function wide(channels) return conv(channels, {1, 7}, {padding = {0, 3}}) end
local function tall(channels) return conv(channels, {7, 1}, {padding = {3, 0}}) end
local function pool(channels) return { avgpool{3, stride = 1, padding = 1}, conv(channels, 1) } end

-- 35×35
local function block_a(pooled)
    return branches{
        conv(64, 1),
        { conv(48, 1), conv(64, 5, {padding = 2}) },
        { conv(64, 1), conv(96, 3, {padding = 1}), conv(96, 3, {padding = 1}) },
        pool(pooled),
    }
end

-- 35×35 to 17×17
local function reduce_a()
    return branches{
        conv(384, 3, {stride = 2}),
        { conv(64, 1), conv(96, 3, {padding = 1}), conv(96, 3, {stride = 2}) },
        maxpool{3, stride = 2},
    }
end

-- 17×17: a 7×7 convolution as one of 1×7 and one of 7×1
local function block_b(width)
    return branches{
        conv(192, 1),
        { conv(width, 1), wide(width), tall(192) },
        { conv(width, 1), tall(width), wide(width), tall(width), wide(192) },
        pool(192),
    }
end

-- 17×17 to 8×8
local function reduce_b()
    return branches{
        { conv(192, 1), conv(320, 3, {stride = 2}) },
        { conv(192, 1), wide(192), tall(192), conv(192, 3, {stride = 2}) },
        maxpool{3, stride = 2},
    }
end

-- 8×8
local function fork()
    return branches{ conv(384, {1, 3}, {padding = {0, 1}}), conv(384, {3, 1}, {padding = {1, 0}}) }
end
local function block_c()
    return branches{
        conv(320, 1),
        { conv(384, 1), fork() },
        { conv(448, 1), conv(384, 3, {padding = 1}), fork() },
        pool(192),
    }
end

return model{
    conv(32, 3, {stride = 2}), conv(32, 3), conv(64, 3, {padding = 1}), maxpool{3, stride = 2},
    conv(80, 1), conv(192, 3), maxpool{3, stride = 2},
    block_a(32), block_a(64), block_a(64),
    reduce_a(),
    block_b(128), block_b(160), block_b(160), block_b(192),
    reduce_b(),
    block_c(), block_c(),
    global_avgpool{},
    dropout{0.5}, dense{1000},
    input = {3, 299, 299},
}
