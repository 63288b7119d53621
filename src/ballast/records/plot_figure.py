"""Draws one figure of curves y against x, on logarithmic axes where asked for. Carried inside the
program, see figure.cc.

Usage: plot_figure.py DATA.json STEM

Writes STEM.png and STEM.svg; the same data gives the same bytes.
"""

import json
import math
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("it has no matplotlib")

matplotlib.use("Agg")  # no display
from matplotlib import pyplot  # noqa: E402  (after the choice of the backend)

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart; dashes and
# marks tell the curves apart in grey as well.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
DASHES = ["-", "--", "-.", ":"]
MARKS = ["o", "s", "^", "D", "v", "P", "X", "*"]
REFERENCE = {"color": "#777777", "linewidth": 1.0}
FIGURE_INCHES = (6.4, 4.2)
LEGEND_ENTRIES_INSIDE = 5

matplotlib.rcParams.update({
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.titlesize": 10,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.5,
    "lines.markersize": 4,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.hashsalt": "ballast",
    "svg.fonttype": "path",
})


def plain(text):
    """Dollar signs would begin a formula."""
    return text.replace("$", r"\$")


def points(curve, has_log_axes):
    """The points that can be drawn."""
    def is_drawable(value):
        return value is not None and math.isfinite(value) and (value > 0 or not has_log_axes)

    pairs = [(x, y) for x, y in zip(curve["x"], curve["y"]) if is_drawable(x) and is_drawable(y)]
    return [x for x, _ in pairs], [y for _, y in pairs]


def style_of(curve, place):
    if curve["is_reference"]:
        return dict(REFERENCE, linestyle=DASHES[place % len(DASHES)])
    return {"color": COLOURS[place % len(COLOURS)],
            "linestyle": DASHES[place // len(COLOURS) % len(DASHES)],
            "marker": MARKS[place % len(MARKS)]}


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
