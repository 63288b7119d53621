"""A network with BatchNorm and dropout, and data that it can learn."""

import numpy as np
import pytest


def make_net():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Flatten(),
        torch.nn.Linear(6, 16),
        torch.nn.BatchNorm1d(16),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.25),
        torch.nn.Linear(16, 3),
    )


def blobs(seed, size):
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, size)
    centres = np.random.default_rng(5).standard_normal((3, 6)) * 3
    values = (centres[labels] + random.standard_normal((size, 6))).astype(np.float32)
    return values, labels


def accuracy(net, values, labels):
    import torch

    net.eval()
    with torch.no_grad():
        return float((net(torch.from_numpy(values)).argmax(1).numpy() == labels).mean())
