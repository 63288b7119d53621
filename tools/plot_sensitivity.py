#!/usr/bin/env python3
"""Draws what `ballast train` found with experiments/sensitivity.toml or sensitivity-cap.toml as an
SVG: for each attack the accuracy against what the rule, or the cap, was told, one line for each
truth, with the standard deviation over the seeds.

Usage: build/bin/ballast train experiments/sensitivity.toml --out results/sensitivity
       tools/plot_sensitivity.py results/sensitivity docs/images/sensitivity.svg
"""

import collections
import csv
import re
import statistics
import sys
from pathlib import Path

LOWEST = 86  # per cent; one accuracy without a cap lies far below all others
COLOURS = ["#2a78d6", "#0f8a6a", "#8a4fc9", "#c2570c"]


def told_share(row):
    """The share that the rule is told, and the true one."""
    return float(re.search(r"gm, ([\d.]+)", row["rule"]).group(1)), f"{row['share']} is true"


def told_count(row):
    """What the weights are told, in words, and how many lie."""
    return row["run"].partition("_")[0].replace("-", " "), f"{row['byzantine']} lie"


def accuracies(folder):
    """{(attack, truth): {told: [per cent of each seed]}}, at the last test; and the x axis."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    with open(Path(folder) / "metrics.csv", encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        is_of_cap = "weights" in rows.fieldnames
        for row in rows:
            told, truth = (told_count if is_of_cap else told_share)(row)
            # Tests come in the order of time: the last one stays.
            found[row["attack"], truth][told][row["seed"]] = 100 * float(row["test_accuracy"])
    label = "what the cap is told" if is_of_cap else "share that the rule is told"
    return {key: {told: list(seeds.values()) for told, seeds in curve.items()}
            for key, curve in found.items()}, label


def draw(found, label, path):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "sensitivity"
    from matplotlib import pyplot
    attacks = [attack for attack in dict.fromkeys(key[0] for key in found) if attack != "none"]
    figure, axes = pyplot.subplots(1, len(attacks), sharey=True, figsize=(11, 3.4))
    for axis, attack in zip(axes, attacks):
        curves = [(truth, curve) for (other, truth), curve in found.items() if other == attack]
        for colour, (truth, curve) in zip(COLOURS, curves):
            means = [statistics.mean(values) for values in curve.values()]
            spreads = [statistics.stdev(values) for values in curve.values()]
            axis.errorbar(list(curve), means, spreads, color=colour, marker="o", markersize=4,
                          capsize=2, label=truth)
        axis.set_title(attack)
        axis.set_xlabel(label)
        if isinstance(next(iter(curve)), str):
            axis.set_ylim(LOWEST, 99)
            axis.set_xticks(range(len(curve)), list(curve), rotation=30, ha="right")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("test accuracy, %")
    axes[0].legend(loc="lower right", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    folder, path = sys.argv[1:]
    found, label = accuracies(folder)
    draw(found, label, path)


if __name__ == "__main__":
    main()
