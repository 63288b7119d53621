"""ResNet-18 on CIFAR-10 with 17 workers, 8 of which lie, on a CUDA device or the CPU.

On a device everything stays there: gradients, updates, the server's table, the new model. At the
end it prints the accuracy and what share of the training time was not spent in gradients.

Usage: resnet18_cifar10.py --data FOLDER [--attack sign-flip] [--rule "ctma(gm, 0.4)"] ...
       resnet18_cifar10.py --random-data 2000 --updates 200          # for the time alone

FOLDER holds the binary version of CIFAR-10: data_batch_1.bin to data_batch_5.bin, test_batch.bin.
"""

import argparse
import copy
from pathlib import Path
from typing import List, Tuple

import numpy as np
import torch
from torch import nn

import ballast

Images = Tuple[torch.Tensor, torch.Tensor]


class Augmentation(nn.Module):
    """Bytes to normalised numbers; while training also moved by up to 4 pixels and mirrored.

    The random numbers are PyTorch's, which the simulation seeds for each sample, so that both
    gradients of an update of mu^2 see the same images. The channels of a pixel lie side by side,
    which is what convolutions are fastest with.
    """

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        images = (pixels.float() / 255 - 0.47) / 0.25
        if not self.training:
            return images.contiguous(memory_format=torch.channels_last)
        count, _, height, width = images.shape
        padded = nn.functional.pad(images, (4, 4, 4, 4))
        top, left = torch.randint(0, 9, (2, count, 1), device=images.device)
        rows = top + torch.arange(height, device=images.device)
        columns = left + torch.arange(width, device=images.device)
        mirrored = torch.rand(count, 1, device=images.device) < 0.5
        columns = torch.where(mirrored, columns.flip(1), columns)
        sample = torch.arange(count, device=images.device).view(-1, 1, 1)
        moved = padded.permute(0, 2, 3, 1)[sample, rows.unsqueeze(2), columns.unsqueeze(1)]
        return moved.permute(0, 3, 1, 2)


class InBfloat16(nn.Module):
    """Layers in bfloat16; parameters, gradients and updates stay float32."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        with torch.autocast(pixels.device.type, torch.bfloat16):
            outputs: torch.Tensor = self.inner(pixels)
        return outputs.float()


class Block(nn.Module):
    """Two convolutions and a way around them (He et al. 2016)."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.convolution1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.convolution2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.around: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.around = nn.Sequential(shortcut, nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = torch.relu(self.norm1(self.convolution1(x)))
        return torch.relu(self.norm2(self.convolution2(inner)) + self.around(x))


def resnet18(width: int = 64, classes: int = 10) -> nn.Module:
    """11.2 million parameters at width 64; the first layer is that for small images."""
    first = [nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    layers: List[nn.Module] = [Augmentation(), *first]
    inputs = width
    for stage in range(4):
        outputs = width * 2**stage
        layers += [Block(inputs, outputs, 1 if stage == 0 else 2), Block(outputs, outputs, 1)]
        inputs = outputs
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes)]
    return nn.Sequential(*layers)


def read_batch(file: Path) -> Images:
    """One file of the binary version: a byte for the class, then 3 x 32 x 32 bytes, 10000 times."""
    records = np.fromfile(file, np.uint8).reshape(-1, 1 + 3 * 32 * 32)
    images = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).copy())
    return images, torch.from_numpy(records[:, 0].astype(np.int64))


def read_cifar10(folder: Path) -> Tuple[Images, Images]:
    batches = [read_batch(folder / f"data_batch_{number}.bin") for number in range(1, 6)]
    images, labels = zip(*batches)
    return (torch.cat(images), torch.cat(labels)), read_batch(folder / "test_batch.bin")


def random_images(count: int, seed: int) -> Images:
    random = torch.Generator().manual_seed(seed)
    images = torch.randint(0, 256, (count, 3, 32, 32), generator=random, dtype=torch.uint8)
    return images, torch.randint(0, 10, (count,), generator=random)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of CIFAR-10's binary version")
    parser.add_argument("--random-data", type=int, metavar="COUNT", help="noise instead of it")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--attack", default="sign-flip")
    parser.add_argument("--rule", default="ctma(gm, 0.4)")
    parser.add_argument("--weights", default="count", help='of the rows, such as "f-cap(1, 0.2)"')
    parser.add_argument("--optimizer", default="mu2")
    parser.add_argument("--beta", type=float, default=0.25, help="of mu2: weight of a new sample")
    parser.add_argument("--gamma", type=float, default=0.5, help="of mu2: share of a new iterate")
    parser.add_argument("--workers", type=int, default=17)
    parser.add_argument("--byzantine", type=int, default=8)
    parser.add_argument("--share", type=float, default=0.4, help="of the updates that are lies")
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--evaluate-every", type=int, default=0, help="0: at the end")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--eta", type=float, default=0.01)
    parser.add_argument("--decay-after", type=int, nargs="*", default=[], help="updates: eta / 10")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--width", type=int, default=64, help="of the first stage; 64: ResNet-18")
    parser.add_argument("--bfloat16", action="store_true", help="for the layers")
    options = parser.parse_args()
    if (options.data is None) == (options.random_data is None):
        parser.error("one of --data and --random-data is needed")
    return options


def make_simulation(
    options: argparse.Namespace, net: nn.Module, train: Images, test: Images, updates: int
) -> ballast.Simulation:
    return ballast.Simulation(
        net,
        None,  # cross-entropy
        train,
        test,
        workers=options.workers,
        byzantine=options.byzantine,
        share=options.share if options.byzantine else 0.0,
        attack=options.attack,
        rule=options.rule,
        weights=options.weights,
        optimizer=options.optimizer,
        beta=options.beta,
        gamma=options.gamma,
        updates=updates,
        evaluate_every=options.evaluate_every or updates,
        batch=options.batch,
        eta=options.eta,
        eta_decay_after=options.decay_after,
        seed=options.seed,
        device=options.device,
        classes=10,
    )


def main() -> None:
    options = arguments()
    if options.random_data is not None:
        train, test = random_images(options.random_data, 1), random_images(256, 2)
    else:
        train, test = read_cifar10(options.data)
    torch.manual_seed(options.seed)
    net = resnet18(options.width)
    if options.bfloat16:
        net = InBfloat16(net)
    if options.random_data is not None and options.device != "cpu":
        # PyTorch loads its kernels when they are first used, which is not what is to be measured.
        make_simulation(options, copy.deepcopy(net), train, test, 2 * options.workers).run()
    simulation = make_simulation(options, net, train, test, options.updates)
    history = simulation.run()
    parameters = sum(parameter.numel() for parameter in net.parameters())
    print(f"{parameters} parameters on {options.device}, {options.rule}, {options.attack}")
    for t, accuracy in zip(history["t"], history["test_accuracy"]):
        print(f"after {t} updates: accuracy {accuracy:.4f}")
    seconds = float(history["seconds"][-1])
    outside = 1 - history.gradient_seconds / seconds
    each = 1000 * seconds / int(history["t"][-1] or 1)
    print(f"{history.status}: {each:.2f} ms an update, {outside:.1%} of it outside gradients")
    stays = "stay on the device" if simulation.on_device else "pass through host memory"
    print(f"updates {stays}")


if __name__ == "__main__":
    main()
