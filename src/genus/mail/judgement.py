"""How far evidence is to be trusted: from counts of tokens to a probability of spam.

The score, the log-odds of spam, weighs the evidence x_g of groups (see `odds.py`; Raina, Shen, Ng &
McCallum 2003),

    s = Σ_g β_g x_g + β_0,

with weights β ≥ 0 that are fitted on messages by counts that they had no part in: lessons are left
out in blocks of neighbours, in the order in which they were learned. A block takes what is peculiar
to a time (a campaign, a route) with it, so that evidence which does not last gets little weight.

A message is spam if its score, less a doubt d, is beyond a threshold that follows from the share α
of ham that may be lost. Both are measured on the scores that lessons get without their block:

    d = δ Σ_g β_g max (u − u₀, 0),        t = β_0 + ē log (q / α).

u is the share of the message's tokens that no lesson holds, and u₀ the share that nine lessons in
ten do not exceed: what is new beyond the usual counts as if it were evidence of ham, of δ nats a
token. q is the share of ham beyond β_0, which is what a message without any evidence scores, and ē
how far beyond it that ham is on average. q is an upper confidence bound, which falls as ham is
learned without any beyond β_0; ē is shrunk towards a usual value. Likewise a message is ham only
if so low a score is rare among spam.
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

# The prior of the weights β: SCALE · PRIOR before anything is known. How groups are weighted was
# chosen while looking at the corpus of docs/benchmarks.md; the comments say what the values mean.
# Their proportions: a group of 1.0 counts fully.
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
# Their common factor t: evidence of one nat in a group of proportion 1 gives a probability of 0.88,
# where naive Bayes by one token says 0.73.
SCALE = 2.0
# The precision of a weight's distance from t · PRIOR, for evidence of deviation one: a deviation of
# 0.18. An undecided message tells 1/4 about such a weight, so this is worth at least 120 messages.
RIDGE = 30.0
# The precision of t: a deviation of 0.32, or 5 nats for a factor of 1 or 3.
SCALE_RIDGE = 10.0
LEAST_DEVIATION = 0.1  # of evidence; the weight of what differs less stays near to t · PRIOR
FEWEST = 5  # messages of either class, below which every answer is unsure
HAM_LOSS = 0.001  # α
SPAM_LOSS = 0.01  # the share of spam that may be called ham rather than unsure
GROWTH = 0.1
DOUBT = 2.0  # δ, about what a token of ham says that many messages hold
USUAL = 0.9  # the share of lessons that hold no more than is usual of what is new
# Before anything is measured, a share of 4 in 200 of a class scores beyond β_0, by 0.75 on average,
# as if that had been seen of 200 messages and 10 of them; z is the quantile of a bound of 90 %.
SEEN_BEYOND, SEEN, USUAL_EXCESS, USUAL_NUMBER, Z = 4.0, 200.0, 0.75, 10, 1.2816
RECENT, FEWEST_RECENT = 8, 20  # the newest lessons are an eighth of all, or so many


@dataclass(frozen=True)
class Judgement:
    """Weights of groups, a constant, and how far the scores of either class reach.

    No more than a share `ham_share` of ham scores beyond the constant, by `ham_excess` on average;
    `spam_share` and `spam_excess` are the same of spam below it. `usual_new` is the share of tokens
    new to the filter that is usual. `spam_scores` are quantiles of what the newest spam scored by
    what was learned before it, from none to all. `ham` and `spam` are how many lessons there were
    when it was made, `changes` how many had come and gone, and `pseudo` the λ of its evidence.
    """

    weights: dict[str, float] = field(
        default_factory=lambda: {group: SCALE * PRIOR[group] for group in GROUPS}
    )
    constant: float = 0.0
    ham_excess: float = USUAL_EXCESS
    ham_share: float = SEEN_BEYOND / SEEN
    spam_excess: float = USUAL_EXCESS
    spam_share: float = SEEN_BEYOND / SEEN
    usual_new: float = 0.8  # of what is imported, which has no pairs of words
    spam_scores: tuple[float, ...] = ()
    ham: int = 0
    spam: int = 0
    changes: int = 0
    pseudo: float = PSEUDO

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Judgement:
        """A judgement from a note; the one to begin with if there is none that can be read."""
        try:
            made = json.loads(text) if text else {}
            if made:  # a note without λ is of an earlier version, and stale
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
        """How many lessons more or fewer there are than when it was made."""
        return abs(totals.ham - self.ham) + abs(totals.spam - self.spam)

    def is_stale(self, totals: Totals, changes: int) -> bool:
        """Whether so much has changed since that it should be made again: a tenth.

        A class that has come, or gone, is not to be overlooked beside a large one.
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
        """The score beyond which no more than such a share of ham is to be expected.

        There are seldom enough lessons to see so small a share, so that the end of ham's scores is
        taken for exponential: a share q e^(−(s − β_0)/ē) is beyond s.
        """
        reach = self.constant + self.ham_excess * np.log(self.ham_share / ham_loss)
        return float(max(reach, self.ham_end))

    @property
    def ham_end(self) -> float:
        """The score up to which a message is ham: even odds, or less if spam is found there."""
        reach = self.spam_excess * np.log(max(self.spam_share / SPAM_LOSS, 1.0))
        return float(min(self.constant - reach, 0.0))

    def loss_beyond(self, score: float) -> float:
        """The share of ham that is to be expected beyond a score: `threshold` the other way."""
        share = self.ham_share * np.exp((self.constant - score) / self.ham_excess)
        return float(min(share, 1.0))

    def caught(self, ham_loss: float = HAM_LOSS) -> float:
        """The share of the newest spam that was beyond the threshold by what was learned before."""
        below = np.interp(
            self.threshold(ham_loss), self.spam_scores, np.linspace(0, 1, len(self.spam_scores))
        )
        return 1 - float(below)

    def doubt(self, new: Array | float) -> Array:
        """By how much a score must be higher for a share of tokens that are new to the filter."""
        return DOUBT * self.vector.sum() * np.maximum(np.asarray(new) - self.usual_new, 0.0)

    def verdict(
        self, tokens: Tokens, counts: Counts, totals: Totals, ham_loss: float = HAM_LOSS
    ) -> Verdict:
        """What a message with these tokens is, given their counts (n, 2)."""
        return self.verdicts([tokens], counts, totals, ham_loss)[0]

    def verdicts(
        self,
        messages: Sequence[Tokens],
        counts: Counts,
        totals: Totals,
        ham_loss: float = HAM_LOSS,
    ) -> list[Verdict]:
        """What messages with these tokens are, given the counts of all of them in order."""
        tokens, sizes = np.concatenate(messages), [len(each) for each in messages]
        place = np.repeat(np.arange(len(messages)), sizes)
        odds = log_odds(tokens, counts, totals)
        x = features(tokens, odds, place, len(messages))
        scores = (x * self.vector).sum(axis=1) + self.constant  # the same, however many there are
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
        """What each token of a message adds to the score: its part of what its group adds."""
        kind = groups_of(tokens)
        number = np.bincount(kind, minlength=len(GROUPS)) + SHRINK
        mean = np.bincount(kind, odds, len(GROUPS)) / number
        group = self.vector * bounded(mean)
        # Of a group that says nothing on the whole, its tokens' parts are those of a small one.
        slope = np.divide(group, mean, out=self.vector, where=np.abs(mean) > 1e-12)
        return (slope / number)[kind] * odds

    @property
    def vector(self) -> Array:
        return np.array([self.weights.get(group, 0.0) for group in GROUPS])


def too_little(totals: Totals) -> str:
    """Why nothing can be said yet, if so."""
    ham, spam = totals.weights
    short = [
        f"{name} ({number:g} of at least {FEWEST})"
        for name, number in (("ham", ham), ("spam", spam))
        if number < FEWEST
    ]
    if not short:
        return ""
    return f"Too little is learned to tell: {' and '.join(short)}. See genus mail learn --help."


def judge(sample: Sample, changes: int = 0) -> Judgement:
    """Weights, fitted on lessons by the counts of all others; of each class the newest is first."""
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
    """The block of each lesson: of either class the same share of neighbours in time."""
    block = np.empty(len(spam), np.intp)
    for labelled in (spam, ~spam):
        size = np.count_nonzero(labelled)
        block[labelled] = np.arange(size) * number // size
    return block


def newest(spam: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which lessons are the newest of their class: an eighth, or twenty if half are no fewer."""
    found = np.zeros(len(spam), bool)
    for labelled in (spam, ~spam):
        size = int(np.count_nonzero(labelled))
        number = max(size // RECENT, min(FEWEST_RECENT, size // 2))
        found[np.flatnonzero(labelled)[:number]] = True
    return found


def weigh(x: Array, spam: NDArray[np.bool_]) -> tuple[Array, float]:
    """Fit weights (G,), none of them negative, and a constant to evidence x (m, G).

    Classes count alike, whatever their shares among lessons: each for half of all messages. Targets
    are Platt's (1999), short of 0 and 1, so that no score runs away when a few lessons can be told
    apart without fail. A message of target τ is one of spam that counts τ and one of ham, 1 - τ.
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
    """How far scores that are beyond 0 are on average, and a bound on the share of them.

    The share is that of a Poisson number of such scores with a prior of SEEN_BEYOND in SEEN; the
    bound is the quantile of its posterior, a gamma distribution, by Wilson and Hilferty (1931). If
    numbers differ more from block to block than Poisson's do, one counts for less.
    """
    far = beyond > 0
    number = int(np.count_nonzero(far))
    by_block = np.bincount(block[far], minlength=BLOCKS)
    spread = max(by_block.var(ddof=1) / by_block.mean(), 1.0) if number else 1.0
    a = number / spread + SEEN_BEYOND
    bound = a * (1 - 1 / (9 * a) + Z / (3 * np.sqrt(a))) ** 3
    share = min(bound / (len(beyond) / spread + SEEN), 1.0)
    excess = (beyond[far].sum() + USUAL_NUMBER * USUAL_EXCESS) / (number + USUAL_NUMBER)
    return float(excess), float(share)


def is_likely(scores: Array, spam: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which lessons are ham, less those that are probably of spam learned as ham.

    Half of the spam that was learned as ham scores above the median of spam, so that twice as many
    as there are beyond it are dropped, those nearest to quantiles of spam's scores.
    """
    ham = np.flatnonzero(~spam)
    of_ham, of_spam = scores[ham], scores[spam]
    wrong = min(2 * int(np.count_nonzero(of_ham > np.median(of_spam))), len(ham) // 4)
    for score in np.quantile(of_spam, 1 - (np.arange(wrong) + 0.5) / max(wrong, 1)):
        ham = np.delete(ham, np.argmin(np.abs(scores[ham] - score)))
    likely = np.zeros(len(spam), bool)
    likely[ham] = True
    return likely
