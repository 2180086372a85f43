"""How far evidence is to be trusted: from counts of tokens to a probability of spam.

With n_s, n_h messages of spam and ham that hold a token, of N_s and N_h, a token's log-odds is

    w = log (n_s/N_s + ε) − log (n_h/N_h + ε),        ε = 2λ / (N_s + N_h),

and nothing if it was never seen: the ratio of what a naive Bayes filter believes of messages that
hold it, classes alike. A group's evidence is a shrunken mean of its tokens' log-odds,

    x_g = b tanh (m_g / b),        m_g = Σ w / (n_g + 5),

because words repeat each other, and a long message is not surer than a short one; and no group may
say more than b alone, whatever was put into it. The score, the
log-odds of spam, weighs the groups (Raina, Shen, Ng & McCallum 2003),

    s = Σ_g β_g x_g + β_0,

with weights β ≥ 0 that are fitted on messages by counts that they had no part in: lessons are left
out in blocks of neighbours, in the order in which they were learned. A block takes what is peculiar
to a time (a campaign, a route) with it, so that evidence which does not last gets little weight.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray

from genus.mail.store import UNIT, Lesson, Store, Totals
from genus.mail.store.lessons import Counts, Tokens
from genus.mail.tokens import GROUPS, groups_of, is_mostly_unread
from genus.mail.verdict import HAM, SPAM, UNREAD, UNSURE, Verdict
from genus.stacking import layer
from genus.stacking.prior import Prior, around_multiple

Array = NDArray[np.float64]
PSEUDO = 0.03  # λ
SHRINK = 5.0  # tokens that say nothing, in every group
BOUND = 2.0  # b
BLOCKS = 8

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
LEAST_DEVIATION = 1e-9  # of evidence that differs; if it does not, its weight stays at t · PRIOR
FEWEST = 5  # messages of either class, below which every answer is unsure
HAM_LOSS = 0.001
GROWTH = 0.1
LEAST_SURE = 10.0  # times the share of ham that may be lost is how probably what is spam is ham
TAIL, FEWEST_IN_TAIL = 0.02, 10
USUAL_EXCESS, USUAL_NUMBER = 1.5, 5


@dataclass(frozen=True)
class Judgement:
    """Weights of groups, a constant, and how far the scores of ham reach.

    A share `tail_share` of ham scores above `tail_start`, by `tail_excess` on average; all
    `scored` of it have a mean and a deviation. `spam_scores` are quantiles of spam's, from none to
    all. `ham` and `spam` are how many lessons there were when it was made, and `changes` how many
    had come and gone.
    """

    weights: dict[str, float] = field(
        default_factory=lambda: {group: SCALE * PRIOR[group] for group in GROUPS}
    )
    constant: float = 0.0
    tail_start: float = 0.0
    tail_excess: float = 1.0
    tail_share: float = 0.01
    ham_mean: float = 0.0
    ham_deviation: float = 1.0
    scored: int = 0
    spam_scores: tuple[float, ...] = ()
    ham: int = 0
    spam: int = 0
    changes: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Judgement:
        """A judgement from a note; the one to begin with if there is none that can be read."""
        try:
            made = json.loads(text) if text else {}
            found = cls(**made | {"spam_scores": tuple(made.get("spam_scores", ()))})
            return found if found.is_finite else cls()
        except (AttributeError, TypeError, ValueError):  # written by another version
            return cls()

    @property
    def is_finite(self) -> bool:
        numbers = [*self.weights.values(), self.constant, self.tail_start, self.tail_excess]
        numbers += [self.tail_share, self.ham_mean, self.ham_deviation, self.scored]
        numbers += [*self.spam_scores, self.ham, self.spam, self.changes]
        return bool(np.isfinite(numbers).all())

    def distance(self, totals: Totals) -> int:
        """How many lessons more or fewer there are than when it was made."""
        return abs(totals.ham - self.ham) + abs(totals.spam - self.spam)

    def is_stale(self, totals: Totals, changes: int) -> bool:
        """Whether so much has changed since that it should be made again: a tenth.

        A class that has come, or gone, is not to be overlooked beside a large one.
        """
        return changes - self.changes > GROWTH * (self.ham + self.spam) or any(
            abs(now - then) > GROWTH * then
            for now, then in ((totals.ham, self.ham), (totals.spam, self.spam))
        )

    def threshold(self, ham_loss: float = HAM_LOSS) -> float:
        """The score beyond which such a share of ham is to be expected.

        There are seldom enough lessons to see so small a share. The tail of ham's scores is taken
        for exponential: a share q e^(−(s − u)/ē) lies beyond s. Of few lessons the highest ten are
        no tail, and overstate it: if a normal distribution reaches less far, that is taken.

        Nor is anything spam that holds no evidence, or is less probably so than 0.99 for a loss of
        0.001: mail of a kind that was never learned is not lost because what was learned can be
        told apart so well.
        """
        beyond = self.tail_excess * np.log(max(self.tail_share / ham_loss, 1.0))
        reach = self.tail_start + beyond
        if 1 < self.scored < FEWEST_IN_TAIL / TAIL:
            from scipy.special import stdtrit  # not for a large store: it takes a while

            # Another draw from a normal distribution, its mean and deviation being estimates.
            spread = self.ham_deviation * np.sqrt(1 + 1 / self.scored)
            t = stdtrit(self.scored - 1, 1 - ham_loss)
            reach = min(reach, self.ham_mean + t * spread)
        doubt = min(LEAST_SURE * ham_loss, 0.1)
        return float(max(reach, np.log((1 - doubt) / doubt), self.constant))

    def loss_beyond(self, score: float) -> float:
        """The share of ham that is to be expected beyond a score: `threshold` the other way."""
        beyond = max(score - self.tail_start, 0.0) / self.tail_excess
        share = self.tail_share * np.exp(-beyond)
        if 1 < self.scored < FEWEST_IN_TAIL / TAIL and self.ham_deviation > 0:
            from scipy.special import stdtr

            spread = self.ham_deviation * np.sqrt(1 + 1 / self.scored)
            share = min(share, stdtr(self.scored - 1, (self.ham_mean - score) / spread))
        return float(share)

    def caught(self, ham_loss: float = HAM_LOSS) -> float:
        """The share of spam beyond the threshold, of messages that were left out."""
        below = np.interp(
            self.threshold(ham_loss), self.spam_scores, np.linspace(0, 1, len(self.spam_scores))
        )
        return 1 - float(below)

    def verdict(
        self, tokens: Tokens, counts: Counts, totals: Totals, ham_loss: float = HAM_LOSS
    ) -> Verdict:
        """What a message with these tokens is, given their counts (n, 2)."""
        reason = too_little(totals)
        x = features(tokens, log_odds(counts, totals), np.zeros(len(tokens), np.intp), 1)[0]
        score = float(x @ self.vector + self.constant)
        probability = float(1 / (1 + np.exp(-score)))
        if reason:
            return Verdict(UNSURE, probability, score, reason)
        verdict = SPAM if score > self.threshold(ham_loss) else HAM if score <= 0 else UNSURE
        if verdict == HAM and is_mostly_unread(tokens):
            return Verdict(UNSURE, probability, score, UNREAD)
        return Verdict(verdict, probability, score)

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


def log_odds(counts: Counts | Array, totals: Totals | tuple[float, float]) -> Array:
    """What each token says for spam, by how many messages hold it, (n, 2) of UNIT."""
    ham, spam = totals.weights if isinstance(totals, Totals) else totals
    ε = 2 * PSEUDO / max(ham + spam, 1.0)
    of_ham = counts[:, 0] / (UNIT * max(ham, 1.0)) + ε
    of_spam = counts[:, 1] / (UNIT * max(spam, 1.0)) + ε
    return np.where(counts.any(axis=1), np.log(of_spam / of_ham), 0.0)


def features(tokens: Tokens, odds: Array, message: NDArray[np.intp], messages: int) -> Array:
    """The evidence of each group, (messages, groups), of tokens and the message each is in."""
    cell = message * len(GROUPS) + groups_of(tokens)
    size = messages * len(GROUPS)
    summed = np.bincount(cell, odds, size)
    number = np.bincount(cell, minlength=size)
    return bounded(summed / (number + SHRINK)).reshape(messages, len(GROUPS))


def bounded(mean: Array) -> Array:
    return BOUND * np.tanh(mean / BOUND)


def judge(lessons: Sequence[Lesson], store: Store, totals: Totals, changes: int = 0) -> Judgement:
    """Weights, fitted on lessons by the counts of all others."""
    lessons = [each for each in lessons if not each.is_import and len(each.tokens)]
    spam = np.array([each.spam for each in lessons], bool)
    if min(np.count_nonzero(spam), np.count_nonzero(~spam)) < FEWEST:
        return Judgement(ham=totals.ham, spam=totals.spam, changes=changes)
    x = out_of_block(lessons, spam, store, totals)
    weights, constant = weigh(x, spam)
    scores = x @ weights + constant
    ham = likely(scores[~spam], scores[spam])
    return Judgement(
        dict(zip(GROUPS, weights.tolist(), strict=True)),
        constant,
        *tail(ham),
        float(ham.mean()),
        float(ham.std(ddof=1)),
        len(ham),
        tuple(np.quantile(scores[spam], np.linspace(0, 1, 41)).tolist()),
        totals.ham,
        totals.spam,
        changes,
    )


def out_of_block(
    lessons: Sequence[Lesson], spam: NDArray[np.bool_], store: Store, totals: Totals
) -> Array:
    """The evidence in each lesson by counts without its block, (m, groups)."""
    sizes = np.array([len(each.tokens) for each in lessons])
    message = np.repeat(np.arange(len(lessons)), sizes)
    tokens = np.concatenate([each.tokens for each in lessons])
    ids, at = np.unique(tokens, return_inverse=True)
    weight = np.array([each.counts_for for each in lessons], float)
    all_ham, all_spam = totals.weights
    if len(lessons) == totals.ham + totals.spam:  # then counts are the sums of these
        of_class = [np.bincount(at, (weight * each)[message], len(ids)) for each in (~spam, spam)]
        counts = np.column_stack(of_class)
    else:
        counts = store.counts(ids).astype(float)
    block = np.empty(len(lessons), np.intp)
    for labelled in (spam, ~spam):
        number = np.count_nonzero(labelled)
        block[labelled] = np.arange(number) * BLOCKS // number
    x = np.empty((len(lessons), len(GROUPS)))
    for k in range(BLOCKS):
        held = block == k
        if not held.any():
            continue
        rows = np.flatnonzero(held[message])
        left = counts[at[rows]]
        for column, labelled in ((0, ~spam), (1, spam)):
            inside = rows[labelled[message[rows]]]
            own = np.bincount(at[inside], weight[message[inside]], len(ids))
            left[:, column] -= own[at[rows]]
        np.maximum(left, 0, out=left)  # lessons may have been forgotten since they were read
        ham_left = all_ham - weight[held & ~spam].sum() / UNIT
        spam_left = all_spam - weight[held & spam].sum() / UNIT
        odds = log_odds(left, (ham_left, spam_left))
        place = np.cumsum(held) - 1
        messages = int(np.count_nonzero(held))
        x[held] = features(tokens[rows], odds, place[message[rows]], messages)
    return x


def weigh(x: Array, spam: NDArray[np.bool_]) -> tuple[Array, float]:
    """Fit weights (G,), none of them negative, and a constant to evidence x (m, G).

    Classes count alike, whatever their shares among lessons: each for half of all messages. Targets
    are Platt's (1999), short of 0 and 1, so that no score runs away when a few lessons can be told
    apart without fail. A message of target τ is one of spam that counts τ and one of ham, 1 - τ.
    """
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    deviation = np.where(deviation > LEAST_DEVIATION, deviation, 1.0)
    direction = np.array([PRIOR[group] for group in GROUPS]) * deviation
    start, precision = around_multiple(direction, SCALE, RIDGE, SCALE_RIDGE)
    prior = Prior.of(start, precision, np.zeros(2), nonnegative=True, constant_ridge=0.0)
    n = np.where(spam, np.count_nonzero(spam), np.count_nonzero(~spam))
    target = np.where(spam, n + 1, 1) / (n + 2)
    share = 0.5 * len(spam) / n
    F = np.zeros((2 * len(x), 2, len(GROUPS)))
    F[:, 1] = np.tile((x - mean) / deviation, (2, 1))
    y = np.repeat([1, 0], len(x))
    w, b = layer.fit(F, y, np.concatenate([share * target, share * (1 - target)]), prior)
    weights = w / deviation
    return weights, float(b[1] - b[0] - weights @ mean)


def tail(scores: Array) -> tuple[float, float, float]:
    """Where the highest of ascending scores begin, their mean excess, and their share.

    They are 2 % of all and at least ten, but no more than half. Few scores tell little of how far
    they reach, so that some more of a usual excess are added.
    """
    n = len(scores)
    m = int(min(max(TAIL * n, FEWEST_IN_TAIL), max(n // 2, 1)))
    start = scores[max(n - m - 1, 0)]
    beyond = float(np.sum(scores[n - m :] - start))
    excess = (beyond + USUAL_NUMBER * USUAL_EXCESS) / (m + USUAL_NUMBER)
    return float(start), excess, m / n


def likely(ham: Array, spam: Array) -> Array:
    """Scores of ham, ascending, less those that are probably of spam learned as ham.

    Half of the spam that was learned as ham scores above the median of spam, so that twice as many
    as there are beyond it are dropped, those nearest to quantiles of spam's scores.
    """
    scores = np.sort(ham)
    wrong = min(2 * int(np.count_nonzero(scores > np.median(spam))), len(scores) // 4)
    for score in np.quantile(spam, 1 - (np.arange(wrong) + 0.5) / max(wrong, 1)):
        scores = np.delete(scores, np.argmin(np.abs(scores - score)))
    return scores
