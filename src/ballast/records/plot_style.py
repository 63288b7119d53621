"""What every picture shares: colours, lines, letters. Carried inside the program beside the scripts
that import it, see drawing.cc.
"""

import sys

try:
    import matplotlib
except ImportError:
    sys.exit("it has no matplotlib")

matplotlib.use("Agg")  # no display

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart; dashes and
# marks tell the curves apart in grey as well.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
DASHES = ["-", "--", "-.", ":"]
MARKS = ["o", "s", "^", "D", "v", "P", "X", "*"]

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
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    "legend.frameon": False,
    "svg.hashsalt": "ballast",
    "svg.fonttype": "path",
})


def plain(text):
    """Dollar signs would begin a formula."""
    return text.replace("$", r"\$")


def look(place):
    """The line of the curve at that place of the legend."""
    return {"color": COLOURS[place % len(COLOURS)],
            "linestyle": DASHES[place // len(COLOURS) % len(DASHES)],
            "marker": MARKS[place % len(MARKS)]}
