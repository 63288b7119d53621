#!/usr/bin/env python3
"""Draws what `ballast train experiments/sensitivity.toml` found as an SVG: for each attack the
accuracy against the share that the rule was told, one line for each share that was true, with the
standard deviation over the seeds.

Usage: build/bin/ballast train experiments/sensitivity.toml --out results/sensitivity
       tools/plot_sensitivity.py results/sensitivity docs/images/sensitivity.svg
"""

import collections
import csv
import re
import statistics
import sys
from pathlib import Path

COLOURS = {"0.1": "#2a78d6", "0.2": "#0f8a6a", "0.3": "#8a4fc9", "0.4": "#c2570c"}


def accuracies(folder):
    """{(attack, true share): {told share: [per cent of each seed]}}, at the last test."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    with open(Path(folder) / "metrics.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            told = float(re.search(r"gm, ([\d.]+)", row["rule"]).group(1))
            accuracy = 100 * float(row["test_accuracy"])
            # Tests come in the order of time: the last one stays.
            found[row["attack"], row["share"]][told][row["seed"]] = accuracy
    return {key: {told: list(seeds.values()) for told, seeds in sorted(curve.items())}
            for key, curve in found.items()}


def draw(found, path):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "sensitivity"
    from matplotlib import pyplot
    attacks = [attack for attack in dict.fromkeys(key[0] for key in found) if attack != "none"]
    figure, axes = pyplot.subplots(1, len(attacks), sharey=True, figsize=(11, 3.4))
    for axis, attack in zip(axes, attacks):
        for (other, share), curve in found.items():
            if other != attack:
                continue
            means = [statistics.mean(values) for values in curve.values()]
            spreads = [statistics.stdev(values) for values in curve.values()]
            axis.errorbar(list(curve), means, spreads, color=COLOURS[share], marker="o",
                          markersize=4, capsize=2, label=f"{share} is true")
        axis.set_title(attack)
        axis.set_xlabel("share that the rule is told")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("test accuracy, %")
    axes[0].legend(loc="lower right", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    folder, path = sys.argv[1:]
    draw(accuracies(folder), path)


if __name__ == "__main__":
    main()
