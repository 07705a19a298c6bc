"""Tried as a new user who comes from Awkward: a mass peak, fitted with gradients.

In an empty environment with `pip install . awkward`, by docs/from/awkward.md, docs/how_to/rows.md
and docs/gradients.md alone.

Stumbles, and what was changed:
    events.pt has no remedy in its message         it says rows["pt"]
    fw.histogram(x, 10) is not NumPy's             the message says what to write
    np.log(4.0) next to floats compiled twice      docs/how_to/slow.md has the cause
    no page starts with collisions                 docs/how_to/jets.md
"""

import awkward as ak
import numpy as np

import flatweave as fw

rng = np.random.default_rng(1)
mass, angle = rng.normal(91.2, 2.5, 500), rng.uniform(-3, 0, 500)
signal = ak.zip({"pt": np.stack([mass, mass]).T / 2, "eta": np.zeros((500, 2)),
                 "phi": np.stack([angle, angle + np.pi]).T})  # fmt: skip
counts = rng.poisson(2.0, 1500)
n = counts.sum()
others = ak.unflatten(ak.zip({"pt": 10 + rng.exponential(20, n), "eta": rng.normal(0, 1, n),
                              "phi": rng.uniform(-np.pi, np.pi, n)}), counts)  # fmt: skip
muons = fw.ragged(ak.concatenate([ak.from_regular(signal), others]))


@fw.jit
def masses(muons):
    """Of all pairs of each collision."""
    a, b = muons.combinations(2)
    turn = fw.cosh(a["eta"] - b["eta"]) - fw.cos(a["phi"] - b["phi"])
    return fw.sqrt(2 * a["pt"] * b["pt"] * turn).flatten()


def loss(fit, m):
    """The negative log-likelihood of a peak on a flat background from 70 to 110."""
    width, part = fw.exp(fit["log_width"]), 1 / (1 + fw.exp(-fit["logit"]))
    peak = fw.exp(-0.5 * ((m - fit["mean"]) / width) ** 2) / (width * np.sqrt(2 * np.pi))
    return -fw.mean(fw.log(part * peak + (1 - part) / 40))


m = masses(muons)
m = m[(m > 70) & (m < 110)]
step = fw.jit(fw.value_and_grad(loss))
fit = {"mean": 88.0, "log_width": 1.4, "logit": 0.0}
rates = {"mean": 5.0, "log_width": 0.5, "logit": 1.0}
for _ in range(120):
    value, slope = step(fit, m)
    fit = {name: float(fit[name] - rates[name] * slope[name]) for name in fit}

print(f"{len(muons)} collisions, {m.shape[0]} pairs between 70 and 110")
print(f"peak at {fit['mean']:.2f}, width {np.exp(fit['log_width']):.2f}")
fw.check_grads(lambda mean: loss({**fit, "mean": mean}, m), (fit["mean"],), order=1)
print("gradients agree with differences; compilations:", step.traces)
