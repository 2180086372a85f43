"""How close `GDA("auto")` comes to the best of LDA, QDA and Gaussian naive Bayes.

`python -m benchmarks.forms` prints the log loss in five folds on data sets of scikit-learn and on
random ones: each model's own, and that of `GDA("auto")` beyond the best of the three.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from genus import GDA, GaussianNB, cross_validate

MODELS = {"LDA": GDA(), "QDA": GDA(False), "naive": GaussianNB(), "auto": GDA("auto")}
SIZES = ((60, 5, 2), (200, 10, 3), (1000, 10, 3), (100, 40, 2), (400, 40, 2))
KINDS = ("shared", "separate", "naive", "diagonal")
LOADED = ("iris", "wine", "breast_cancer", "digits")
FOLDS = 5

Array = NDArray[np.float64]
Rows = tuple[Array, NDArray[np.int64]]


def sets() -> Iterator[tuple[str, Rows]]:
    """Yield data sets by name."""
    for name in LOADED:
        yield name, getattr(datasets, f"load_{name}")(return_X_y=True)
    for kind in KINDS:
        for size in SIZES:
            yield f"{kind} {size[0]} × {size[1]}", drawn(kind, *size)
    options = {"n_informative": 8, "n_classes": 3, "random_state": 0}
    yield "make_classification", datasets.make_classification(300, 20, **options)
    X, y = datasets.load_digits(return_X_y=True)
    few = np.random.default_rng(0).permutation(len(y))[:300]
    yield "digits, 300 rows", (X[few], y[few])


def drawn(kind: str, m: int, n: int, K: int) -> Rows:
    """Return rows of normal classes, whose columns have very different units."""
    rng = np.random.default_rng([KINDS.index(kind), m, n])
    y, noise = rng.integers(K, size=m), rng.normal(size=(m, n))
    means = 0.7 * rng.normal(size=(K, n))
    mixing = rng.normal(size=(K, n, n)) / np.sqrt(n) + 0.4 * np.eye(n)
    if kind == "shared":
        noise = noise @ mixing[0]
    elif kind == "separate":
        noise = np.einsum("mi,mij->mj", noise, mixing[y])
    elif kind == "naive":
        noise = noise * np.exp(0.5 * rng.normal(size=(K, n)))[y]
    return (means[y] + noise) * np.exp(3 * rng.normal(size=n)), y


def losses(X: Array, y: NDArray[Any]) -> dict[str, float]:
    """Return the log loss of each model out of fold; infinite if it has no solution."""
    found = {}
    for name, model in MODELS.items():
        try:
            found[name] = cross_validate(model, X, y, folds=FOLDS).log_loss
        except ValueError:
            found[name] = np.inf
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    print("| | " + " | ".join(MODELS) + " | beyond the best |")
    print("|---|" + "---:|" * (len(MODELS) + 1))
    beyond = []
    for name, rows in sets():
        found = losses(*rows)
        least = min(found[one] for one in ("LDA", "QDA", "naive"))
        beyond.append([found[one] - least for one in MODELS])
        cells = (f"{loss:.3f}" if np.isfinite(loss) else "none" for loss in found.values())
        print(f"| {name} | {' | '.join(cells)} | {found['auto'] - least:+.3f} |")
    for what, summary in (("mean", np.mean), ("largest", np.max)):
        columns = zip(MODELS, np.transpose(beyond), strict=True)
        print(what, {name: f"{summary(one):+.3f}" for name, one in columns})


if __name__ == "__main__":
    main()
