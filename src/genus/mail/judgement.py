"""Weight the evidence of groups of tokens into a probability of spam and a verdict.

The score is the log-odds of spam, a weighted sum of the evidence x_g of groups (see `odds.py`;
Raina, Shen, Ng & McCallum 2003),

    s = Σ_g β_g x_g + β_0,

with weights β ≥ 0. They are fitted to the evidence of lessons. Lessons that were learned at about
the same time form a block, and the evidence of a lesson is computed from counts without its block.
So tokens that occur in this block only, such as those of one campaign, are unknown then, and
evidence that does not last gets little weight.

A message is spam if its score minus a doubt d is above a threshold t. The threshold follows from
the accepted loss α, which is the share of ham that may be classified as spam. d and t are estimated
from the scores that lessons get without their block:

    d = δ Σ_g β_g max (u − u₀, 0),        t = β_0 + ē log (q / α).

u is the share of the message's tokens that no lesson contains, and u₀ is the 90 % quantile of this
share among lessons: each new token beyond it counts as evidence of ham, of δ nats. β_0 is the score
of a message without any evidence, q is an upper confidence bound of the share of ham that scores
above β_0, and ē is the mean of score - β_0 for this ham, shrunk towards a prior value. q falls as
more ham is learned that scores below β_0, and is at least 3/n, because n messages cannot show that
a share is smaller. In the same way, a message is ham only if few messages of spam have so low a
score.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from genus.mail.odds import PSEUDO, SHRINK, Array, bounded, features, log_odds
from genus.mail.sample import Sample
from genus.mail.store import Totals
from genus.mail.store.lessons import Counts, Tokens
from genus.mail.tokens import GROUPS, groups_of, is_mostly_unread
from genus.mail.verdict import HAM, NEW, SPAM, UNREAD, UNSURE, Verdict
from genus.stacking import layer
from genus.stacking.prior import Prior, around_multiple

BLOCKS = 32

# The prior mean of the weights β is SCALE · PRIOR. These proportions were chosen while looking at
# the corpus of docs/benchmarks.md; a group of proportion 1.0 counts fully.
PRIOR = {
    "subject": 0.5,
    "people": 1.0,
    "route": 0.25,
    "form": 0.1,
    "words": 1.0,
    "structure": 0.05,
    "links": 0.1,
    "pairs": 1.0,
    "opening": 1.0,
    "hidden": 0.1,
}
# The common factor t of the weights: evidence of one nat in a group of proportion 1 gives a
# probability of 0.88, where naive Bayes with one token gives 0.73.
SCALE = 2.0
# The prior precision of a weight around t · PRIOR, if the evidence has standard deviation 1: the
# prior standard deviation of the weight is 1/√30 = 0.18. A message adds at most 1/4 to the
# precision, so the prior is worth at least 120 messages.
RIDGE = 30.0
# The prior precision of t: a standard deviation of 0.32, or 5 nats for a factor of 1 or 3.
SCALE_RIDGE = 10.0
LEAST_DEVIATION = 0.1  # of evidence; if a group varies less, its weight stays near t · PRIOR
FEWEST = 5  # messages of either class, below which every verdict is unsure
HAM_LOSS = 0.001  # α
SPAM_LOSS = 0.01  # the share of spam that may be called ham rather than unsure
GROWTH = 0.1
DOUBT = 2.0  # δ, about the log-odds of a common token of ham
USUAL = 0.9  # the quantile of the share of new tokens that is u₀
# The prior: 4 of 200 messages of a class score beyond β_0, and the mean excess of 10 messages is
# 0.75. z is the quantile of the normal distribution for a bound of 90 %.
SEEN_BEYOND, SEEN, USUAL_EXCESS, USUAL_NUMBER, Z = 4.0, 200.0, 0.75, 10, 1.2816
RECENT, FEWEST_RECENT = 8, 20  # the newest lessons are an eighth of all, or at least 20


@dataclass(frozen=True)
class Judgement:
    """The fitted weights of groups, the constant β_0, and the tails of each class's scores.

    At most a share `ham_share` of ham scores above the constant, by `ham_excess` on average;
    `spam_share` and `spam_excess` are the same for spam below it. `usual_new` is u₀. `spam_scores`
    are evenly spaced quantiles of the scores that older lessons give to the newest spam. `ham`
    and `spam` are the numbers of lessons at the time of fitting, `changes` is the counter of
    changes then, and `pseudo` is the λ of the evidence.
    """

    weights: dict[str, float] = field(
        default_factory=lambda: {group: SCALE * PRIOR[group] for group in GROUPS}
    )
    constant: float = 0.0
    ham_excess: float = USUAL_EXCESS
    ham_share: float = SEEN_BEYOND / SEEN
    spam_excess: float = USUAL_EXCESS
    spam_share: float = SEEN_BEYOND / SEEN
    usual_new: float = 0.8  # fits imported counts, which have no pairs of words
    spam_scores: tuple[float, ...] = ()
    ham: int = 0
    spam: int = 0
    changes: int = 0
    pseudo: float = PSEUDO

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Judgement:
        """Return the judgement in a note, or the default if the note is empty or unreadable."""
        try:
            made = json.loads(text) if text else {}
            if made:  # a note without λ is from an earlier version, and stale
                made = {"pseudo": 0.0} | made | {"spam_scores": tuple(made["spam_scores"])}
            found = cls(**made)
            return found if found.is_finite else cls()
        except (KeyError, TypeError, ValueError):  # written by another version
            return cls()

    @property
    def is_finite(self) -> bool:
        numbers = [*self.weights.values(), self.constant, self.ham_excess, self.ham_share]
        numbers += [self.spam_excess, self.spam_share, self.usual_new]
        numbers += [*self.spam_scores, self.ham, self.spam, self.changes, self.pseudo]
        return bool(np.isfinite(numbers).all())

    def distance(self, totals: Totals) -> int:
        """Return how much the numbers of lessons have changed since fitting."""
        return abs(totals.ham - self.ham) + abs(totals.spam - self.spam)

    def is_stale(self, totals: Totals, changes: int) -> bool:
        """Return whether more than a tenth of all lessons, or of one class, changed since fitting.

        Each class is compared by itself, so that changes in a small one are noticed.
        """
        return (
            self.pseudo != PSEUDO
            or changes - self.changes > GROWTH * (self.ham + self.spam)
            or any(
                abs(now - then) > GROWTH * then
                for now, then in ((totals.ham, self.ham), (totals.spam, self.spam))
            )
        )

    def threshold(self, ham_loss: float = HAM_LOSS) -> float:
        """Return the score above which at most the share `ham_loss` of ham is expected.

        There are seldom enough lessons to measure so small a share, so the tail of the scores of
        ham is assumed to be exponential: a share q e^(−(s − β_0)/ē) is above s.
        """
        reach = self.constant + self.ham_excess * np.log(self.ham_share / ham_loss)
        return float(max(reach, self.ham_end))

    @property
    def ham_end(self) -> float:
        """The highest score that is classified as ham; it is at most 0."""
        reach = self.spam_excess * np.log(max(self.spam_share / SPAM_LOSS, 1.0))
        return float(min(self.constant - reach, 0.0))

    def loss_beyond(self, score: float) -> float:
        """Return the expected share of ham above a score: the inverse of `threshold`."""
        share = self.ham_share * np.exp((self.constant - score) / self.ham_excess)
        return float(min(share, 1.0))

    def caught(self, ham_loss: float = HAM_LOSS) -> float:
        """Return the share of the newest spam that earlier lessons score above the threshold."""
        below = np.interp(
            self.threshold(ham_loss), self.spam_scores, np.linspace(0, 1, len(self.spam_scores))
        )
        return 1 - float(below)

    def doubt(self, new: Array | float) -> Array:
        """Return the doubt d about a message, given the share of its tokens that are new."""
        return DOUBT * self.vector.sum() * np.maximum(np.asarray(new) - self.usual_new, 0.0)

    def verdict(
        self, tokens: Tokens, counts: Counts, totals: Totals, ham_loss: float = HAM_LOSS
    ) -> Verdict:
        """Return the verdict on a message, given its tokens and their counts (n, 2)."""
        return self.verdicts([tokens], counts, totals, ham_loss)[0]

    def verdicts(
        self,
        messages: Sequence[Tokens],
        counts: Counts,
        totals: Totals,
        ham_loss: float = HAM_LOSS,
    ) -> list[Verdict]:
        """Return the verdicts on messages, given their tokens and the counts of these, (n, 2)."""
        tokens, sizes = np.concatenate(messages), [len(each) for each in messages]
        place = np.repeat(np.arange(len(messages)), sizes)
        odds = log_odds(tokens, counts, totals)
        x = features(tokens, odds, place, len(messages))
        # Not x @ vector, whose rounding depends on how many messages there are.
        scores = (x * self.vector).sum(axis=1) + self.constant
        new = np.bincount(place, ~counts.any(axis=1), len(messages)) / np.maximum(sizes, 1)
        doubted = (scores - self.doubt(new)).tolist()
        reason, end, threshold = too_little(totals), self.ham_end, self.threshold(ham_loss)

        def verdict(each: Tokens, score: float, doubted: float) -> tuple[str, str]:
            if reason:
                return UNSURE, reason
            if score > threshold:
                return (SPAM, "") if doubted > threshold else (UNSURE, NEW)
            if score > end:
                return UNSURE, ""
            return (UNSURE, UNREAD) if is_mostly_unread(each) else (HAM, "")

        found = []
        probabilities = (1 / (1 + np.exp(-scores))).tolist()
        every = zip(messages, scores.tolist(), doubted, probabilities, strict=True)
        for each, score, less, probability in every:
            kind, why = verdict(each, score, less)
            found.append(Verdict(kind, probability, score, why))
        return found

    def shares(self, tokens: Tokens, odds: Array) -> Array:
        """Return each token's part of its group's contribution to the score, (n,)."""
        kind = groups_of(tokens)
        number = np.bincount(kind, minlength=len(GROUPS)) + SHRINK
        mean = np.bincount(kind, odds, len(GROUPS)) / number
        group = self.vector * bounded(mean)
        # If the mean of a group is 0, use the limit of the slope for small means.
        slope = np.divide(group, mean, out=self.vector, where=np.abs(mean) > 1e-12)
        return (slope / number)[kind] * odds

    @property
    def vector(self) -> Array:
        return np.array([self.weights.get(group, 0.0) for group in GROUPS])


def too_little(totals: Totals) -> str:
    """Return why every verdict is still unsure, or an empty string if enough was learned."""
    ham, spam = totals.weights
    short = [
        f"{number:g} of {name}"
        for name, number in (("ham", ham), ("spam", spam))
        if number < FEWEST
    ]
    if not short:
        return ""
    told = " and ".join(short)
    return (
        f"The filter has not learned enough mail: it needs at least {FEWEST} messages of each "
        f"class, but has only {told}. See genus mail learn --help."
    )


def judge(sample: Sample, changes: int = 0) -> Judgement:
    """Fit a judgement to a sample in which the newest lessons of each class come first."""
    spam, totals = sample.spam, sample.totals
    if min(np.count_nonzero(spam), np.count_nonzero(~spam)) < FEWEST:
        return Judgement(ham=totals.ham, spam=totals.spam, changes=changes)
    block = blocks(spam, BLOCKS)
    x, new = sample.without(block)
    weights, constant = weigh(x, spam)
    judgement = Judgement(
        dict(zip(GROUPS, weights.tolist(), strict=True)),
        constant,
        usual_new=float(np.quantile(new, USUAL)),
        ham=totals.ham,
        spam=totals.spam,
        changes=changes,
    )
    scores = x @ weights
    ham = is_likely(scores, spam)
    beyond = scores - judgement.doubt(new)
    ham_excess, ham_share = reach(beyond[ham], block[ham])
    spam_excess, spam_share = reach(-scores[spam], block[spam])
    recent = newest(spam)
    x, new = sample.without(np.where(recent, 0, -1))
    latest = (x @ weights + constant - judgement.doubt(new))[recent & spam]
    return replace(
        judgement,
        ham_excess=ham_excess,
        ham_share=ham_share,
        spam_excess=spam_excess,
        spam_share=spam_share,
        spam_scores=tuple(np.quantile(latest, np.linspace(0, 1, 41)).tolist()),
    )


def blocks(spam: NDArray[np.bool_], number: int) -> NDArray[np.intp]:
    """Divide the lessons of each class, in order, into equal blocks; return each lesson's block."""
    block = np.empty(len(spam), np.intp)
    for labelled in (spam, ~spam):
        size = np.count_nonzero(labelled)
        block[labelled] = np.arange(size) * number // size
    return block


def newest(spam: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the newest eighth of each class, but at least 20 lessons (half of a class under 40)."""
    found = np.zeros(len(spam), bool)
    for labelled in (spam, ~spam):
        size = int(np.count_nonzero(labelled))
        number = max(size // RECENT, min(FEWEST_RECENT, size // 2))
        found[np.flatnonzero(labelled)[:number]] = True
    return found


def weigh(x: Array, spam: NDArray[np.bool_]) -> tuple[Array, float]:
    """Fit non-negative weights (G,) and a constant to evidence x (m, G).

    Both classes have the same total weight, whatever their shares of the lessons. The targets are
    those of Platt (1999). They are not quite 0 and 1, so that scores stay finite if the lessons are
    separable. A message with target τ enters as a row of spam with weight τ and a row of ham with
    weight 1 - τ.
    """
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    deviation = np.maximum(deviation, LEAST_DEVIATION)
    direction = np.array([PRIOR[group] for group in GROUPS]) * deviation
    start, precision = around_multiple(direction, SCALE, RIDGE, SCALE_RIDGE)
    prior = Prior.of(start, precision, np.zeros(2), nonnegative=True, constant_ridge=0.0)
    n = np.where(spam, np.count_nonzero(spam), np.count_nonzero(~spam))
    target = np.where(spam, n + 1, 1) / (n + 2)
    share = 0.5 * len(spam) / n
    F = np.zeros((2 * len(x), 2, len(GROUPS)))
    F[:, 1] = np.tile((x - mean) / deviation, (2, 1))
    y = np.repeat([1, 0], len(x))
    weight = np.concatenate([share * target, share * (1 - target)])
    w, b = layer.fit(layer.Rows(F, y, weight), prior)
    weights = w / deviation
    return weights, float(b[1] - b[0] - weights @ mean)


def reach(beyond: Array, block: NDArray[np.intp]) -> tuple[float, float]:
    """Return a shrunken mean of the scores above 0, and an upper bound on their share.

    The number of such scores is modelled as Poisson. Its gamma prior is worth SEEN scores, of which
    SEEN_BEYOND are above 0. The bound is a quantile of the posterior, approximated as in Wilson and
    Hilferty (1931). If the number varies more from block to block than a Poisson number does, each
    score counts for less. If there are only few scores, n, the prior alone would decide. So the
    bound is at least 3/n, the 95 % limit if none of n scores is above 0 (the rule of three, Hanley
    and Lippman-Hand 1983).
    """
    far = beyond > 0
    number = int(np.count_nonzero(far))
    by_block = np.bincount(block[far], minlength=BLOCKS)
    spread = max(by_block.var(ddof=1) / by_block.mean(), 1.0) if number else 1.0
    a = number / spread + SEEN_BEYOND
    bound = a * (1 - 1 / (9 * a) + Z / (3 * np.sqrt(a))) ** 3
    share = min(max(bound / (len(beyond) / spread + SEEN), 3 / len(beyond)), 1.0)
    excess = (beyond[far].sum() + USUAL_NUMBER * USUAL_EXCESS) / (number + USUAL_NUMBER)
    return float(excess), float(share)


def is_likely(scores: Array, spam: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the lessons of ham, except those that are probably spam learned by mistake.

    Half of such mistakes should score above the median score of spam. So if n lessons of ham score
    above it, there are probably 2n mistakes. That many lessons of ham are left out, but at most a
    quarter of them: those whose scores are nearest to as many evenly spaced quantiles of the scores
    of spam.
    """
    ham = np.flatnonzero(~spam)
    of_ham, of_spam = scores[ham], scores[spam]
    wrong = min(2 * int(np.count_nonzero(of_ham > np.median(of_spam))), len(ham) // 4)
    for score in np.quantile(of_spam, 1 - (np.arange(wrong) + 0.5) / max(wrong, 1)):
        ham = np.delete(ham, np.argmin(np.abs(scores[ham] - score)))
    likely = np.zeros(len(spam), bool)
    likely[ham] = True
    return likely
