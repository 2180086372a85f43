"""A summary of a filter: its lessons, thresholds and weights."""

from __future__ import annotations

from genus.display.text import count
from genus.mail.judgement import FEWEST
from genus.mail.spamfilter import SpamFilter
from genus.mail.verdict import HAM, SPAM

ENOUGH = 20  # messages of a class, below which more are advised
MOST_UNEVEN = 20  # messages of one class for each of the other, above which more are advised
LITTLE = 0.3  # the share of spam caught, below which the filter advises


def numbers_of(spam_filter: SpamFilter) -> dict[str, object]:
    """Return the summary as numbers, for programs; unknown values are None."""
    store, judgement = spam_filter.store, spam_filter.judgement
    totals = store.totals()
    ham, spam = totals.weights
    is_known = min(ham, spam) >= FEWEST
    threshold = judgement.threshold(spam_filter.ham_loss) if is_known else None
    caught = judgement.caught(spam_filter.ham_loss) if is_known and judgement.spam_scores else None
    return {
        "store": store.name,
        "ham": totals.ham,
        "spam": totals.spam,
        "ham_weight": ham,
        "spam_weight": spam,
        "tokens": store.distinct(),
        "bytes": store.size(),
        "ham_loss": spam_filter.ham_loss,
        "spam_above": threshold,
        "ham_up_to": judgement.ham_end if is_known else None,
        "caught": caught,
        "weights": judgement.weights if is_known else None,
        "advice": advice(spam_filter),
    }


def stats_of(spam_filter: SpamFilter) -> str:
    """Return the summary as lines of text."""
    store, judgement = spam_filter.store, spam_filter.judgement
    totals = store.totals()
    ham, spam = totals.weights
    lines = [
        f"store       {store.name}",
        f"ham known   {totals.ham:,} messages{faded(totals.ham, ham)}",
        f"spam known  {totals.spam:,} messages{faded(totals.spam, spam)}",
        f"tokens      {store.distinct():,}",
        f"size        {store.size() / 1e6:,.1f} MB",
    ]
    if min(ham, spam) >= FEWEST:
        loss = spam_filter.ham_loss
        threshold = judgement.threshold(loss)
        lines.append(
            f"verdicts    spam above score {threshold:+.2f} (expected loss: "
            f"{percent(judgement.loss_beyond(threshold))} of ham); ham up to "
            f"{judgement.ham_end:+.2f}; unsure between"
        )
        if judgement.spam_scores:
            lines.append(
                f"caught      {judgement.caught(loss):.1%} of the newest spam, using only mail "
                "that was learned earlier"
            )
        weights = sorted(judgement.weights.items(), key=lambda item: -item[1])
        lines.append("weights     " + ", ".join(f"{name} {value:.2f}" for name, value in weights))
    return "\n".join(lines + advice(spam_filter))


def advice(spam_filter: SpamFilter) -> list[str]:
    """Return what keeps the filter from working well and what to do: at most one text."""
    judgement, totals = spam_filter.judgement, spam_filter.store.totals()
    number = dict(zip((HAM, SPAM), totals.weights, strict=True))
    scarce, other = sorted((HAM, SPAM), key=lambda name: number[name])
    more = f"genus mail learn --{scarce} FOLDER"
    few = f"The filter has learned only {count(round(number[scarce]), 'message')} of {scarce}"
    if number[scarce] < FEWEST:
        until = f"Every verdict is unsure until it has learned {FEWEST} messages of each class"
        return [f"{few}. {until}. Learn more: {more}."]
    if number[scarce] < ENOUGH or number[scarce] < number[other] / MOST_UNEVEN:
        most = f"{number[other]:,.0f} of {other}"
        if number[scarce] < number[other] / 2:
            return [f"{few}, but {most}. Learn more {scarce}: {more}."]
        more = "genus mail learn --spam FOLDER --ham FOLDER"
        return [f"{few} and {most}. Learn more of both: {more}."]
    caught = judgement.caught(spam_filter.ham_loss) if judgement.spam_scores else 1.0
    if caught < LITTLE:
        return [
            f"The filter catches only {caught:.0%} of the newest spam. Learn more mail of both "
            "classes, from the same months, and look for wrong lessons: genus mail why."
        ]
    return []


def percent(share: float) -> str:
    """Format an estimated share with two digits.

    >>> percent(0.00123), percent(1e-9)
    ('about 0.12 %', 'less than 0.001 %')
    """
    return f"about {100 * share:.2g} %" if share > 1e-5 else "less than 0.001 %"


def faded(messages: int, weight: float) -> str:
    """Return ", which count for …" if some messages have faded, or an empty string."""
    return "" if weight == messages else f", which count for {weight:,.1f}"
