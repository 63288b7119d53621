"""The rules, spelled out in float64: slow, and plain enough to be right at a glance."""

import numpy as np


def mean(rows, weights):
    return weights @ rows / weights.sum()


def cwmed(rows, weights):
    """Where the cumulative weight first exceeds half; on a tie the mean of the two neighbours."""
    result = np.empty(rows.shape[1])
    for j, column in enumerate(rows.T):
        order = np.argsort(column, kind="stable")
        below = 0
        for place, row in enumerate(order):
            below += weights[row]
            if 2 * below > weights.sum():
                result[j] = column[row]
                break
            if 2 * below == weights.sum():
                result[j] = (column[row] + column[order[place + 1]]) / 2
                break
    return result


def gm(rows, weights):
    """Weiszfeld's iteration until it stands still. The rows must not hold the median itself."""
    point = mean(rows, weights)
    for _ in range(20000):
        pulls = weights / np.linalg.norm(rows - point, axis=1)
        following = pulls @ rows / pulls.sum()
        if np.array_equal(following, point):
            break
        point = following
    return point


def ctma(base, rows, weights, trimmed_share):
    """Algorithm 1 of Dahan and Levy (2024): the result, and the kept fraction of each row."""
    anchor = base(rows, weights)
    threshold = (1 - trimmed_share) * weights.sum()
    kept = np.zeros(len(rows))
    taken = 0
    for row in np.argsort(np.linalg.norm(rows - anchor, axis=1), kind="stable"):
        kept[row] = np.clip((threshold - taken) / weights[row], 0, 1)
        taken += weights[row]
    return mean(rows, kept * weights), kept
