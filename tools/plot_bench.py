#!/usr/bin/env python3
"""Draws what `ballast bench --json` printed as an SVG: one line per rule, one mark per mode, the
time over one streaming read of the table on a logarithmic axis, and the numbers beside it. Of
`ballast bench --sweep --json`: the time against rows and against values, one line per rule and
mode, and the limit as a dashed line.

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
  .limit { stroke: #5b5a55; stroke-dasharray: 5 4; fill: none; }
  .rule0 { stroke: #2a78d6; } .rule1 { stroke: #c2570c; } .rule2 { stroke: #0f8a6a; }
  .rule3 { stroke: #8a4fc9; } .curve { fill: none; stroke-width: 2; }
  .noisy-curve { stroke-dasharray: 1 5; stroke-linecap: round; stroke-width: 2.5; }
  .full { fill: #2a78d6; } .noisy { fill: #c2570c; } .settled { fill: #0f8a6a; }
  .title { font-size: 16px; font-weight: 600; } .number { font-variant-numeric: tabular-nums; }
  .right { text-anchor: end; } .middle { text-anchor: middle; }
  @media (prefers-color-scheme: dark) {
    .surface { fill: #1a1a19; } .ink { fill: #f0efea; } .soft { fill: #b5b3ab; }
    .grid { stroke: #33332f; } .one, .limit { stroke: #b5b3ab; }
    .rule0 { stroke: #5a9ff0; } .rule1 { stroke: #ee8a45; } .rule2 { stroke: #35bd96; }
    .rule3 { stroke: #b48cf0; }
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


def canvas(height, label):
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
           f'width="{WIDTH}" height="{height}" role="img" aria-label="{label}">')
    yield f"<style>{STYLE}</style>"
    yield f'<rect width="{WIDTH}" height="{height}" rx="6" class="surface"/>'


def head(result, bottom):
    height = bottom + 46
    threads = result["threads"]
    size = f"{result['rows']} rows x {result['dim']:,} values, " \
           f"{threads} thread{'' if threads == 1 else 's'}"
    yield from canvas(height, f"Cost of each aggregation rule, {escape(size)}")
    yield text(MARGIN, 32, "What an aggregation costs, in reads of the table", "ink title")
    yield text(MARGIN, 54, size, "soft")
    x = MARGIN
    for mode, meaning in MODES.items():
        yield mark(mode, x + 6, 78)
        yield text(x + 18, 82, f"{mode}: {meaning}", "soft")
        x += 40 + 6.6 * len(f"{mode}: {meaning}")
        yield text(COLUMNS[mode], TOP - 16, mode, "soft right")


class Chart:
    """One logarithmic chart of times against what grows, rows or values."""

    LEFT, RIGHT, TOP, HEIGHT = 60, 560, 70, 260

    def __init__(self, results, axis, number):
        self.points = [result for result in results if result["sweep"] == axis]
        self.axis = "rows" if axis == "rows" else "dim"
        self.top = self.TOP + number * (self.HEIGHT + 70)
        self.sizes = sorted({point[self.axis] for point in self.points})
        times = [point[key] for point in self.points for key in ("ms", "limit_ms", "stream_ms")]
        self.low = 10.0 ** math.floor(math.log10(min(times)))
        self.high = 10.0 ** math.ceil(math.log10(max(times)))

    def x_of(self, size):
        span = math.log(self.sizes[-1] / self.sizes[0]) or 1.0
        return self.LEFT + math.log(size / self.sizes[0]) / span * (self.RIGHT - self.LEFT)

    def y_of(self, time):
        share = math.log(time / self.low) / math.log(self.high / self.low)
        return self.top + self.HEIGHT * (1.0 - share)

    def curve(self, points, key, classes):
        places = " ".join(f"{self.x_of(point[self.axis]):.1f},{self.y_of(point[key]):.1f}"
                          for point in sorted(points, key=lambda point: point[self.axis]))
        return f'<polyline points="{places}" class="{classes}"/>'

    def draw(self, rules):
        fixed = "dim" if self.axis == "rows" else "rows"
        title = f"{self.points[0][fixed]:,} {'values' if fixed == 'dim' else 'rows'}"
        grows = "rows" if self.axis == "rows" else "values"
        yield text(self.LEFT, self.top - 12, f"ms against {grows}, with {title}", "soft")
        time = self.low
        while time <= self.high * 1.001:
            yield line(self.LEFT, self.y_of(time), self.RIGHT, self.y_of(time), "grid")
            yield text(self.LEFT - 8, self.y_of(time) + 4, f"{time:g}", "soft right")
            time *= 10.0
        for size in self.sizes:
            yield text(self.x_of(size), self.top + self.HEIGHT + 18, short(size), "soft middle")
        for rule in rules:
            mine = [point for point in self.points if point["rule"] == rule]
            colour = f"rule{rules.index(rule) % 4}"
            for mode, kind in (("full", ""), ("noisy", " noisy-curve")):
                points = [point for point in mine if point["mode"] == mode]
                yield self.curve(points, "ms", f"curve {colour}{kind}")
                yield self.curve(points, "limit_ms", "limit")


def short(size):
    return f"{size / 1e6:g}M" if size >= 1e6 else f"{size / 1e3:g}k" if size >= 1e4 else f"{size}"


def draw_sweep(results):
    rules = list(dict.fromkeys(result["rule"] for result in results))
    axes = list(dict.fromkeys(result["sweep"] for result in results))
    height = Chart.TOP + len(axes) * (Chart.HEIGHT + 70)
    threads = results[0]["threads"]
    yield from canvas(height, "Time of aggregation rules against rows and values")
    yield text(MARGIN, 32, f"What an aggregation takes, {threads} "
               f"thread{'' if threads == 1 else 's'}", "ink title")
    for number, axis in enumerate(axes):
        yield from Chart(results, axis, number).draw(rules)
    y = Chart.TOP
    for number, rule in enumerate(rules):
        for kind, name in (("", f"{rule}, full"), (" noisy-curve", f"{rule}, noisy")):
            yield line(580, y, 604, y, f"curve rule{number % 4}{kind}")
            yield text(610, y + 4, name, "soft")
            y += 20
    yield line(580, y, 604, y, "limit")
    yield text(610, y + 4, "limit of the machine", "soft")
    yield "</svg>"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="ascii") as file:
        results = [json.loads(entry) for entry in file if entry.strip()]
    results = [result for result in results if "rule" in result]
    if not results:
        sys.exit(f"{sys.argv[1]}: holds no results; make it with 'ballast bench --json'")
    with open(sys.argv[2], "w", encoding="ascii") as file:
        drawing = draw_sweep(results) if "sweep" in results[0] else draw(results)
        file.write("\n".join(drawing) + "\n")


if __name__ == "__main__":
    main()
