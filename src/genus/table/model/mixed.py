"""The model of a table: a product of families, and experts that model dependence between columns.

p(x|k) is solved as a product of families, one for each column, and by experts that model how
columns depend on each other. `Weights`, learned from out-of-fold rows, combine them into one
probability:

    log p(k|x) = Σ_g w_g log p_g(k|x) + c_k + a constant

Symbols: m rows, n columns, K classes, G experts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import matrix
from genus.arrays.labels import Axis
from genus.arrays.logs import log_softmax
from genus.arrays.matrix import Codes
from genus.registry import FAMILIES
from genus.statistics import Array, Compound
from genus.table import Frame, Plan
from genus.table.model import boosting, experts, marginals, tree, wide
from genus.table.model.binning import merged
from genus.table.model.boosting import BoostedTrees
from genus.table.model.counts import TEXT, TOGETHER, Counting
from genus.table.model.experts import LEAST, NAMES, Expert, Experts, Shrinkage
from genus.table.model.marginals import Counted, Marginal, of_columns
from genus.table.model.scorer import Scorer
from genus.table.model.screening import screened
from genus.table.model.shapley import Contributions, Shapley
from genus.table.model.slots import Slots, cell_means
from genus.table.model.submodels import Submodels
from genus.table.model.tree import Tree
from genus.table.model.weighing import (
    Weighing,
    Weights,
    believed_of,
    linear_for,
    trees_for,
    weigh,
)
from genus.table.model.wide import WideLinear
from genus.text.model.combination import Combination
from genus.text.model.words import WordParameters, Words

REFERENCE = 256  # rows over which importance is averaged
MANY = 1024  # rows over which curves are averaged
FEWEST = 32  # rows, at least, for either
AFFORDED = 20_000  # numbers computed for a row, up to which all these rows are used
SEED = 0
TINY = 1e-12
ROWS = 1 << 12  # rows that are scored at a time, so that their scores stay in cache
ASIDE = 10_000  # rows from which weights are learned if none are kept


@dataclass(frozen=True, eq=False)
class Block:
    """Columns of numbers with a joint family, and its parameters."""

    columns: list[int]
    parameters: Any

    def scores(self, X: Frame) -> Iterator[tuple[int, Array]]:
        """Yield each column's part of log p(x|k), (m, K), with an equal share of the constant."""
        x = np.stack([X.columns[j] for j in self.columns], axis=1)
        terms, rest = TOGETHER.contributions(self.parameters, x)
        for i, j in enumerate(self.columns):
            yield j, terms[:, i] + rest / len(self.columns)


@dataclass(frozen=True, eq=False)
class MixedParameters:
    """The families of columns, the experts, and the log shares of the classes (K,).

    `marginals` holds a family for each column, or None for a text; `texts` holds the words of
    texts, by column. `blocks` are groups of numbers that are modelled jointly. `plan` has the cells
    with which the experts were solved. `weighing` holds the weights and the experts that are solved
    from the sample; if it is None, the families are multiplied without weights. `solved_by` is the
    family, and `solved_from` its counts.
    """

    plan: Plan
    marginals: tuple[Marginal | None, ...]
    blocks: tuple[Block, ...]
    texts: Mapping[int, WordParameters]
    slots: Slots
    experts: Experts | None
    log_share: Array
    combinations: Mapping[str, Combination]
    weighing: Weighing | None = None
    tree: Tree | None = None
    constant: Array = field(default_factory=lambda: np.zeros(0))
    solved_by: Mixed | None = None
    solved_from: Compound | None = None

    @property
    def weights(self) -> Weights | None:
        """The weights of experts."""
        return None if self.weighing is None else self.weighing.weights

    @property
    def listed(self) -> tuple[Expert, ...]:
        """The experts on pairs of columns, and the trees."""
        if self.experts is None:
            return ()
        return self.experts.listed + (() if self.trees is None else (self.trees,))

    @property
    def trees(self) -> BoostedTrees | None:
        """The trees; None if there are none, as in a model without weights or without a sample."""
        return None if self.weighing is None else self.weighing.trees

    @property
    def linear(self) -> WideLinear | None:
        """The linear expert over all columns; None if there is none, as in a narrow table."""
        return None if self.weighing is None else self.weighing.linear

    @cached_property
    def scorer(self) -> Scorer:
        """The scorer that combines all experts, if they have weights."""
        return Scorer.of(self)

    @cached_property
    def reference(self) -> tuple[Frame, Array]:
        """Some rows and their weights; summaries of the model are averages over them."""
        assert self.solved_by is not None
        return self.solved_by.reference(self, self._affordable(REFERENCE))

    @cached_property
    def explained_rows(self) -> tuple[Frame, Array, Contributions]:
        """The rows over which curves are averaged, with weights and the columns' contributions."""
        assert self.solved_by is not None
        X, weight = self.solved_by.reference(self, self._affordable(MANY))
        return X, weight, self.solved_by.explained(self, X, is_rough=True)

    def _affordable(self, rows: int) -> int:
        """Return this number of rows, or fewer if there are many columns and classes."""
        if self.weights is None:
            return rows
        return int(np.clip(rows * AFFORDED // self.submodels.cost, min(rows, FEWEST), rows))

    @cached_property
    def submodels(self) -> Submodels:
        """The models of subsets of the columns, if experts have weights."""
        assert self.solved_by is not None
        return Submodels(self.solved_by, self)

    @cached_property
    def shapley(self) -> Shapley:
        """The Shapley values, which divide the log-odds among columns."""
        return Shapley(self.submodels, *self.reference)

    @cached_property
    def importance(self) -> Array:
        """How far each column moves the log-odds, (n,), averaged over the `reference` rows."""
        assert self.solved_by is not None
        X, weight = self.reference
        return self.solved_by.explained(self, X, is_rough=True).strength(weight)


@dataclass(frozen=True, eq=False)
class Mixed:
    """The family of a table: a product of families or, if calibrated, a weighted set of experts.

    `families` are those that the user chose, by column; others are chosen automatically. With
    `tree`, a tree replaces the families of paired columns. `grows` is true if some experts are
    solved from the sample: boosted trees and, if the table is wide, a linear one.
    """

    how: Counting
    families: Mapping[str, str] = field(default_factory=dict)
    dependence: bool = True
    calibrate: bool = True
    tree: bool = False
    grows: bool = True
    shrinkage: Shrinkage = field(default_factory=experts.usual_shrinkage)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the experts, in the order of `evidence`."""
        plain = any(column.kind != "text" for column in self.how.plan.used)
        paired = self.dependence and any(column.paired for column in self.how.plan.used)
        sampled = self.dependence and self.grows and not self.how.belief
        return (
            *(("families",) if plain else ()),
            *(NAMES if paired else ()),
            *((boosting.NAME,) if paired and sampled else ()),
            *((wide.NAME,) if sampled and wide.is_wide(self.how.plan) else ()),
            *(TEXT + name for name in self.how.texts),
        )

    @property
    def learns_weights(self) -> bool:
        """Whether the choice consists of weights that are learned from single rows."""
        return True

    def words(self, j: int, combinations: Mapping[str, Combination]) -> Words:
        """Return how the texts of a column are modelled."""
        column = self.how.plan.used[j]
        return replace(self.how.words_of(column), combination=combinations.get(column.name))

    @property
    def counting(self) -> Mapping[str, Any]:
        return self.how.options

    def counted_as(self, counting: Mapping[str, Any]) -> Mixed:
        """Return the same family for counts that were made with another sample or other n-grams.

        Raise ValueError if the counts differ in other options, or cannot be calibrated.
        """
        if self.how.sample and not counting["sample"] and not counting["belief"]:
            raise ValueError(
                "calibrate=True learns weights from a sample of the rows, which this model "
                "has not kept. Fit again with calibrate=True."
            )
        if self.how.sample not in (0, counting["sample"]) and self.calibrate:
            raise ValueError(
                f"sample_size decides how many rows are kept: {counting['sample']} in this "
                "model. To change it, fit again."
            )
        ngrams = tuple(counting["words"]["ngrams"])
        words = replace(self.how.words, tokenizer=replace(self.how.words.tokenizer, ngrams=ngrams))
        sample, belief = int(counting["sample"]), bool(counting["belief"])
        if self.how.belief and not belief:
            raise ValueError(
                "This model was fitted without calibrate=True, which learns weights from the rows "
                "as they are read. Fit again with calibrate=True."
            )
        how = replace(self.how, words=words, sample=sample, belief=belief)
        changed = [k for k, v in how.options.items() if counting.get(k) != v]
        if changed:
            raise ValueError(
                "Options that decide what is counted cannot be changed on a fitted model: "
                f"{', '.join(changed)}. Fit again to change them."
            )
        return replace(self, how=how)

    def zero(self) -> Compound:
        return self.how.zero()

    def count(self, X: Frame, y: Codes, classes: Axis, weight: Array | None) -> Compound:
        counted = self.how.count(X, y, classes, weight)
        if not self.how.belief:
            return counted
        # Learn weights from these rows now, because the rows are not kept.
        how = replace(self.how, belief=False, sample=ASIDE)
        aside = replace(self, how=how, grows=False)  # what rows decide cannot be merged without
        own = believed_of(aside, aside.count(X, y, classes, weight), counted["rows"].classes)
        return Compound({**counted.parts, "belief": own})

    def choose(self, statistics: Compound, classes: Axis, width: int) -> Weighing | None:
        """Learn the weights of experts, and how to score texts, from the sample."""
        if not self.calibrate:
            return None
        if "sample" in statistics.parts:
            statistics["sample"].require()
        family, statistics = self.recut(statistics, classes)
        return weigh(family, statistics, classes)

    def solve(
        self, statistics: Compound, classes: Axis, width: int, weighing: Weighing | None = None
    ) -> MixedParameters:
        family, statistics = self.recut(statistics, classes)
        combinations = {} if weighing is None else weighing.combinations
        if weighing is not None:  # the weights belong to experts with this shrinkage
            family = replace(family, shrinkage=Shrinkage(*weighing.weights.shrinkage))
        with matrix.ONE_BLAS_THREAD:  # on such small matrices, several threads wait for each other
            solved = family.solved(statistics, classes, combinations)
        solved = replace(solved, solved_by=self, solved_from=statistics)
        if self.tree:
            solved = replace(solved, tree=tree.solve(family.how.plan, statistics, classes))
        if weighing is None or not self.calibrate:
            return solved
        grown = trees_for(weighing.trees, family, statistics, classes)
        linear = linear_for(weighing.linear, family, statistics, classes)
        weighing = replace(weighing, trees=grown, linear=linear)
        return replace(solved, weighing=weighing, constant=weighing.weights.of(classes))

    def recut(self, statistics: Compound, classes: Axis) -> tuple[Mixed, Compound]:
        """Choose new cells for all rows, if the plan was merged from several plans.

        This needs a sample with every row, because pairs are counted again by the new cells.
        """
        how = self.how
        if not (how.plan.joined and (self.dependence or self.tree)):
            return self, statistics
        if not statistics["sample"].is_complete:
            return self, statistics
        again, pairs = how.recut(statistics, classes)
        return replace(self, how=again), Compound({**statistics.parts, "pairs": pairs})

    def solved(
        self, statistics: Compound, classes: Axis, combinations: Mapping[str, Combination]
    ) -> MixedParameters:
        """Solve all parameters except the weights of experts."""
        plan = self.how.plan
        rows = statistics["rows"].align(classes, 1)["rows"][:, 0]
        found = tuple(self._marginals(statistics, classes, rows))
        texts = {
            j: self.words(j, combinations).solve(statistics[TEXT + column.name], classes, 1)
            for j, column in enumerate(plan.used)
            if column.kind == "text"
        }
        share = np.log((rows + 1) / (rows.sum() + len(rows)))
        slots = Slots.of(plan, statistics["pairs"])
        known = self._experts(statistics, classes) if self.dependence else None
        blocks = tuple(
            Block(own, TOGETHER.solve(statistics[name].align(classes, len(own)), classes, len(own)))
            for name, own in self.how.blocks.items()
        )
        return MixedParameters(plan, found, blocks, texts, slots, known, share, combinations)

    def _marginals(
        self, statistics: Compound, classes: Axis, rows: Array
    ) -> Sequence[Marginal | None]:
        counted = of_columns(self.how.plan, statistics, classes, rows)
        simple = self._screened(counted, rows)
        found: list[Marginal | None] = []
        for j, (column, own) in enumerate(zip(self.how.plan.used, counted, strict=True)):
            family = self.families.get(column.name)
            if j in simple:
                found.append(simple[j])
                continue
            least = -np.inf if family is None else FAMILIES[family].least
            if own is not None and least > -np.inf and own.least < least:
                raise ValueError(
                    f"Column {column.name!r} holds {own.least:g}, but {family} is for numbers "
                    f"of {least:g} or more. Choose another family."
                )
            most = np.inf if family is None else FAMILIES[family].most
            if own is not None and most < np.inf and own.largest > most:
                raise ValueError(
                    f"Column {column.name!r} holds {own.largest:g}, but {family} is for "
                    f"numbers of {most:g} or less. Choose another family."
                )
            solved = None if own is None else marginals.solve(own, family)
            if own is not None and solved is not None and family is None and self.calibrate:
                solved = marginals.within_seen(solved, own)
            found.append(solved)
        return found

    def _screened(self, counted: Sequence[Counted | None], rows: Array) -> dict[int, Marginal]:
        """Return simple marginals for columns of a wide table that are screened out.

        A density (calibrate=False) screens no columns. Columns whose family the user chose are
        never screened.
        """
        if not self.calibrate:
            return {}
        named = [column.name in self.families for column in self.how.plan.used]
        some = {j: c for j, c in enumerate(counted) if c is not None and not named[j]}
        found = zip(some, screened(list(some.values()), rows), strict=True)
        return {j: marginal for j, marginal in found if marginal is not None}

    def _experts(self, statistics: Compound, classes: Axis) -> Experts | None:
        pairs = statistics["pairs"]
        paired = [column for column in self.how.plan.used if column.paired]
        if not paired or not pairs.keys:
            return None
        is_number = np.array([column.kind == "number" for column in paired])
        binned = merged(pairs, classes, is_number)
        if binned.size == 0:  # no value in any of these columns is known
            return None
        means = cell_means(self.how.plan, statistics)
        return experts.solve(binned, pairs, classes, means, self.shrinkage)

    # Scoring

    def evidence(
        self,
        parameters: MixedParameters,
        X: Frame,
        trees: Array | None = None,
        linear: Array | None = None,
    ) -> Array:
        """Return each expert's score of each class, (m, K, G).

        The experts are the product of families, the experts of pairs, the trees, the linear expert
        of wide tables, and every column of texts. The score is log p_g(k|x). For texts it is
        log p(text|k) minus its mean over the classes: it does not include the class shares, and is
        not normalised. Columns without pairs contribute the same to all experts of pairs and to the
        trees. `trees` and `linear` (m, K) are the scores of these two experts, for parameters that
        do not have them, as in cross-validation.
        """
        p = parameters
        by_column = self._by_column(p, X)
        by_column -= by_column.mean(axis=2, keepdims=True)  # before the sum: values may be huge
        scores = [by_column.sum(axis=1)] if len(p.texts) < len(p.marginals) else []
        if p.experts is not None:
            unpaired = np.ones(len(p.marginals), dtype=bool)
            unpaired[list(p.slots.columns)] = False
            rest = by_column[:, unpaired].sum(axis=1)
            cells = p.slots.place(X)
            scores += [expert.score(cells) + rest for expert in p.listed]
            scores += [] if trees is None else [trees + rest]
        if p.linear is not None:
            scores.append(p.linear.score(X))
        scores += [] if linear is None else [linear]
        said = [np.maximum(log_softmax(s + p.log_share, axis=1), LEAST) for s in scores]
        said += [self._text(p, X, j) for j in p.texts]
        return np.stack(said, axis=2)

    def _text(self, parameters: MixedParameters, X: Frame, j: int) -> Array:
        scores = self._text_scores(parameters, X, j)
        return scores - scores.mean(axis=1, keepdims=True)

    def _text_scores(self, parameters: MixedParameters, X: Frame, j: int) -> Array:
        words = self.words(j, parameters.combinations)
        return words.log_likelihood(parameters.texts[j], X.columns[j], relative=True)

    def log_likelihood(
        self, parameters: MixedParameters, X: Frame, relative: bool = False
    ) -> Array:
        p = parameters
        if p.weights is not None:
            return self._weighed(p, X, p.weights.doubt)

        def product(rows: Frame) -> Array:
            total = self._product(p, rows)
            return total if relative else total + self._common(p, rows)[:, None]

        return by_rows(product, X, len(p.log_share))

    def _weighed(self, parameters: MixedParameters, X: Frame, doubt: float) -> Array:
        """Return log((1 - doubt) p(k|x) / p(k) + doubt), (m, K)."""
        p = parameters
        assert p.weights is not None
        by_name, scorer = p.weights.by_name, p.scorer

        def score(rows: Frame) -> Array:
            more = np.zeros((len(rows), len(p.log_share)))
            for j in p.texts:
                weight = by_name.get(TEXT + self.how.plan.used[j].name, 0.0)
                more += weight * self._text(p, rows, j)
            return scorer.score(rows, more, doubt)

        return by_rows(score, scorer.read(X), len(p.log_share))

    def present(self, parameters: MixedParameters) -> list[str]:
        """Return the names of the experts that are in `parameters`, in the order of `evidence`."""
        plain = ["families"] if len(parameters.texts) < len(parameters.marginals) else []
        plain += [expert.name for expert in parameters.listed]
        plain += [] if parameters.linear is None else [wide.NAME]
        return plain + [TEXT + self.how.plan.used[j].name for j in parameters.texts]

    def _by_column(self, parameters: MixedParameters, X: Frame) -> Array:
        """Return log p(x_j|k) of each column by its family, (m, n, K), with zeros for texts.

        The columns of a block get the terms of their joint density (see `Block.scores`).
        """
        out = np.zeros((len(X), len(parameters.marginals), len(parameters.log_share)))
        for j, marginal in enumerate(parameters.marginals):
            if marginal is not None:
                out[:, j] = marginal.score(X.columns[j])
        for block in parameters.blocks:
            for j, scores in block.scores(X):
                out[:, j] = scores
        return out

    def _product(self, parameters: MixedParameters, X: Frame) -> Array:
        by_column = self._by_column(parameters, X)
        if parameters.tree is None:
            total = by_column.sum(axis=1)
        else:
            alone = np.setdiff1d(np.arange(by_column.shape[1]), parameters.tree.slots.columns)
            total = by_column[:, alone].sum(axis=1) + parameters.tree.log_likelihood(X)
        for j in parameters.texts:
            total += self._text_scores(parameters, X, j)
        return total

    def _common(self, parameters: MixedParameters, X: Frame) -> Array:
        total = np.zeros(len(X))
        apart = {j for own in self.how.blocks.values() for j in own}
        if parameters.tree is not None:
            apart |= set(parameters.tree.slots.columns)
        for j, marginal in enumerate(parameters.marginals):
            if marginal is not None and j not in apart:
                total += marginal.common(X.columns[j])
        return total

    # Explaining

    def explained(
        self, parameters: MixedParameters, X: Frame, is_rough: bool = False
    ) -> Contributions:
        """Return the contributions of columns to the log-odds, and their standard error.

        `is_rough` uses the fewest orders, which is enough for means over rows.
        """
        p = parameters
        if p.weights is not None:
            found = p.shapley.contributions(X, is_rough)
        else:
            terms = self._terms(p, X)
            terms -= terms.mean(axis=2, keepdims=True)
            found = Contributions(terms, np.zeros_like(terms))
        total = self.log_likelihood(p, X, relative=True)
        rounding = total - total.mean(axis=1, keepdims=True) - found.terms.sum(axis=1)
        found.terms[...] += rounding[:, None] / max(len(p.marginals), 1)
        return found

    def contributions(self, parameters: MixedParameters, X: Frame) -> tuple[Array, Array]:
        terms = self.explained(parameters, X).terms
        return terms, self.log_likelihood(parameters, X) - terms.sum(axis=1)

    def _terms(self, parameters: MixedParameters, X: Frame) -> Array:
        """Return the columns' terms in a product of families, (m, n, K).

        A term of a pair of columns in a tree is halved between them. Columns that are modelled
        jointly get parts of one density; each part depends on all columns of the block.
        """
        terms = self._by_column(parameters, X)
        if parameters.tree is not None:
            terms[:, list(parameters.tree.slots.columns)] = parameters.tree.terms(X)
        for j in parameters.texts:
            terms[:, j] = self._text_scores(parameters, X, j)
        return terms

    def reference(self, parameters: MixedParameters, most: int) -> tuple[Frame, Array]:
        """Return rows of the sample, those with the smallest hashes, and their weights.

        There are at most `most` different rows. If no rows are kept, `most` rows are drawn from
        a tree of the columns, with a fixed seed.
        """
        p = parameters
        assert p.solved_from is not None
        sample = p.solved_from["sample"].smallest(most)
        if len(sample):
            return self.how.decoded(sample, p.solved_from), sample.weights
        classes, share = p.solved_from["rows"].classes, np.exp(p.log_share)
        density = replace(self, dependence=False, calibrate=False, tree=True)
        grown = density.solve(p.solved_from, classes, len(self.how.plan))
        rng = np.random.default_rng(SEED)
        counts = rng.multinomial(most, share / share.sum())
        drawn = [density.sample(grown, k, int(n), rng) for k, n in enumerate(counts) if n]
        X = Frame.of(Frame.to_arrow(np.concatenate(drawn), self.how.plan), self.how.plan)
        return X, np.ones(len(X))

    def by_word(
        self, parameters: MixedParameters, X: Frame, terms: Array
    ) -> dict[str, list[dict[str, Array]]]:
        """Return the contributions (K,) of known words: by column of texts, then by row and word.

        With weights, the contributions are scaled to those of their column in `terms` (m, n, K).
        """
        found = {}
        for j, own in parameters.texts.items():
            name = self.how.plan.used[j].name
            entries, words = self.words(j, parameters.combinations).by_word(own, X.columns[j])
            words = words - words.mean(axis=1, keepdims=True)
            if parameters.weights is not None:
                whole = self._text(parameters, X, j)
                size = np.maximum((whole**2).sum(axis=1), TINY)
                share = np.maximum((whole * terms[:, j]).sum(axis=1) / size, 0.0)
                words *= share[entries.row, None]
            rows: list[dict[str, Array]] = [{} for _ in range(len(X))]
            for row, word, term in zip(entries.row, entries.word, words, strict=True):
                rows[row][own.words.word(word)] = term
            found[name] = rows
        return found

    def leave_one_out(
        self, statistics: Any, parameters: Any, X: Frame, y: Codes, weight: Array | None
    ) -> Array | None:
        return None

    def sample(
        self, parameters: MixedParameters, k: int, n: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        out = np.empty((n, len(parameters.marginals)), dtype=object)
        for j, marginal in enumerate(parameters.marginals):
            if marginal is None:
                words = self.words(j, parameters.combinations)
                out[:, j] = words.sample(parameters.texts[j], k, n, rng)[:, 0]
            else:
                out[:, j] = marginal.sample(k, n, rng)
        for block in parameters.blocks:
            out[:, block.columns] = TOGETHER.sample(block.parameters, k, n, rng)
        if parameters.tree is not None:
            for j, values in parameters.tree.sample(k, n, rng):
                out[:, j] = values
        return out


def by_rows(score: Callable[[Frame], Array], X: Frame, classes: int) -> Array:
    """Score all rows, (m, K), in chunks and on several threads."""
    out = np.empty((len(X), classes))

    def work(parts: Iterator[slice]) -> None:
        for part in parts:
            out[part] = score(X[part])

    parts = [slice(i, min(i + ROWS, len(X))) for i in range(0, len(X), ROWS)]
    if len(parts) > 1:
        matrix.in_threads(work, parts)
    else:
        work(iter(parts))
    return out
