"""Draws what a rule did against updates: one column of pictures per panel text, one row per
measure, the mean over the seeds of each curve. Carried inside the program, see plot_why.cc.

Usage: plot_why.py DATA.json STEM

Writes STEM.png and STEM.svg; the same data gives the same bytes.
"""

import json
import math
import sys

from plot_style import look, plain  # first: it chooses the backend
from matplotlib import pyplot, ticker

MARKS_PER_CURVE = 6
CELL_INCHES = (3.6, 2.0)
LEGEND_CHARACTERS_PER_INCH = 15


def numbers(values):
    return [math.nan if value is None else value for value in values]


def styles_of(panels):
    """Each label has one look in all pictures."""
    labels = dict.fromkeys(curve["label"] for panel in panels for curve in panel["curves"])
    return {label: look(i) for i, label in enumerate(labels)}


def draw_cell(axes, panel, measure, styles, handles):
    for curve in panel["curves"]:
        label, t = curve["label"], curve["t"]
        every = max(1, len(t) // MARKS_PER_CURVE)
        place = 2 * list(styles).index(label)
        handles[label], = axes.plot(t, numbers(curve["means"][measure]), **styles[label],
                                    markevery=(place % every, every))
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(ticker.MaxNLocator(5, integer=True, steps=[1, 2, 2.5, 5, 10]))


def legend_size(labels, figure_width):
    """Columns, and the height in inches; a single curve without a name needs no legend."""
    if not any(labels):
        return 0, 0.0
    longest = max(map(len, labels)) + 6
    columns = max(1, min(len(labels), int(LEGEND_CHARACTERS_PER_INCH * figure_width / longest)))
    return columns, 0.1 + 0.19 * math.ceil(len(labels) / columns)


def draw(data):
    panels, measures = data["panels"], data["measures"]
    styles, handles = styles_of(panels), {}
    width = CELL_INCHES[0] * len(panels) + 0.4
    legend_columns, legend_inches = legend_size(styles, width)
    height = CELL_INCHES[1] * len(measures) + legend_inches + 0.6
    figure, grid = pyplot.subplots(len(measures), len(panels), squeeze=False, sharex="col",
                                   figsize=(width, height))
    for row, measure in zip(grid, measures):
        for axes, panel in zip(row, panels):
            draw_cell(axes, panel, measure["name"], styles, handles)
        row[0].set_ylabel(measure["label"])
    for axes, panel in zip(grid[0], panels):
        axes.set_title(plain(panel["title"]))
    for axes in grid[-1]:
        axes.set_xlabel("updates t")
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
    figure.savefig(sys.argv[2] + ".png", dpi=160, metadata={"Software": None})
    figure.savefig(sys.argv[2] + ".svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
