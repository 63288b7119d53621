"""The runs whose results are pinned: groups of runs that share their data and their other keys.

A run is a name and the keys in which it differs from its group. The name is what golden.json knows
it by, so a key that is spelt differently one day is changed here and the results stay.
"""

# Nine workers, one liar that makes 0.4 of all updates: the paper's MNIST setting, cut short.
MNIST = {"batch": 8, "workers": 9, "byzantine": 1, "share": 0.4, "arrivals": "id",
         "attack": "sign-flip", "rule": "gm", "updates": 36, "evaluate_every": 18}
CIFAR10 = {**MNIST, "batch": 4, "updates": 24, "evaluate_every": 12}
SEVENTEEN = {"workers": 17, "byzantine": 8, "arrivals": "id^2"}
POINTS = {**MNIST, "updates": 60, "evaluate_every": 20, "eta": 0.05}
NOBODY_LIES = {"attack": "none", "byzantine": 0, "share": 0}

RULES = {
    "mean": "mean",
    "cwmed": "cwmed",
    "gm": "gm",
    "gm-coarse": "gm(tolerance=1e-3)",
    "gm-8-steps": "gm(iterations=8)",
    "gm-3-steps-from-zero": "gm(iterations=3, start=zero)",
    "cwtm": "cwtm(0.2)",
    "krum": "krum(0.3)",
    "multikrum": "multikrum(0.3)",
    "mda": "mda(0.3)",
    "ctma-gm": "ctma(gm, 0.4)",
    "ctma-cwmed": "ctma(cwmed, 0.4)",
    "nnm-gm": "nnm(gm, 0.4)",
    "nnm-cwmed": "nnm(cwmed, 0.3)",
    "nnm-ctma-gm": "nnm(ctma(gm, 0.4), 0.4)",
    "bucketing-gm": "bucketing(gm, 2)",
    "bucketing-cwmed": "bucketing(cwmed, 2)",
    "unweighted-gm": "unweighted(gm)",
}

ATTACKS = {
    "label-flip": {"attack": "label-flip"},
    "little": {"attack": "little"},
    "empire": {"attack": "empire"},
    "empire-large": {"attack": "empire(1.5)"},
    "gaussian": {"attack": "gaussian(0.5)"},
    "zero": {"attack": "zero"},
    "scaled": {"attack": "scaled(-4)"},
    "mimic": {"attack": "mimic(2)"},
    "nobody-lies": NOBODY_LIES,
}

OPTIMIZERS = {
    "beta-1-k": {"beta": "1/k"},
    "alpha-t": {"alpha": "t"},
    "alpha-t-beta-1-k": {"alpha": "t", "beta": "1/k", "eta": 0.001},
    "momentum": {"optimizer": "momentum"},
    "momentum-half": {"optimizer": "momentum", "momentum": 0.5},
    "sgd": {"optimizer": "sgd"},
    "decay": {"eta_decay_after": [10, 20], "eta_decay_factor": 0.5},
    "box": {"projection": "box", "box_low": -0.05, "box_high": 0.05},
    "ball": {"projection": "ball", "ball_radius": 3.0},
}

ARRIVALS = {
    "uniform": {"arrivals": "uniform"},
    "id2": {"arrivals": "id^2"},
    "round-robin": {"arrivals": "round-robin"},
    "burst": {"arrivals": "burst(4)"},
    "trace": {"arrivals": "trace", "trace": "trace.txt"},
    "time-constant": {"clock": "virtual", "compute_time": "constant"},
    "time-exponential": {"clock": "virtual", "compute_time": "exponential"},
    "time-lognormal": {"clock": "virtual", "compute_time": "lognormal", "arrivals": "uniform"},
    "reply-newest": {"reply": "newest"},
    "staleness-max": {"staleness_max": 12},
    "even": {"partition": "even"},
    "dirichlet": {"partition": "dirichlet", "dirichlet_alpha": 0.5},
}

WEIGHTS = {
    "weights-uniform": {"weights": "uniform"},
    "f-cap": {"weights": "f-cap(1, 0.2)", "rule": "ctma(gm, 0.4)"},
    "f-cap-many": {**SEVENTEEN, "weights": "f-cap(8, 0.48)", "share": 0.3},
    "seventeen": {**SEVENTEEN, "rule": "ctma(cwmed, 0.4)"},
    "seventeen-momentum": {**SEVENTEEN, "optimizer": "momentum", "rule": "cwmed"},
}

PAST = {
    "past": {"method": "table(past=7)"},
    "past-little": {**SEVENTEEN, "attack": "little", "method": "table(past=5)",
                    "weights": "f-cap(1, 0.2)", "rule": "distinct(ctma(gm, 0.4))"},
}

CIFAR10_RUNS = {
    "gm": {},
    "cwmed": {"rule": "cwmed"},
    "ctma-gm": {"rule": "ctma(gm, 0.4)"},
    "f-cap": {"weights": "f-cap(1, 0.2)", "rule": "ctma(gm, 0.4)"},
    "momentum": {"optimizer": "momentum", "rule": "cwmed"},
    "sgd": {"optimizer": "sgd", "rule": "mean"},
    "label-flip": {**SEVENTEEN, "attack": "label-flip", "share": 0.3},
    "little": {"attack": "little", "share": 0.1, "byzantine": 3},
    "empire": {"attack": "empire", "weights": "uniform"},
    "plain-images": {"augment": False},
    "time": {"clock": "virtual", "compute_time": "exponential"},
    "even": {"partition": "even", "rule": "nnm(gm, 0.4)"},
}


def rules():
    return {f"rule-{name}": {"rule": text} for name, text in RULES.items()}


# Without these data sets a group cannot be run; the others make their own data.
FULL = {
    "mnist": {"keys": {**MNIST, "data": "mnist"},
              "runs": {**rules(), **ATTACKS, **OPTIMIZERS, **ARRIVALS, **WEIGHTS}},
    "cifar10": {"keys": {**CIFAR10, "data": "cifar10"}, "runs": CIFAR10_RUNS},
}

SMALL = {
    "digits": {
        "keys": {**MNIST, "model": "mnist-cnn", "updates": 20, "evaluate_every": 10},
        "runs": {
            "gm": {},
            "ctma-cwmed": {"rule": "ctma(cwmed, 0.4)", "attack": "label-flip"},
            "f-cap-little": {**WEIGHTS["f-cap"], "attack": "little"},
        }},
    "photos": {
        "keys": {**CIFAR10, "model": "cifar10-cnn", "updates": 16, "evaluate_every": 8},
        "runs": {"gm": {}, "cwmed-momentum": CIFAR10_RUNS["momentum"]},
    },
    "points": {
        "keys": {**POINTS, "model": "softmax"},
        "runs": {**rules(), **ATTACKS, **OPTIMIZERS, **ARRIVALS, **WEIGHTS, **PAST,
                 "mlp": {"model": "mlp", "hidden": 12, "rule": "nnm(cwmed, 0.3)"}},
    },
}
