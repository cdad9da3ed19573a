-- Three convolutions for handwritten digits: 93 322 parameters.
return model{
    conv2d{32, 3}, relu{}, maxpool{2},
    conv2d{64, 3}, relu{}, maxpool{2},
    conv2d{64, 3}, relu{},
    flatten{},
    dense{64}, relu{},
    dense{10},
    input = {1, 28, 28},
}
