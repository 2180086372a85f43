"""Black-and-white images: the pictures and the figures of docs/digits.md.

    python examples/digits.py --data FOLDER --into docs/images

reads MNIST from FOLDER/mnist, four IDX files, gzipped or not. Without it scikit-learn's digits
serve, which are small. Figures go to stdout, pictures into a folder, talk to stderr.
"""

from __future__ import annotations

import argparse
import gzip
import os
import sys
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from genus import GDA, BernoulliNB, GaussianNB, MultinomialNB

try:
    from matplotlib.figure import Figure
    from matplotlib.text import Text
except ImportError:
    sys.exit("digits.py draws with matplotlib, which is not here: pip install matplotlib")

DEFAULT_DATA = Path(__file__).parents[2] / "shared" / "data"
DIGITS = np.arange(10)
SEEDS = {4: 23, 9: 28}  # of a good 4 and a good 9, found by looking at thirty of each

Array = np.ndarray[Any, Any]


class RefusedError(Exception):
    """Something that was asked for cannot be done; the message says what and why."""


def main(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    try:
        data = find_images(options.data)
        make_folder(options.into)
        for name, sheet in show(data):
            sheet.save(options.into / f"digits-{name}.png")
    except (RefusedError, OSError) as error:
        print(f"digits.py: {error}", file=sys.stderr)
        return 1
    return 0


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        type=Path,
        help="with MNIST in FOLDER/mnist; else GENUS_DATA of the environment, else ../shared/data",
    )
    parser.add_argument(
        "--into",
        metavar="FOLDER",
        type=Path,
        default=Path("digits"),
        help="where the pictures go; else %(default)s",
    )
    return parser.parse_args(arguments)


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RefusedError(f"No pictures can go into {folder}: {error.strerror}") from None


def show(data: Images) -> Iterator[tuple[str, Sheet]]:
    """Print the figures; the pictures, by name, as they are ready."""
    bernoulli = BernoulliNB(binarize=data.threshold).fit(data.X, data.y)
    shared = GDA(shrinkage="oas").fit(data.X, data.y)
    separate = GDA(shared=False, shrinkage=0.1).fit(data.X, data.y)
    # Shrinking adds a little white noise to every pixel. Less of it draws with fewer specks.
    clean = separate.resolve(shrinkage=0.01)
    others = [
        model.fit(data.X, data.y)
        for model in (MultinomialNB(), GaussianNB(), GaussianNB(var_smoothing=1e-6))
    ]

    print(data.description)
    compare([bernoulli, *others, shared, separate], data)
    yield "ink", draw_ink(bernoulli)
    compare_neighbours([bernoulli, shared, clean], data)
    yield "drawn", draw_samples([bernoulli, shared, clean], data)
    yield "four-or-nine", explain_two(bernoulli, clean, data)
    hide_halves(bernoulli, separate, data)
    change_alpha(bernoulli, data)
    yield "never", draw_never(bernoulli)
    count_in_parts(bernoulli, data)


# Data


@dataclass(frozen=True)
class Images:
    """Square images, a row each, of grey values from 0 to `black`; ink is above `threshold`."""

    name: str
    X: Array
    y: Array
    X_test: Array
    y_test: Array
    side: int
    black: int
    threshold: int

    def inked(self, rows: Array) -> Array:
        return rows > self.threshold

    @property
    def description(self) -> str:
        return (
            f"{self.name}: {len(self.y):,} images to learn from, {len(self.y_test):,} to test on, "
            f"{self.side} × {self.side} pixels"
        )


def find_images(folder: Path | None) -> Images:
    """MNIST from where it was asked for or is expected, else the digits of scikit-learn."""
    if folder is not None:
        return mnist(folder)
    expected = Path(os.environ.get("GENUS_DATA", DEFAULT_DATA))
    try:
        return mnist(expected)
    except FileNotFoundError as error:
        print(f"{error}. Using scikit-learn's digits; --data names another.", file=sys.stderr)
        return small_digits()


def mnist(folder: Path) -> Images:
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}")
    folder = folder / "mnist"
    parts = []
    for part in "train", "t10k":
        images = read_idx(folder, f"{part}-images-idx3-ubyte", axes=3)
        labels = read_idx(folder, f"{part}-labels-idx1-ubyte", axes=1)
        if images.shape != (len(labels), 28, 28) or not np.array_equal(np.unique(labels), DIGITS):
            raise RefusedError(
                f"{folder} does not hold MNIST: the images of {part} are {images.shape}, with "
                f"{len(labels)} labels; expected (rows, 28, 28), with a label from 0 to 9 for each"
            )
        parts += [images.reshape(-1, 784), labels]
    return Images("MNIST", *parts, side=28, black=255, threshold=127)


def read_idx(folder: Path, name: str, axes: int) -> Array:
    """An array of bytes from an IDX file."""
    path = next((p for p in (folder / f"{name}.gz", folder / name) if p.exists()), None)
    if path is None:
        raise FileNotFoundError(f"There is no {name}.gz or {name} in {folder}")
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise RefusedError(f"{path} cannot be read: {error}") from None
    # IDX: 0, 0, 8 for bytes, the number of axes; their lengths as big-endian int32; the bytes.
    start = 4 + 4 * axes
    shape = np.frombuffer(content[4:start].ljust(4 * axes, b"\0"), ">i4")
    if content[:4] != bytes([0, 0, 8, axes]) or len(content) - start != np.prod(shape, dtype=int):
        raise RefusedError(f"{path} is not an IDX file of bytes with {axes} axes, or is cut off")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def small_digits() -> Images:
    X, y = load_digits(return_X_y=True)
    learn, test = slice(1200), slice(1200, None)
    parts = X[learn], y[learn], X[test], y[test]
    return Images("scikit-learn's digits", *parts, side=8, black=16, threshold=7)


# Figures


def compare(models: Iterable[Any], data: Images) -> None:
    heading("Accuracy and log-loss on the test images", "right", "log-loss")
    for model in models:
        tell(str(model), share(model.score(data.X_test, data.y_test)), f"{loss(model, data):,.2f}")


def loss(model: Any, data: Images) -> float:
    """The mean of -log p(y|x)."""
    log_posterior = model.predict_log_proba(data.X_test)
    return -float(log_posterior[np.arange(len(data.y_test)), data.y_test].mean())


def compare_neighbours(models: Iterable[Any], data: Images) -> None:
    heading("Images drawn from the model, as many as there are to test on", "neighbours", "right")
    tell("test images", f"{neighbours(data.X_test, data.y_test, data):.3f}", "")
    for model in models:
        X, y = model.sample(len(data.y_test), random_state=0)
        tell(str(model), f"{neighbours(X, y, data):.3f}", share(model.score(X, y)))


def neighbours(X: Array, y: Array, data: Images) -> float:
    """How the ink of a pixel and of the one to its right correlate within a digit.

    Σ d_j d_j+1 / √(Σ d_j² Σ d_j+1²) over rows and pixels, with d = x - φ of the row's digit.
    """
    ink = data.inked(X).astype(np.float32)
    for k in np.unique(y):
        ink[y == k] -= ink[y == k].mean(axis=0)
    square = ink.reshape(-1, data.side, data.side)
    left, right = square[:, :, :-1], square[:, :, 1:]
    both, first, second = (
        (a * b).sum(dtype=float) for a, b in ((left, right), (left, left), (right, right))
    )
    return float(both / np.sqrt(first * second))


def hide_halves(bernoulli: BernoulliNB, separate: GDA, data: Images) -> None:
    heading("Right, with a half of each image hidden", "BernoulliNB", "as blank", "GDA")
    half = data.side // 2
    halves = {
        "nothing": np.s_[:, :0],
        "the upper half": np.s_[:, :half],
        "the lower half": np.s_[:, half:],
        "the left half": np.s_[:, :, :half],
        "the right half": np.s_[:, :, half:],
    }
    for name, hidden in halves.items():
        missing, blank = (cover(data, hidden, value) for value in (np.nan, 0))
        scores = (
            model.score(X, data.y_test)
            for model, X in ((bernoulli, missing), (bernoulli, blank), (separate, missing))
        )
        tell(name, *map(share, scores))


def cover(data: Images, part: Any, value: float) -> Array:
    """The test images with part of each set to a value."""
    X = data.X_test.astype(np.float32)
    X.reshape(-1, data.side, data.side)[part] = value
    return X


def change_alpha(bernoulli: BernoulliNB, data: Images) -> None:
    heading("Smoothing", "right", "log-loss", "ruled out")
    for alpha in 0, 1e-10, 0.1, 1, 10, 100, "auto":
        model = bernoulli.resolve(alpha=alpha)
        own = model.predict_joint_log_proba(data.X_test)[np.arange(len(data.y_test)), data.y_test]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of images that every digit rules out
            right, cost = share(model.score(data.X_test, data.y_test)), f"{loss(model, data):,.2f}"
        chosen = f", which is {model.alpha_:.3f}" if alpha == "auto" else ""
        tell(f"alpha = {alpha}{chosen}", right, cost, f"{np.isneginf(own).sum()}")
    never = bernoulli.feature_count_ == 0
    print(f"Never inked: {never.sum():,} of {never.size:,} pairs of a pixel and a digit,", end=" ")
    print(f"{never.all(axis=0).sum()} pixels in no digit at all")


def count_in_parts(whole: BernoulliNB, data: Images) -> None:
    streamed = BernoulliNB(binarize=data.threshold)
    for start in range(0, len(data.y), 1000):
        rows = slice(start, start + 1000)
        streamed.partial_fit(data.X[rows], data.y[rows])
    late = slice(len(data.y) * 5 // 6, None)
    early = slice(len(data.y) * 5 // 6)
    never_seen = BernoulliNB(binarize=data.threshold).fit(data.X[early], data.y[early])
    print(f"\nThe images are {data.X.nbytes / 1e6:.1f} MB of {data.X.dtype}")
    print(f"In chunks of 1,000, and at once: {same(streamed, whole, data)}")
    streamed.forget(data.X[late], data.y[late])
    print(f"The last sixth forgotten, and never seen: {same(streamed, never_seen, data)}")


def same(a: BernoulliNB, b: BernoulliNB, data: Images) -> str:
    equal = np.array_equal(a.feature_count_, b.feature_count_)
    equal &= np.array_equal(a.predict_proba(data.X_test), b.predict_proba(data.X_test))
    return "the same, bit for bit" if equal else "DIFFERENT"


def heading(title: str, *columns: str) -> None:
    print(f"\n{title}")
    tell("", *columns)


def tell(name: str, *columns: str) -> None:
    cells = "".join(f"{cell:>14}" for cell in columns)
    print(f"  {name:34}{cells}".rstrip())


def share(of_one: float) -> str:
    return f"{of_one:.4f}"


# Pictures

DPI = 200
WIDTH = 1800  # pixels of every picture: twice the width of a page, for sharp screens
MARGIN = 20
LINE = 48  # the height of a line of text
DARK = "#14171b"  # the colour of dark pages
ORANGE = (0.835, 0.369, 0.0)  # of Okabe and Ito's colours, which differ for all kinds of sight
SMALL, LARGE = 168, 504  # sides of an image, ten or three in a row; both are n × 28 and n × 8


class Sheet:
    """A white page on which things are placed by pixels from its upper left corner."""

    def __init__(self, height: int) -> None:
        self.height = height
        self.figure = Figure(figsize=(WIDTH / DPI, height / DPI), dpi=DPI, facecolor="white")

    def image(self, pixels: Array, left: int, top: int, size: int, **how: Any) -> Any:
        """A square image: pixels (n,), or (n, 3) in red, green and blue."""
        side = round(len(pixels) ** 0.5)
        axes = self._axes(left, top, size, size)
        axes.set(xticks=[], yticks=[])
        for edge in axes.spines.values():
            edge.set(color="0.8", linewidth=0.5)
        return axes.imshow(
            pixels.reshape(side, side, *pixels.shape[1:]), interpolation="nearest", **how
        )

    def ink(self, pixels: Array, left: int, top: int, size: int) -> None:
        """An image in shades of grey, from 0 for white to 1 for black."""
        self.image(pixels, left, top, size, cmap="gray_r", vmin=0, vmax=1)

    def text(self, text: str, left: int, top: int, **how: Any) -> None:
        """A line of text in the middle of LINE."""
        style = {"fontsize": 9, "color": "0.2", "verticalalignment": "center", **how}
        self.figure.text(left / WIDTH, 1 - (top + LINE / 2) / self.height, text, **style)

    def scale(self, shown: Any, left: int, top: int, height: int, label: str) -> None:
        """The colours of an image, and the numbers they stand for."""
        bar = self.figure.colorbar(shown, cax=self._axes(left, top, 24, height), format="%+.1f")
        bar.set_label(label, color="0.2", fontsize=9)
        bar.ax.tick_params(color="0.2", labelcolor="0.2", labelsize=8)
        bar.outline.set(color="0.8", linewidth=0.5)

    def save(self, path: Path) -> None:
        """Write the picture, and a second one for dark pages as NAME-dark."""
        self.figure.savefig(path, metadata={"Software": None})
        self._darken()
        self.figure.savefig(path.with_stem(f"{path.stem}-dark"), metadata={"Software": None})
        print(f"wrote {path}", file=sys.stderr)

    def _darken(self) -> None:
        self.figure.set_facecolor(DARK)
        for text in self.figure.findobj(Text):
            text.set_color("0.85")
        for axes in self.figure.axes:
            axes.tick_params(color="0.85", labelcolor="0.85")
            for edge in axes.spines.values():
                edge.set_color("0.35")
            for image in axes.images:
                pixels = np.asarray(image.get_array())
                if pixels.ndim == 3:  # red, green and blue; only shades of grey are inverted
                    is_grey = (pixels == pixels[:, :, :1]).all(axis=2, keepdims=True)
                    image.set_data(np.where(is_grey, 1 - pixels, pixels))
                else:
                    image.set_cmap({"gray_r": "gray"}.get(image.get_cmap().name, "berlin_r"))

    def _axes(self, left: int, top: int, width: int, height: int) -> Any:
        bottom = self.height - top - height
        box = (left / WIDTH, bottom / self.height, width / WIDTH, height / self.height)
        return self.figure.add_axes(box)


def column(k: int) -> int:
    """Where the k-th of ten images begins."""
    return MARGIN + k * (WIDTH - 2 * MARGIN - SMALL) // 9


def draw_ink(bernoulli: BernoulliNB) -> Sheet:
    """φ of each digit, in shades of grey."""
    return ten_with_titles(grey(bernoulli), [str(k) for k in DIGITS])


def draw_never(bernoulli: BernoulliNB) -> Sheet:
    """The same, with pixels that were never inked in orange; above each how many these are."""
    never = bernoulli.feature_count_ == 0
    images = np.where(never[:, :, None], ORANGE, grey(bernoulli))
    return ten_with_titles(images, [f"{k}: {never[k].sum()}" for k in DIGITS])


def grey(bernoulli: BernoulliNB) -> Array:
    """φ in red, green and blue, (10, n, 3)."""
    return np.repeat(1 - np.exp(bernoulli.feature_log_prob_)[:, :, None], 3, axis=2)


def ten_with_titles(images: Array, titles: Sequence[str]) -> Sheet:
    sheet = Sheet(LINE + SMALL + MARGIN)
    for k in DIGITS:
        sheet.text(titles[k], column(k) + SMALL // 2, 0, horizontalalignment="center")
        sheet.image(images[k], column(k), LINE, SMALL)
    return sheet


def draw_samples(models: Sequence[Any], data: Images) -> Sheet:
    """An image of each digit, drawn from each model."""
    step = LINE + SMALL + MARGIN
    sheet = Sheet(step * len(models))
    for i, model in enumerate(models):
        X, _ = model.sample(10, y=DIGITS, random_state=0)
        shade = data.inked(X) if isinstance(model, BernoulliNB) else X / data.black
        sheet.text(str(model), MARGIN, i * step)
        for k in DIGITS:
            sheet.ink(shade[k], column(k), i * step + LINE, SMALL)
    return sheet


def explain_two(bernoulli: BernoulliNB, artist: GDA, data: Images) -> Sheet:
    """What each pixel of a drawn 4 and of a drawn 9 adds to log p(4|x) / p(9|x)."""
    X = np.vstack([artist.sample(1, y=k, random_state=seed)[0] for k, seed in SEEDS.items()])
    terms = bernoulli.explain(X).log_odds(label=4, against=9)
    most = np.abs(terms[:, :-1]).max()
    colours = {"cmap": "RdBu", "vmin": -most, "vmax": most}
    step = LINE + LARGE + MARGIN
    sheet = Sheet(step * len(X))
    print("\n4 rather than 9, by the log-odds")
    for i, k in enumerate(SEEDS):
        inked, pixels = data.inked(X[i]), terms[i, :-1]
        ink, paper = np.where(inked, pixels, 0), np.where(inked, 0, pixels)
        sums = f"ink {ink.sum():+.2f}", f"paper {paper.sum():+.2f}", f"class {terms[i, -1]:+.2f}"
        tell(f"an image drawn as a {k}", *sums)
        titles = f"drawn as a {k}", *sums[:2]
        places = [MARGIN + place * (LARGE + MARGIN) for place in range(4)]
        for title, left in zip(titles, places, strict=False):
            sheet.text(title, left, i * step)
        top = i * step + LINE
        sheet.ink(inked, places[0], top, LARGE)
        sheet.image(ink, places[1], top, LARGE, **colours)
        shown = sheet.image(paper, places[2], top, LARGE, **colours)
        sheet.scale(shown, places[3], top, LARGE, "for 9          for 4")
    return sheet


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
