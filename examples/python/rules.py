"""Rules on arrays: five workers, one of which lies."""

import numpy as np

import ballast

# %% Ten honest gradients near (1, 1, ..., 1), and one that points the other way, loudly.
rng = np.random.default_rng(1)
rows = (1 + 0.3 * rng.standard_normal((11, 1000))).astype(np.float32)
rows[10] *= -50

# %% The mean follows the liar; a robust rule does not.
for rule in ("mean", "cwmed", "gm", "ctma(gm, 0.2)", "nnm(cwtm(0.2), 0.2)"):
    result = ballast.aggregate(rule, rows)
    print(f"{rule:22} mean value {result.mean():6.2f}")

# %% In asynchronous training a fast liar is heard more often: weigh rows by counts of updates, and
# defend against a share of the updates, not of the workers.
counts = [3] * 10 + [20]
direction, report = ballast.aggregate("ctma(gm, 0.4)", rows, counts, return_report=True)
print("kept of each row's weight:", [round(kept, 2) for kept in report.kept])

# %% A server replaces one row at a time; the table remembers what the rule needs.
table = ballast.Table(dim=1000, workers=11, rule="ctma(gm, 0.4)")
for worker, row in enumerate(rows):
    table.put(worker, row)
table.put(0, rows[0] * 1.1)
print("after 12 updates:", table.aggregate()[:3], table.counts)

# %% What else there is.
print(*ballast.rules(), sep="\n")
