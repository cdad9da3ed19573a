#!/usr/bin/env python3
"""Writes tests/golden/pytorch.safetensors with PyTorch and the published package safetensors.

The committed file was written by safetensors 0.8.0 and PyTorch 1.13. tests/unit/train/test_safetensors.c holds the
numbers that must come back.
"""
import pathlib

import torch
from safetensors.torch import save_file

tensors = {
    "0.weight": (torch.arange(6, dtype=torch.float32).reshape(2, 3) - 2.5) / 4,
    "0.bias": torch.tensor([1 / 3, -1e-3], dtype=torch.float64),
    "half": torch.tensor([0, -0.5, 65504, 2**-24, float("inf"), 1 / 3], dtype=torch.float16),
    "brain": torch.tensor([1, -3.140625, 2.0**100], dtype=torch.bfloat16),
    "counts": torch.tensor([[1], [-(2**40)]], dtype=torch.int64),
    "small": torch.tensor(-7, dtype=torch.int32),
    "empty": torch.zeros((0, 4)),
    "mask": torch.tensor([True, False, True]),
}
path = pathlib.Path(__file__).parent / "pytorch.safetensors"
save_file(tensors, path, {"format": "pt", "made by": "PyTorch"})
