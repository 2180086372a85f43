"""Draw the typical image of each class, if rows are images."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from genus.plots.points import Array
from genus.plots.style import panels, plain, ramp


class ImageDisplay:
    """The mean image of each class, or the share of images with ink in each pixel.

    Attributes
    ----------
    images : (K, height, width).
    classes : the classes.
    axes_, figure_ : the axes, one for each class, and the figure, once it is drawn.

    >>> from sklearn.datasets import load_digits
    >>> from genus import BernoulliNB
    >>> model = BernoulliNB(binarize=7).fit(*load_digits(return_X_y=True))
    >>> ImageDisplay.from_estimator(model)  # doctest: +SKIP
    """

    axes_: NDArray[Any]
    figure_: Any

    def __init__(self, images: Array, classes: ArrayLike) -> None:
        self.images = images
        self.classes: NDArray[Any] = np.asarray(classes)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        shape: tuple[int, int] | None = None,
        *,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a fitted classifier whose columns are pixels; `shape` is (height, width).

        By default, the image is a square. It shows the shares of BernoulliNB, the means of
        GaussianNB and GDA, the rates of PoissonNB, or for MultinomialNB each pixel's share of the
        ink. The same classifiers of scikit-learn can be drawn, too.
        """
        check_is_fitted(estimator)
        pixels = of_classes(estimator)
        if shape is None:
            side = int(np.sqrt(pixels.shape[1]))
            shape = (side, side)
        if shape[0] * shape[1] != pixels.shape[1]:
            raise ValueError(
                f"{pixels.shape[1]} columns are not an image of {shape[0]} by {shape[1]} "
                "pixels. Give its shape as (height, width)."
            )
        return cls(pixels.reshape(-1, *shape), estimator.classes_).plot(ax=ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw on the given axes, one for each class, or on new ones; options go to `imshow`."""
        row, self.figure_ = panels(ax, 1, len(self.images))
        self.axes_ = row[0]
        # One scale for all classes, so that they can be compared.
        scale = {"vmin": min(float(self.images.min()), 0.0), "vmax": float(self.images.max())}
        for place, image, label in zip(self.axes_, self.images, self.classes, strict=True):
            given = {"cmap": ramp("text"), "interpolation": "none", **scale, **options}
            place.imshow(image, **given)
            place.set(xticks=[], yticks=[], title=plain(label))
            place.spines[:].set_visible(True)
        return self


def of_classes(estimator: Any) -> Array:
    """Return a number for each class and column, (K, n)."""
    for attribute in ("means_", "theta_", "rate_"):
        if hasattr(estimator, attribute):
            return np.asarray(getattr(estimator, attribute))
    found = getattr(estimator, "feature_log_prob_", None)
    if not isinstance(found, np.ndarray) or (found > 0).any():  # of categories, or weights
        raise ValueError(
            f"{type(estimator).__name__} has no number for each pixel, so there is no image to "
            "draw."
        )
    return np.exp(found)
