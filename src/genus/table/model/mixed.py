"""Tables: columns of all kinds, by a product of families and by experts that know of pairs.

p(x|k) is solved as a product of families, one for each column, and experts that know how
columns depend on each other. `Weights`, learned from rows out of fold, make one probability of all
of them:

    log p(k|x) = Σ_g w_g log p_g(k|x) + Σ_j u_j log p(x_j|k) + Σ_j v_j t_j + c_k + a constant

with t_j what column j says together with others beyond what they say alone.

Symbols: m rows, n columns, K classes, G experts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from genus.arrays.labels import Axis
from genus.arrays.matrix import Codes
from genus.registry import FAMILIES
from genus.statistics import Array, Compound
from genus.statistics.sample import EVERY
from genus.table import Frame, Plan
from genus.table.model import experts, marginals, tree
from genus.table.model.binning import merged
from genus.table.model.counts import TEXT, TOGETHER, Counting
from genus.table.model.experts import NAMES, Expert, Together
from genus.table.model.marginals import Marginal, of_columns
from genus.table.model.slots import Slots, cell_means
from genus.table.model.tree import Tree
from genus.table.model.weighing import Weighing, Weights, believed_of, weigh
from genus.text.model.combination import Combination
from genus.text.model.words import WordParameters, Words

LEAST = -30.0  # the least log-probability that an expert is believed
TINY = 1e-300
ROWS = 1 << 14  # that are scored at a time
ASIDE = 10_000  # rows that weights are learned from where none are kept


@dataclass(frozen=True, eq=False)
class MixedParameters:
    """The families of columns, experts, and log shares of the classes (K,).

    `marginals` has None in place of texts, whose words `texts` has by column; `blocks` are of
    numbers that are modelled together. `plan` has the cells that experts were solved with. Without
    `weighing` the product of families decides.
    """

    plan: Plan
    marginals: tuple[Marginal | None, ...]
    blocks: Mapping[str, Any]
    texts: Mapping[int, WordParameters]
    slots: Slots
    experts: tuple[Expert, ...]
    together: Together | None
    log_share: Array
    combinations: Mapping[str, Combination]
    weighing: Weighing | None = None
    tree: Tree | None = None
    constant: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def weights(self) -> Weights | None:
        """What experts and columns count for."""
        return None if self.weighing is None else self.weighing.weights


@dataclass(frozen=True, eq=False)
class Mixed:
    """A table, by a product of families or, if it is to be calibrated, all that experts say of it.

    `families` are those asked for, by column; others are chosen. With `tree`, columns that are
    counted in pairs are by a tree instead of their families.
    """

    how: Counting
    families: Mapping[str, str] = field(default_factory=dict)
    dependence: bool = True
    calibrate: bool = True
    tree: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The experts, as `evidence` has them."""
        plain = any(column.kind != "text" for column in self.how.plan.used)
        paired = self.dependence and any(column.paired for column in self.how.plan.used)
        return (
            *(("families",) if plain else ()),
            *(NAMES if paired else ()),
            *(TEXT + name for name in self.how.texts),
        )

    def words(self, j: int, combinations: Mapping[str, Combination]) -> Words:
        """How texts of a column are modelled."""
        name = self.how.plan.used[j].name
        return replace(self.how.words, combination=combinations.get(name))

    @property
    def counting(self) -> Mapping[str, Any]:
        return self.how.options

    def counted_as(self, counting: Mapping[str, Any]) -> Mixed:
        """The same options for what was counted with another sample, or with pairs of words."""
        if self.how.sample and not counting["sample"] and not counting["belief"]:
            raise ValueError(
                "calibrate=True learns weights from a sample of the rows, which this model has not "
                "kept. Fit again with it."
            )
        if self.how.sample not in (0, counting["sample"]) and self.calibrate:
            raise ValueError(
                f"sample_size decides how many rows are kept: {counting['sample']} in this model. "
                "Fit again with another."
            )
        ngrams = tuple(counting["words"]["ngrams"])
        words = replace(self.how.words, tokenizer=replace(self.how.words.tokenizer, ngrams=ngrams))
        sample, belief = int(counting["sample"]), bool(counting["belief"])
        if self.how.belief and not belief:
            raise ValueError(
                "calibrate=True learns weights while it counts, and this model has not. Fit again "
                "with it."
            )
        how = replace(self.how, words=words, sample=sample, belief=belief)
        changed = [k for k, v in how.options.items() if counting.get(k) != v]
        if changed:
            raise ValueError(
                f"{', '.join(changed)} decides what is counted and cannot be changed on a fitted "
                "model. Fit again with it."
            )
        return replace(self, how=how)

    def zero(self) -> Compound:
        return self.how.zero()

    def count(self, X: Frame, y: Codes, classes: Axis, weight: Array | None) -> Compound:
        counted = self.how.count(X, y, classes, weight)
        if not self.how.belief:
            return counted
        # Weights are learned from these rows, and the rows are not kept.
        aside = replace(self, how=replace(self.how, belief=False, sample=ASIDE))
        own = believed_of(aside, aside.count(X, y, classes, weight), counted["rows"].classes)
        return Compound({**counted.parts, "belief": own})

    def choose(self, statistics: Compound, classes: Axis, width: int) -> Weighing | None:
        """What experts count for, and what texts are judged by: learned from the sample."""
        if not self.calibrate:
            return None
        family, statistics = self.recut(statistics, classes)
        return weigh(family, statistics, classes)

    def solve(
        self, statistics: Compound, classes: Axis, width: int, weighing: Weighing | None = None
    ) -> MixedParameters:
        family, statistics = self.recut(statistics, classes)
        combinations = {} if weighing is None else weighing.combinations
        solved = family.solved(statistics, classes, combinations)
        if self.tree:
            solved = replace(solved, tree=tree.solve(family.how.plan, statistics, classes))
        if weighing is None or not self.calibrate:
            return solved
        return replace(solved, weighing=weighing, constant=weighing.weights.of(classes))

    def recut(self, statistics: Compound, classes: Axis) -> tuple[Mixed, Compound]:
        """Of plans that were made apart, cells for all rows instead of those that all plans have.

        If the sample has every row, pairs can be counted again by other cells.
        """
        how = self.how
        if not (how.plan.joined and how.sample and (self.dependence or self.tree)):
            return self, statistics
        if statistics["sample"].limit < EVERY:
            return self, statistics
        again, pairs = how.recut(statistics, classes)
        return replace(self, how=again), Compound({**statistics.parts, "pairs": pairs})

    def solved(
        self, statistics: Compound, classes: Axis, combinations: Mapping[str, Combination]
    ) -> MixedParameters:
        """Parameters before anything is weighed."""
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
        known, together = self._experts(statistics, classes) if self.dependence else ((), None)
        blocks = {
            name: TOGETHER.solve(statistics[name].align(classes, len(own)), classes, len(own))
            for name, own in self.how.blocks.items()
        }
        return MixedParameters(
            plan, found, blocks, texts, slots, known, together, share, combinations
        )

    def _marginals(
        self, statistics: Compound, classes: Axis, rows: Array
    ) -> Sequence[Marginal | None]:
        counted = of_columns(self.how.plan, statistics, classes, rows)
        found: list[Marginal | None] = []
        for column, own in zip(self.how.plan.used, counted, strict=True):
            family = self.families.get(column.name)
            least = -np.inf if family is None else FAMILIES[family].least
            if own is not None and least > -np.inf and own.least < least:
                raise ValueError(
                    f"Column {column.name!r} holds {own.least:g}, and {family} is for numbers of "
                    f"{least:g} or more. Choose another family."
                )
            found.append(None if own is None else marginals.solve(own, family))
        return found

    def _experts(
        self, statistics: Compound, classes: Axis
    ) -> tuple[tuple[Expert, ...], Together | None]:
        pairs = statistics["pairs"]
        paired = [column for column in self.how.plan.used if column.paired]
        if not paired or not pairs.keys:
            return (), None
        is_number = np.array([column.kind == "number" for column in paired])
        binned = merged(pairs, classes, is_number)
        means = cell_means(self.how.plan, statistics)
        return experts.solve(binned, pairs, classes, means)

    # Scoring

    def evidence(self, parameters: MixedParameters, X: Frame) -> tuple[Array, Array]:
        """log p_g(k|x) of every expert (m, K, G); log p(x_j|k) and t_j of columns (m, K, 2n).

        The experts are the product of families, those that know pairs, and every column of texts;
        what has no pairs is the same in all of them.
        """
        p = parameters
        by_column = np.ascontiguousarray(self._by_column(p, X).transpose(0, 2, 1))
        joint = np.zeros_like(by_column)
        scores = [by_column.sum(axis=2)] if len(p.texts) < len(p.marginals) else []
        if p.experts:
            unpaired = np.ones(len(p.marginals), dtype=bool)
            unpaired[list(p.slots.columns)] = False
            rest = by_column[:, :, unpaired].sum(axis=2)
            cells = p.slots.place(X)
            scores += [expert.score(cells) + rest for expert in p.experts]
            assert p.together is not None
            both = p.together.by_column(cells).transpose(0, 2, 1)
            joint[:, :, list(p.slots.columns)] = both - both.mean(axis=1, keepdims=True)
        said = [np.maximum(log_softmax(s + p.log_share, axis=1), LEAST) for s in scores]
        said += [self._text(p, X, j) for j in p.texts]
        by_column -= by_column.mean(axis=1, keepdims=True)
        return np.stack(said, axis=2), np.concatenate([by_column, joint], axis=2)

    def _text(self, parameters: MixedParameters, X: Frame, j: int) -> Array:
        scores = self._text_scores(parameters, X, j)
        return scores - scores.mean(axis=1, keepdims=True)

    def _text_scores(self, parameters: MixedParameters, X: Frame, j: int) -> Array:
        words = self.words(j, parameters.combinations)
        return words.log_likelihood(parameters.texts[j], X.columns[j], relative=True)

    def log_likelihood(
        self, parameters: MixedParameters, X: Frame, relative: bool = False
    ) -> Array:
        out = np.empty((len(X), len(parameters.log_share)))
        for start in range(0, len(X), ROWS):
            part = slice(start, min(start + ROWS, len(X)))
            rows = X[part]
            out[part] = self._likelihood(parameters, rows)
            if not relative and parameters.weights is None:
                out[part] += self._common(parameters, rows)[:, None]
        return out

    def _likelihood(self, parameters: MixedParameters, X: Frame) -> Array:
        if parameters.weights is None:
            return self._product(parameters, X)
        doubt = parameters.weights.doubt
        said = self._said(parameters, X)
        return np.logaddexp(np.log1p(-doubt) + said, np.log(max(doubt, TINY)))

    def _said(self, parameters: MixedParameters, X: Frame) -> Array:
        """log p(k|x) / p(k), (m, K), before any doubt."""
        w = parameters.weights
        assert w is not None
        F, by_column = self.evidence(parameters, X)
        by_name = dict(zip(w.names, w.experts, strict=True))
        experts = np.array([by_name.get(name, 0.0) for name in self.present(parameters)])
        said = log_softmax(F @ experts + by_column @ w.columns + parameters.constant, axis=1)
        return said - parameters.log_share

    def present(self, parameters: MixedParameters) -> list[str]:
        """The names of the experts that `evidence` has."""
        plain = ["families"] if len(parameters.texts) < len(parameters.marginals) else []
        texts = [TEXT + self.how.plan.used[j].name for j in parameters.texts]
        return [*plain, *(expert.name for expert in parameters.experts), *texts]

    def _by_column(self, parameters: MixedParameters, X: Frame) -> Array:
        """log p(x_j|k) by the families of columns, (m, n, K); those of texts are zero.

        Of a block each column has its summand, and a share of what belongs to none.
        """
        out = np.zeros((len(X), len(parameters.marginals), len(parameters.log_share)))
        for j, marginal in enumerate(parameters.marginals):
            if marginal is not None:
                out[:, j] = marginal.score(X.columns[j])
        for name, own in self.how.blocks.items():
            x = np.stack([X.columns[j] for j in own], axis=1)
            terms, rest = TOGETHER.contributions(parameters.blocks[name], x)
            out[:, own] = terms + rest[:, None] / len(own)
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

    def contributions(self, parameters: MixedParameters, X: Frame) -> tuple[Array, Array]:
        n = len(parameters.marginals)
        by_column = self._by_column(parameters, X)
        if parameters.weights is None:
            terms = by_column.copy()
            for j in parameters.texts:
                terms[:, j] = self._text_scores(parameters, X, j)
            total = self.log_likelihood(parameters, X)
            return terms, total - terms.sum(axis=1)
        w = parameters.weights
        by_name = dict(zip(w.names, w.experts, strict=True))
        terms = by_column * (by_name.get("families", 0.0) + w.columns[:n, None])
        if parameters.experts:
            cells, paired = parameters.slots.place(X), list(parameters.slots.columns)
            rest = np.setdiff1d(np.arange(n), paired)
            for expert in parameters.experts:
                terms[:, paired] += by_name.get(expert.name, 0.0) * expert.contributions(cells)[0]
                terms[:, rest] += by_name.get(expert.name, 0.0) * by_column[:, rest]
            if parameters.together is not None:
                own = w.columns[n:][paired][:, None]
                terms[:, paired] += own * parameters.together.by_column(cells)
        for j in parameters.texts:
            terms[:, j] += by_name.get(TEXT + self.how.plan.used[j].name, 0.0) * self._text(
                parameters, X, j
            )
        terms -= terms.mean(axis=2, keepdims=True)
        terms *= self._believed(parameters, X)[:, None, None]
        return terms, self.log_likelihood(parameters, X) - terms.sum(axis=1)

    def by_word(self, parameters: MixedParameters, X: Frame) -> dict[str, list[dict[str, Array]]]:
        """Of columns of texts: what each known word of each row adds to its contribution, (K,)."""
        if not parameters.texts:
            return {}
        share = np.ones(len(X)) if parameters.weights is None else self._believed(parameters, X)
        found = {}
        for j, own in parameters.texts.items():
            name = self.how.plan.used[j].name
            entries, terms = self.words(j, parameters.combinations).by_word(own, X.columns[j])
            weights = parameters.weights
            if weights is not None:
                by_name = dict(zip(weights.names, weights.experts, strict=True))
                terms = terms - terms.mean(axis=1, keepdims=True)
                terms *= by_name.get(TEXT + name, 0.0) * share[entries.row, None]
            rows: list[dict[str, Array]] = [{} for _ in range(len(X))]
            for row, word, term in zip(entries.row, entries.word, terms, strict=True):
                rows[row][own.words.word(word)] = term
            found[name] = rows
        return found

    def _believed(self, parameters: MixedParameters, X: Frame) -> Array:
        return believed(self._likelihood(parameters, X), self._said(parameters, X))

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
        for name, own in self.how.blocks.items():
            out[:, own] = TOGETHER.sample(parameters.blocks[name], k, n, rng)
        if parameters.tree is not None:
            for j, values in parameters.tree.sample(k, n, rng):
                out[:, j] = values
        return out


def believed(total: Array, said: Array) -> Array:
    """What doubt leaves of the evidence for the likeliest class against the next, (m,)."""
    if said.shape[1] < 2:
        return np.ones(len(said))
    best = np.sort(total, axis=1)[:, -2:]
    order = np.argsort(total, axis=1)[:, -2:]
    gap = np.take_along_axis(said, order, axis=1)
    whole = gap[:, 1] - gap[:, 0]
    left = best[:, 1] - best[:, 0]
    return np.divide(left, whole, out=np.ones_like(left), where=np.abs(whole) > 1e-9)
