"""A network of one's own in the simulation: 17 workers, 8 of them lie in 0.4 of the updates.

Usage: own_model.py [UPDATES]
"""

import sys

import torch

import ballast


def clouds(size: int, seed: int) -> "tuple[torch.Tensor, torch.Tensor]":
    """Points of four overlapping clouds in 20 dimensions."""
    random = torch.Generator().manual_seed(seed)
    centres = torch.randn(4, 20, generator=torch.Generator().manual_seed(0))
    labels = torch.randint(0, 4, (size,), generator=random)
    return centres[labels] + torch.randn(size, 20, generator=random), labels


def make_net() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(20, 64),
        torch.nn.BatchNorm1d(64),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.2),
        torch.nn.Linear(64, 4),
    )


updates = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
for rule in ("mean", "ctma(cwmed, 0.4)"):
    simulation = ballast.Simulation(
        make_net(),
        None,  # cross-entropy
        clouds(5000, 1),
        clouds(1000, 2),
        workers=17,
        byzantine=8,
        share=0.4,
        attack="sign-flip",
        arrivals="id",
        rule=rule,
        eta=0.05,
        updates=updates,
        evaluate_every=max(updates // 5, 1),
    )
    history = simulation.run()
    print(f"{rule:18}", " ".join(f"{accuracy:.3f}" for accuracy in history.test_accuracy))
