"""Data for runs that need no download: the same bytes on every machine and with every NumPy.

Whole numbers come from a hash of their place, and everything else from them by steps that are exact
in floating point.
"""

import numpy as np


def hashed(count, seed):
    """count whole numbers below 2^32: SplitMix64 of the place."""
    with np.errstate(over="ignore"):
        value = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        value += np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        value ^= value >> np.uint64(31)
    return (value >> np.uint64(32)).astype(np.int64)


def images(classes, shape, count, seed):
    """Pixels: half the pattern of the class, half noise."""
    labels = hashed(count, seed) % classes
    size = int(np.prod(shape))
    patterns = hashed(classes * size, 1).reshape(classes, size) % 128
    noise = hashed(count * size, seed + 1).reshape(count, size) % 128
    return (patterns[labels] + noise).astype(np.uint8).reshape(count, *shape), labels


def points(classes, features, count, seed):
    """Multiples of 1/64 around the corners of a simplex."""
    labels = hashed(count, seed) % classes
    noise = hashed(count * features, seed + 1).reshape(count, features) % 128 - 64
    return ((np.eye(classes, features)[labels] * 128 + noise) / 64).astype(np.float32), labels


MAKERS = {
    "digits": lambda count, seed: images(10, (1, 28, 28), count, seed),
    "photos": lambda count, seed: images(10, (3, 32, 32), count, seed),
    "points": lambda count, seed: points(3, 5, count, seed),
}


def write(group, folder):
    """The four arrays of a group; returns the keys that name them."""
    keys = {"data": "files"}
    for split, count, seed in (("train", 300, 10), ("test", 100, 20)):
        values, labels = MAKERS[group](count, seed)
        for kind, array in (("images", values), ("labels", labels)):
            keys[f"{split}_{kind}"] = f"{group}_{split}_{kind}.npy"
            np.save(folder / keys[f"{split}_{kind}"], array)
    return keys


def write_trace(path, workers, length):
    """Who sends: every worker once, then as the hash has it, the last one often."""
    later = hashed(length, 30) % (2 * workers)
    names = [*range(workers), *(min(int(name), workers - 1) for name in later)]
    path.write_text("".join(f"{name}\n" for name in names))
