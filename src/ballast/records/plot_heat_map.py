"""Draws heat maps, one below the other, with the number in each cell. Carried inside the program,
see heat_map.cc.

Usage: plot_heat_map.py DATA.json STEM

Writes STEM.png and STEM.svg; the same data gives the same bytes.
"""

import json
import sys

from plot_style import plain  # first: it chooses the backend
from matplotlib import colormaps, pyplot, rcParams

CELL_INCHES = (0.62, 0.26)
TITLE_INCHES = 1.1  # with the labels of the columns
COLOURS = "cividis"  # even in grey, and for every kind of colour vision
BLANK = "#DDDDDD"
DARK = 0.55  # below this part of the range numbers are white

rcParams.update({"axes.grid": False, "font.size": 8})


def number(value):
    return "\N{EN DASH}" if value is None else f"{value:.1f}"


def draw_map(axes, data, low, high):
    rows, columns = len(data["rows"]), len(data["columns"])
    colours = colormaps[COLOURS]
    for y, row in enumerate(data["values"]):
        for x, value in enumerate(row):
            part = 0.0 if value is None else min(max((value - low) / (high - low), 0.0), 1.0)
            axes.add_patch(pyplot.Rectangle(
                (x, y), 1, 1, facecolor=BLANK if value is None else colours(part),
                edgecolor="white", linewidth=0.8))
            is_dark = value is not None and part < DARK
            axes.text(x + 0.5, y + 0.5, number(value), ha="center", va="center", fontsize=7,
                      color="white" if is_dark else "black")
    apart = data["set_apart"]
    if 0 < apart < columns:
        axes.plot([columns - apart] * 2, [0, rows], color="black", linewidth=1.6)
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    axes.set_xticks([x + 0.5 for x in range(columns)])
    axes.set_xticklabels([plain(name) for name in data["columns"]], rotation=35, ha="left",
                         rotation_mode="anchor")
    axes.set_yticks([y + 0.5 for y in range(rows)])
    axes.set_yticklabels([plain(name) for name in data["rows"]])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_title(plain(data["title"]), loc="left", pad=6)


def draw(data):
    maps = data["maps"]
    width = CELL_INCHES[0] * max(len(one["columns"]) for one in maps)
    heights = [CELL_INCHES[1] * len(one["rows"]) for one in maps]
    total = sum(heights) + TITLE_INCHES * len(maps)
    figure = pyplot.figure(figsize=(width, total))
    top = total
    for one, height in zip(maps, heights):
        top -= TITLE_INCHES + height
        axes = figure.add_axes((0.0, top / total, len(one["columns"]) * CELL_INCHES[0] / width,
                                height / total))
        draw_map(axes, one, data["low"], data["high"])
    if data["title"]:
        figure.suptitle(plain(data["title"]), x=0.0, y=1.0, ha="left", va="bottom", fontsize=10)
    return figure


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        figure = draw(json.load(file))
    figure.savefig(sys.argv[2] + ".png", dpi=200, bbox_inches="tight", metadata={"Software": None})
    figure.savefig(sys.argv[2] + ".svg", bbox_inches="tight",
                   metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
