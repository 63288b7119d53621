"""A worker in ten lines, for a server that trains the same network from a TorchScript file.

Usage: worker.py HOST:PORT NAME DATA.npz [FOLDER OF CERTIFICATES]

examples/python/README.md has the server's side.
"""

import sys

import numpy as np
import torch

import ballast.torch

server, name, data = sys.argv[1:4]
net = torch.jit.load("net.pt")
samples = np.load(data)
x, y = torch.from_numpy(samples["x"]), torch.from_numpy(samples["y"])
loss = torch.nn.CrossEntropyLoss()
tls = sys.argv[4] if len(sys.argv) > 4 else None
opt = ballast.torch.Optimizer(net, server=server, tls=tls, name=name)
while not opt.is_over:
    batch = torch.randint(0, len(y), (16,))
    opt.step(lambda: loss(net(x[batch]), y[batch]))  # noqa: B023
print(f"{name}: {opt.accepted} updates accepted")
