#!/usr/bin/env python3
"""Draws what `ballast bench --json` printed as an SVG: one line per rule, one mark per mode, the
time over one streaming read of the table on a logarithmic axis, and the numbers beside it.

Usage: build/bin/ballast bench --json >docs/images/bench.jsonl
       tools/plot_bench.py docs/images/bench.jsonl docs/images/bench.svg
"""

import json
import math
import sys
from xml.sax.saxutils import escape

MODES = {  # mode -> what it means
    "full": "all rows new",
    "noisy": "one row = 0.75 old + 0.66 noise",
    "settled": "one row = old + 0.01 noise",
}
WIDTH, MARGIN = 760, 20
AXIS_LEFT, AXIS_RIGHT = 160, 540  # of the marks; the numbers stand to the right
COLUMNS = {"full": 610, "noisy": 675, "settled": 740}  # right ends of the columns of numbers
TOP, ROW = 124, 30
OFFSETS = {"full": -7, "noisy": 0, "settled": 7}  # so that equal ratios do not hide each other

# Colours of the surface, the text and the marks, for light and for dark pages.
STYLE = """
  svg { font: 13px system-ui, sans-serif; }
  .surface { fill: #fcfcfb; } .ink { fill: #1d1d1b; } .soft { fill: #5b5a55; }
  .grid { stroke: #e3e2dd; } .one { stroke: #5b5a55; stroke-dasharray: 4 3; }
  .full { fill: #2a78d6; } .noisy { fill: #c2570c; } .settled { fill: #0f8a6a; }
  .title { font-size: 16px; font-weight: 600; } .number { font-variant-numeric: tabular-nums; }
  .right { text-anchor: end; } .middle { text-anchor: middle; }
  @media (prefers-color-scheme: dark) {
    .surface { fill: #1a1a19; } .ink { fill: #f0efea; } .soft { fill: #b5b3ab; }
    .grid { stroke: #33332f; } .one { stroke: #b5b3ab; }
    .full { fill: #5a9ff0; } .noisy { fill: #ee8a45; } .settled { fill: #35bd96; }
  }
"""


def text(x, y, words, classes="ink"):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}">{escape(words)}</text>'


def line(x1, y1, x2, y2, classes):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{classes}"/>'


def mark(mode, x, y):
    """Each mode has its own shape as well as its own colour."""
    shapes = {
        "full": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"',
        "noisy": f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"',
        "settled": f'<path d="M{x:.1f} {y - 5.5:.1f} l5.5 5.5 l-5.5 5.5 l-5.5 -5.5 z"',
    }
    return f'{shapes[mode]} class="{mode}"/>'


def ticks_over(ratios):
    """Numbers 1, 2 and 5 times a power of ten that enclose all ratios."""
    steps = [digit * 10.0**power for power in range(-3, 5) for digit in (1, 2, 5)]
    low = max(step for step in steps if step <= min(ratios))
    high = min(step for step in steps if step >= max(ratios))
    return [step for step in steps if low <= step <= high]


def draw(results):
    rules = list(dict.fromkeys(result["rule"] for result in results))
    ticks = ticks_over([result["ratio"] for result in results] + [1.0])
    bottom = TOP + ROW * len(rules)

    def x_of(ratio):
        share = math.log(ratio / ticks[0]) / math.log(ticks[-1] / ticks[0])
        return AXIS_LEFT + share * (AXIS_RIGHT - AXIS_LEFT)

    yield from head(results[0], bottom)
    for tick in ticks:
        yield line(x_of(tick), TOP - 8, x_of(tick), bottom - 8, "one" if tick == 1.0 else "grid")
        yield text(x_of(tick), bottom + 10, f"{tick:g}", "soft middle")
    yield text((AXIS_LEFT + AXIS_RIGHT) / 2, bottom + 30,
               "time / one streaming read of the table (logarithmic; left is faster)",
               "soft middle")
    for number, rule in enumerate(rules):
        y = TOP + ROW * (number + 0.5) - 8
        yield line(AXIS_LEFT, y, AXIS_RIGHT, y, "grid")
        yield text(MARGIN, y + 4.5, rule)
        for result in results:
            if result["rule"] == rule:
                yield mark(result["mode"], x_of(result["ratio"]), y + OFFSETS[result["mode"]])
                yield text(COLUMNS[result["mode"]], y + 4.5, f"{result['ratio']:.2f}",
                           "ink number right")
    yield "</svg>"


def head(result, bottom):
    height = bottom + 46
    threads = result["threads"]
    size = f"{result['rows']} rows x {result['dim']:,} values, " \
           f"{threads} thread{'' if threads == 1 else 's'}"
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
           f'width="{WIDTH}" height="{height}" role="img" '
           f'aria-label="Cost of each aggregation rule, {escape(size)}">')
    yield f"<style>{STYLE}</style>"
    yield f'<rect width="{WIDTH}" height="{height}" rx="6" class="surface"/>'
    yield text(MARGIN, 32, "What an aggregation costs, in reads of the table", "ink title")
    yield text(MARGIN, 54, size, "soft")
    x = MARGIN
    for mode, meaning in MODES.items():
        yield mark(mode, x + 6, 78)
        yield text(x + 18, 82, f"{mode}: {meaning}", "soft")
        x += 40 + 6.6 * len(f"{mode}: {meaning}")
        yield text(COLUMNS[mode], TOP - 16, mode, "soft right")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="ascii") as file:
        results = [json.loads(entry) for entry in file if entry.strip()]
    if not results:
        sys.exit(f"{sys.argv[1]}: holds no results; make it with 'ballast bench --json'")
    with open(sys.argv[2], "w", encoding="ascii") as file:
        file.write("\n".join(draw(results)) + "\n")


if __name__ == "__main__":
    main()
