"""Explain predictions: the contribution of each column or word to the log-odds of the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from genus.arrays import markup
from genus.arrays.labels import show
from genus.arrays.logs import log_softmax

Array = NDArray[np.float64]
REST = "(class and constants)"
SHARES = "(shares of the classes)"
MOST_ROWS = 5  # shown by print()
MOST_LINES = 10  # of a row, shown by print()
MOST_WORDS = 5  # of a text in a table
ANY_TEXT = "(not due to any word)"
TOLD = 5e-4  # smaller terms are 0.000 in a line


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """The contribution of each column to log p(x, y) of each class.

    `contributions` (m, n, K) and `baseline` (m, K), which is log p(y) plus the terms that belong to
    no column, add up to `joint` (m, K), the result of `predict_joint_log_proba`. `values` (m, n)
    are the rows. All logarithms are natural: +0.69 doubles the odds, and +2.3 makes them ten times
    as large.
    """

    contributions: Array
    baseline: Array
    classes: NDArray[Any]
    features: Sequence[str]
    values: NDArray[Any]
    rest: ClassVar[str] = REST  # the name of the baseline

    @property
    def joint(self) -> Array:
        """log p(x, y), (m, K)."""
        return self.contributions.sum(axis=1) + self.baseline

    def log_odds(self, label: Any, against: Any) -> Array:
        """Return contributions to log p(label|x) / p(against|x), (m, n + 1); the baseline last."""
        k, other = (self._position(one) for one in (label, against))
        ours, theirs = (
            np.column_stack([self.contributions[:, :, i], self.baseline[:, i]]) for i in (k, other)
        )
        # -inf - -inf: a value that both classes exclude favours neither.
        return np.subtract(ours, theirs, out=np.zeros_like(ours), where=ours != theirs)

    def describe(
        self, row: int = 0, most: int = MOST_LINES, *, label: Any = None, against: Any = None
    ) -> str:
        """Return the largest contributions of one row for a class against another, as text.

        At most `most` terms are listed; the others are summed. By default, `label` and `against`
        are the two most probable classes; if one is given, the other is the most probable of the
        rest.
        """
        title, lines = self._told(row, most, label, against)
        width = max((len(name) for name, _ in lines), default=0)
        return "\n".join([title, *(f"  {name:<{width}}  {term:+8.3f}" for name, term in lines)])

    def _told(
        self, row: int, most: int, label: Any = None, against: Any = None
    ) -> tuple[str, list[tuple[str, float]]]:
        """Return a title, and names and values of a row's largest contributions."""
        order = np.argsort(-self.joint[row], kind="stable")
        if len(order) < 2:
            return f"Only one class is known: {self.classes[order[0]]}.", []
        if np.isneginf(self.joint[row]).all():
            return "No class explains this row: each gives it probability zero.", []
        others = order if against is None else order[order != self._position(against)]
        k = others[0] if label is None else self._position(label)
        other = order[order != k][0] if against is None else self._position(against)
        if k == other:
            raise ValueError(f"{show(label)} is compared with itself; name another class.")
        terms = self.log_odds(self.classes[k], self.classes[other])[row]
        telling = [i for i in np.argsort(-np.abs(terms), kind="stable") if terms[i] != 0]
        shown, rest = telling[:most], telling[most:]
        lines = []
        for i in shown:
            lines.append((self._name(i, row), terms[i]))
            lines += self._within(i, row, self.classes[k], self.classes[other])
        if rest:
            lines.append((f"({len(rest)} more)", terms[rest].sum()))
        title = f"{self.classes[k]} rather than {self.classes[other]}: log-odds {terms.sum():+.3f}"
        return title, lines

    def _within(self, j: int, row: int, label: Any, against: Any) -> list[tuple[str, float]]:
        """Return the lines to show below a column's line."""
        return []

    def _name(self, j: int, row: int) -> str:
        """Return a column and its value, such as "city = Trier", or the name of the baseline."""
        if j == len(self.features):
            return self.rest
        value = self.values[row, j]
        if value is None:
            return f"{self.features[j]} = missing"
        if isinstance(value, float | np.floating):
            return f"{self.features[j]} = {value:.{15 if value == np.floor(value) else 6}g}"
        return f"{self.features[j]} = {value}"

    def __repr__(self) -> str:
        m, n, K = self.contributions.shape
        return f"Explanation(rows={m}, columns={n}, classes={K})"

    def _repr_html_(self) -> str:
        """Return the contributions of the first rows as HTML for notebooks."""
        rows = len(self.baseline)
        found = []
        for row in range(min(rows, MOST_ROWS)):
            title, lines = self._told(row, MOST_LINES)
            caption = title if rows == 1 else f"Row {row}: {title}"
            shown = [(indented(name), f"{term:+.3f}") for name, term in lines]
            found.append(markup.table(["", "log-odds"], shown, caption))
        more = f"<p>({rows - MOST_ROWS:,} more rows)</p>" if rows > MOST_ROWS else ""
        return "".join(found) + more

    def __str__(self) -> str:
        rows = len(self.baseline)
        if rows == 1:
            return self.describe()
        parts = [f"Row {row}: {self.describe(row)}" for row in range(min(rows, MOST_ROWS))]
        parts += [f"({rows - MOST_ROWS} more rows)"] if rows > MOST_ROWS else []
        return "\n\n".join(parts)

    def _position(self, label: Any) -> int:
        found = np.flatnonzero(self.classes == label)
        if len(found) == 0:
            raise ValueError(
                f"{label!r} is not one of the classes {self.classes.tolist()[:10]}. "
                "Name a class of the model."
            )
        return int(found[0])


@dataclass(frozen=True, eq=False, repr=False)
class TableExplanation(Explanation):
    """The contribution of each column, and of each known word of a text, to the log-odds.

    `contributions` (m, n, K) are Shapley values of the final log-odds: the change when the column
    becomes known, averaged over the orders in which columns can become known. They sum to zero over
    the classes, because only differences between classes matter. `baseline` (m, K) is log p(y), the
    same in every row. Their sum is log p(y|x) up to a term that all classes share, and `joint`
    (m, K) is log p(y|x), the result of `predict_log_proba`.

    `error` (m, n, K) is the standard error of the contributions, estimated from the sampled orders;
    their sum has no error. `words[column][row]` maps the words of a text to their contributions
    (K,). The rest of the column's contribution is not due to any word.
    """

    words: Mapping[str, Sequence[Mapping[str, Array]]] = field(default_factory=dict)
    error: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))
    rest: ClassVar[str] = SHARES

    @property
    def joint(self) -> Array:
        """log p(y|x), (m, K)."""
        return log_softmax(super().joint, axis=1)

    def word_log_odds(
        self, column: str, row: int, label: Any, against: Any
    ) -> list[tuple[str, float]]:
        """Return each word's contribution to log p(label|x) / p(against|x).

        Contributions are sorted by their absolute value, the largest first.
        """
        k, other = self._position(label), self._position(against)
        own = self.words[column][row].items()
        found = [(word, float(term[k] - term[other])) for word, term in own]
        return sorted(found, key=lambda item: -abs(item[1]))

    def strongest_words(
        self, column: str, row: int, label: Any, against: Any
    ) -> list[tuple[str, float]]:
        """Return lines (name, log-odds): a text's strongest words, its other words, a remainder.

        The lines add up to the column's contribution; a remainder of at most 0.0005 is left out.
        """
        found = self.word_log_odds(column, row, label, against)
        lines = [(visible(word), odds) for word, odds in found[:MOST_WORDS]]
        if len(found) > MOST_WORDS:
            rest = sum(odds for _, odds in found[MOST_WORDS:])
            lines.append((f"({len(found) - MOST_WORDS} more words)", rest))
        total = self.log_odds(label, against)[row, list(self.features).index(column)]
        any_text = float(total - sum(odds for _, odds in lines))
        return [*lines, (ANY_TEXT, any_text)] if abs(any_text) > TOLD else lines

    def _within(self, j: int, row: int, label: Any, against: Any) -> list[tuple[str, float]]:
        if j == len(self.features) or self.features[j] not in self.words:
            return []
        found = self.strongest_words(self.features[j], row, label, against)
        return [(f"    {word}", odds) for word, odds in found]

    def __repr__(self) -> str:
        return f"Table{super().__repr__()}"


@dataclass(frozen=True, eq=False, repr=False)
class TextExplanation(Explanation):
    """The contribution of each known word to log p(x, y); `unknown` lists other words by row."""

    unknown: Sequence[Sequence[str]] = ()

    def describe(
        self, row: int = 0, most: int = 10, *, label: Any = None, against: Any = None
    ) -> str:
        """Return the largest contributions of the words of one text, and its unknown words."""
        told = super().describe(row, most, label=label, against=against)
        strange = list(self.unknown[row])
        if not strange:
            return told
        more = f" and {len(strange) - most} more" if len(strange) > most else ""
        return f"{told}\n  not known: {', '.join(map(visible, strange[:most]))}{more}"

    def _name(self, j: int, row: int) -> str:
        if j == len(self.features):
            return self.rest
        times, word = int(self.values[row, j]), self.features[j]
        shown = visible(word)
        return f"{shown} ×{times}" if times > 1 else shown

    def __repr__(self) -> str:
        m, n, K = self.contributions.shape
        return f"TextExplanation(texts={m}, words={n}, classes={K})"


def indented(name: str) -> str:
    """Replace an indent of four spaces, which browsers leave out, by two em spaces."""
    return name.replace("    ", "\u2003\u2003", 1) if name.startswith("    ") else name


def visible(word: str) -> str:
    """Return a word, in quotes if it begins or ends with a space."""
    return word if word == word.strip() else repr(word)
