"""Draw Bayes' rule for one feature: p(x|y) p(y) of each class, and p(y|x) below."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from genus.plots.points import Array, like, log_joint, numbers, reach
from genus.plots.style import colours, legend, look, panels, plain

POINTS = 400


class PosteriorDisplay:
    """p(x|y) p(y) above, where the area is the share of the class, and p(y|x) below.

    With two classes, only p(y|x) of the second is drawn; the other is 1 minus it.

    Attributes
    ----------
    x : points of the feature, (m,).
    joint : p(x|y) p(y), (m, K).
    posterior : p(y|x), (m, K).
    classes, name : the classes, and the name of the feature.
    axes_, figure_ : the two axes and the figure, once it is drawn.

    >>> import numpy as np
    >>> from genus import GDA
    >>> X = np.array([[1.0], [2.0], [2.5], [4.0], [5.0], [5.5]])
    >>> model = GDA().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> PosteriorDisplay.from_estimator(model, X)  # doctest: +SKIP
    """

    axes_: NDArray[Any]
    figure_: Any

    def __init__(
        self, x: Array, joint: Array, posterior: Array, classes: ArrayLike, name: str = "$x$"
    ) -> None:
        self.x, self.joint, self.posterior, self.name = x, joint, posterior, name
        self.classes: NDArray[Any] = np.asarray(classes)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw a fitted generative classifier over the range of X's only column."""
        check_is_fitted(estimator)
        rows, (name,) = numbers(X, 1)
        x = reach(rows, 0.25, POINTS)
        points = like(X, x[:, None])
        joint = np.exp(log_joint(estimator, points))
        posterior = estimator.predict_proba(points)
        return cls(x, joint, posterior, estimator.classes_, name).plot(ax=ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw on two given axes, or on new ones; options go to the lines."""
        both, self.figure_ = panels(ax, 2, 1, sharex=True)
        self.axes_ = both[:, 0]
        above, below = self.axes_
        of_one = range(1, 2) if len(self.classes) == 2 else range(len(self.classes))
        for k, label in enumerate(self.classes):
            drawn = {**look(k), **options}
            above.plot(self.x, self.joint[:, k], label=plain(label), **drawn)
            above.fill_between(self.x, self.joint[:, k], color=drawn["color"], alpha=0.1, lw=0)
            if k in of_one:
                below.plot(self.x, self.posterior[:, k], **drawn)
        below.axhline(0.5, color=colours()["axis"], linewidth=0.6, linestyle=":")
        legend(above)
        above.set(ylabel="p(x|y) p(y)")
        above.set_ylim(bottom=0)
        which = f"y={plain(self.classes[1])}" if len(self.classes) == 2 else "y"
        below.set(xlabel=self.name, ylabel=f"p({which}|x)", ylim=(-0.03, 1.03))
        below.set_xlim(self.x[0], self.x[-1])
        self.figure_.align_ylabels(self.axes_)
        return self
