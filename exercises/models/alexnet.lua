-- AlexNet as in one tower (A. Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014):
-- 61 100 840 parameters, all but 2.5 million of them in the dense layers.
return model{
    conv2d{64, 11, stride = 4, padding = 2}, relu{}, maxpool{3, stride = 2},
    conv2d{192, 5, padding = 2}, relu{}, maxpool{3, stride = 2},
    conv2d{384, 3, padding = 1}, relu{},
    conv2d{256, 3, padding = 1}, relu{},
    conv2d{256, 3, padding = 1}, relu{}, maxpool{3, stride = 2},
    flatten{},
    dropout{0.5}, dense{4096}, relu{},
    dropout{0.5}, dense{4096}, relu{},
    dense{1000},
    input = {3, 224, 224},
}
