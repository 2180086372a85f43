"""Choosing from texts out of fold: what `event_model="auto"` and `calibrate=True` do."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from genus.arrays import labels
from genus.arrays.matrix import Codes
from genus.arrays.options import flag
from genus.estimators.discrete import DiscreteClassifier
from genus.estimators.text_options import check_ngrams
from genus.model import Model
from genus.stacking.folds import Folds, stratified
from genus.statistics import Array
from genus.text import Documents, Texts, Tokenizer
from genus.text.model import Combination, Selection, plain
from genus.text.model.choosing import Choice, candidates, choose, over_root_length

MOST_RUNS = 10_000_000  # runs of words that "auto" counts unless asked for; each takes 100 bytes
MOST_CELLS = 1 << 24  # classes times words and runs, of one table of evidence
CHOOSE_CELLS = 1_000_000  # texts times classes, from which to choose
CHOOSE_AT_LEAST = 5000
CHOOSE_FROM = 50_000  # texts at most: more would change the choice little
CHOSEN = ("choice_", "_chosen_for", "_counted_ngrams")


class Chooser(DiscreteClassifier):
    """A classifier of texts that may choose its evidence, and how much to believe it.

    What is chosen holds for the options that it was chosen with, and is kept when counts change.
    """

    choice_: Choice
    event_model: str
    calibrate: bool
    analyzer: str
    ngrams: tuple[int, int]
    stop_words: Any

    def _tokenizer(self) -> Tokenizer:
        raise NotImplementedError

    def _selection(self) -> Selection:
        raise NotImplementedError

    @property
    def _chooses(self) -> bool:
        return flag("calibrate", self.calibrate) or self.event_model == "auto"

    def _ready(
        self, X: Texts, codes: Codes, classes: NDArray[Any], weight: Array | None
    ) -> Texts | Documents:
        self._forget_choice()
        self._family()  # options that make no sense are refused now
        if not self._chooses:
            return X
        if len(classes) < 2:
            raise ValueError(
                'event_model="auto" and calibrate=True choose by texts of two classes or more, '
                "and the first ones are of one. Begin with some of each."
            )
        rows = np.arange(len(codes))
        most = min(CHOOSE_FROM, max(CHOOSE_CELLS // len(classes), CHOOSE_AT_LEAST))
        if len(codes) > most:
            rows = sample_of(codes, most)
        w = None if weight is None else weight[rows]
        documents = self._encoded(
            X if len(rows) == len(codes) else X.take(rows), len(codes), len(classes)
        )
        fold = stratified(min(10 if len(rows) < 200 else 5, len(rows)), codes[rows], 0)
        empty = self._empty()
        self._choose(Folds.count(empty, documents, codes[rows], classes, w, fold))
        return documents if len(rows) == len(codes) else X

    def _forget_choice(self) -> None:
        for name in (*CHOSEN, "n_iter_"):
            self.__dict__.pop(name, None)

    def _encoded(self, X: Texts, texts: int, classes: int) -> Documents:
        """X, which stands for so many texts, read by words and, unless these are too many, runs."""
        documents = self._tokenizer().encode(X)
        asked = check_ngrams(self.ngrams)
        runs = documents.words.runs.sum() if self._tokenizer().joins else 0
        many = runs * texts > MOST_RUNS * len(X) or (
            runs and documents.width * classes > MOST_CELLS
        )
        if many and asked != self._tokenizer().ngrams:
            self._counted_ngrams = asked, asked
            documents = self._tokenizer().encode(X)
        return documents

    def _chosen_from(self, folds: Callable[[], Folds]) -> Self:
        if not self._chooses:
            return self
        copy = clone(self)
        copy._adopt(self)
        copy._choose(folds())
        return copy

    def _choose(self, folds: Folds) -> None:
        selection = self._selection()
        if self.event_model == "auto":
            ngrams = self._tokenizer().ngrams
            runs = self.analyzer == "word" and ngrams[0] == 1 < ngrams[1]
            found = candidates(selection, folds.X.width, len(folds.classes), runs)
        else:
            powers = {0.0, over_root_length(self.event_model)}
            alpha = self._smoothing().alpha
            if alpha == 0:
                raise ValueError(
                    "calibrate=True weighs logarithms of probabilities, and with alpha=0 some are "
                    "zero. Use alpha > 0, such as 1e-3."
                )
            if isinstance(alpha, str):
                family: Any = self._family()
                family = replace(family, combination=None)
                everything = folds.everything.with_family(family)
                alpha = everything.parameters.alpha
            found = [plain(self.event_model, alpha, power, selection) for power in sorted(powers)]
            ngrams = self._tokenizer().ngrams
        self._counted_ngrams = check_ngrams(self.ngrams), ngrams
        self.choice_ = choose(folds, found)
        self._chosen_for = self._choosing_options()

    def _choosing_options(self) -> dict[str, Any]:
        """The options that a choice holds for."""
        names = ["event_model", "calibrate", "stop_words", "min_documents", "max_features"]
        names += ["select"] if self.event_model == "auto" else ["select", "alpha"]
        options = {name: deepcopy(getattr(self, name)) for name in names}
        return options | {"stop_words": sorted(self._selection().stop_words)}

    def _with_current_options(self, model: Model) -> Model:
        if self._chooses and "choice_" not in vars(self):
            raise ValueError(
                'event_model="auto" and calibrate=True choose from texts, which a fitted model no '
                "longer has. Fit again with them."
            )
        return super()._with_current_options(model)

    def _combination(self) -> Combination | None:
        if not self._chooses or "choice_" not in vars(self):
            return None
        if self._chosen_for != self._choosing_options():
            raise ValueError(
                'calibrate=True and event_model="auto" are chosen from texts, and hold for the '
                "options that they were chosen with. Fit again, or use calibrate=False and an "
                "event model by name."
            )
        return self.choice_.best

    def _keep(self, model: Model) -> None:
        if not self._chooses:
            self.__dict__.pop("choice_", None)
            self.__dict__.pop("_chosen_for", None)
        if "choice_" in vars(self):  # of a class that is gone nothing is kept
            best = self.choice_.best
            left = labels.find(best.classes, model.classes) >= 0
            if not left.all():
                best = replace(best, classes=best.classes[left], constant=best.constant[left])
                self.choice_ = replace(self.choice_, best=best)
                model = super()._with_current_options(model)
        super()._keep(model)

    def _adopt(self, other: Self) -> None:
        super()._adopt(other)
        for name in CHOSEN:
            if name in vars(other) and (self._chooses or name == "_counted_ngrams"):
                setattr(self, name, vars(other)[name])


def sample_of(codes: Codes, size: int) -> NDArray[np.intp]:
    """Rows of all classes alike, ascending: as many folds as it takes, and the first of them."""
    return np.flatnonzero(stratified(-(-len(codes) // size), codes, 0) == 0)
