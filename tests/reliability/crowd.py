"""Nine workers of whom two lie, on the points of process.py or on the paper's MNIST model."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import CLOUDS

WORKERS, LIARS = 9, 2
LAMBDA = 0.3
CAP = f"f-cap({LIARS}, {LAMBDA})"
CROWD = f"""
workers = {WORKERS}
byzantine = {LIARS}
attack = "sign-flip"
rule = "ctma(cwmed, {LAMBDA})"
weights = "{CAP}"
"""
SMALL = CLOUDS + CROWD
MNIST = CROWD + """
updates = 3000
seeds = [1]
"""
