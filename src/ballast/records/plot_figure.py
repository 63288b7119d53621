"""Draws one figure of curves y against x, on logarithmic axes where asked for. Carried inside the
program, see figure.cc.

Usage: plot_figure.py DATA.json STEM

Writes STEM.png and STEM.svg; the same data gives the same bytes.
"""

import json
import math
import sys

from plot_style import DASHES, look, plain  # first: it chooses the backend
from matplotlib import pyplot, rcParams

REFERENCE = {"color": "#777777", "linewidth": 1.0}
FIGURE_INCHES = (6.4, 4.2)
LEGEND_ENTRIES_INSIDE = 5

rcParams.update({"lines.linewidth": 1.5, "legend.fontsize": 8})


def points(curve, has_log_axes):
    """The points that can be drawn."""
    def is_drawable(value):
        return value is not None and math.isfinite(value) and (value > 0 or not has_log_axes)

    pairs = [(x, y) for x, y in zip(curve["x"], curve["y"]) if is_drawable(x) and is_drawable(y)]
    return [x for x, _ in pairs], [y for _, y in pairs]


def style_of(curve, place):
    if curve["is_reference"]:
        return dict(REFERENCE, linestyle=DASHES[place % len(DASHES)])
    return look(place)


def draw(data):
    figure, axes = pyplot.subplots(figsize=FIGURE_INCHES)
    places = {True: 0, False: 0}  # by whether the curve is a reference
    for curve in data["curves"]:
        kind = curve["is_reference"]
        axes.plot(*points(curve, data["has_log_axes"]), label=plain(curve["label"]),
                  **style_of(curve, places[kind]))
        places[kind] += 1
    if data["has_log_axes"]:
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.set_title(plain(data["title"]))
    axes.set_xlabel(plain(data["x_label"]))
    axes.set_ylabel(plain(data["y_label"]))
    if len(data["curves"]) > LEGEND_ENTRIES_INSIDE:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    else:
        axes.legend()
    return figure


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        figure = draw(json.load(file))
    figure.savefig(sys.argv[2] + ".png", dpi=200, bbox_inches="tight", metadata={"Software": None})
    figure.savefig(sys.argv[2] + ".svg", bbox_inches="tight",
                   metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
