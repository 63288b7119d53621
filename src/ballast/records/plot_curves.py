"""Draws test accuracy against updates: one panel per panel text, the mean over the seeds of each
curve with a band of one standard deviation. Carried inside the program, see plot.cc.

Usage: plot_curves.py DATA.json STEM

Writes STEM.png and STEM.svg; the same data gives the same bytes.
"""

import json
import math
import sys

from plot_style import look, plain  # first: it chooses the backend
from matplotlib import pyplot, ticker

MARKS_PER_CURVE = 8
PANEL_INCHES = (3.9, 3.0)
ONLY_PANEL_INCHES = (5.8, 3.8)
LEGEND_CHARACTERS_PER_INCH = 15


def numbers(values):
    return [math.nan if value is None else value for value in values]


def styles_of(panels):
    """Each label has one look in all panels."""
    labels = dict.fromkeys(curve["label"] for panel in panels for curve in panel["curves"])
    return {label: look(i) for i, label in enumerate(labels)}


def draw_curve(axes, curve, style, place):
    t, mean, deviation = (numbers(curve[key]) for key in ("t", "mean", "deviation"))
    every = max(1, len(t) // MARKS_PER_CURVE)
    line, = axes.plot(t, mean, **style, markevery=(place % every, every), zorder=3)
    if any(value > 0 for value in deviation):
        low = [m - d for m, d in zip(mean, deviation)]
        high = [m + d for m, d in zip(mean, deviation)]
        axes.fill_between(t, low, high, color=style["color"], alpha=0.18, linewidth=0, zorder=2)
    return line


def draw_panel(axes, panel, styles, handles):
    for curve in panel["curves"]:
        label = curve["label"]
        place = 2 * list(styles).index(label)  # marks of equal curves do not hide each other
        handles[label] = draw_curve(axes, curve, styles[label], place)
    axes.set_title(plain(panel["title"]))
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, 0.0), min(high, 100.5))
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(ticker.MaxNLocator(5, integer=True, steps=[1, 2, 2.5, 5, 10]))


def column_count(panel_count):
    return {1: 1, 2: 2, 4: 2}.get(panel_count, 3 if panel_count <= 6 else 4)


def legend_size(labels, figure_width):
    """Columns, and the height in inches; a single curve without a name needs no legend."""
    if not any(labels):
        return 0, 0.0
    longest = max(map(len, labels)) + 6  # with the piece of line before it
    columns = int(LEGEND_CHARACTERS_PER_INCH * figure_width / longest)
    columns = max(1, min(len(labels), columns))
    return columns, 0.1 + 0.19 * math.ceil(len(labels) / columns)


def label_axes(grid, panel_count):
    """Names the axes at the left and at the bottom, and hides those without a panel."""
    for axes in grid.flat[panel_count:]:
        axes.set_visible(False)
    for axes in grid[:, 0]:
        axes.set_ylabel("test accuracy (%)")
    columns = grid.shape[1]
    for column in range(columns):
        grid[(panel_count - 1 - column) // columns, column].set_xlabel("updates t")


def draw(data):
    panels = data["panels"]
    columns = column_count(len(panels))
    rows = math.ceil(len(panels) / columns)
    panel_inches = PANEL_INCHES if len(panels) > 1 else ONLY_PANEL_INCHES
    styles, handles = styles_of(panels), {}
    width = columns * panel_inches[0]
    legend_columns, legend_inches = legend_size(styles, width)
    height = rows * panel_inches[1] + legend_inches + (0.35 if data["title"] else 0.0)
    figure, grid = pyplot.subplots(rows, columns, squeeze=False, figsize=(width, height))
    for axes, panel in zip(grid.flat, panels):
        draw_panel(axes, panel, styles, handles)
    label_axes(grid, len(panels))
    if data["title"]:
        figure.suptitle(plain(data["title"]), fontsize=11, fontweight="bold")
    if legend_columns:
        figure.legend([handles[label] for label in styles], [plain(label) for label in styles],
                      loc="lower center", ncol=legend_columns, handlelength=3.2)
    figure.tight_layout(rect=(0, legend_inches / height, 1, 1))
    return figure


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        figure = draw(json.load(file))
    figure.savefig(sys.argv[2] + ".png", dpi=200, metadata={"Software": None})
    figure.savefig(sys.argv[2] + ".svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
