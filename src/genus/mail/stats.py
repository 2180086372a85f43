"""What a filter knows, in a few lines."""

from __future__ import annotations

from genus.mail.judgement import FEWEST
from genus.mail.spamfilter import SpamFilter


def stats_of(spam_filter: SpamFilter) -> str:
    """Lines to read: where, how much, how sure, how large."""
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
    if min(ham, spam) < FEWEST:
        lines.append(f"Every answer is unsure until {FEWEST} of each are learned.")
    else:
        loss = spam_filter.ham_loss
        threshold = judgement.threshold(loss)
        lines.append(
            f"verdicts    spam above score {threshold:+.2f}, so that "
            f"{percent(judgement.loss_beyond(threshold))} of ham is lost; ham up to 0; unsure "
            "between"
        )
        if judgement.spam_scores:
            lines.append(
                f"caught      {judgement.caught(loss):.1%} of the spam that is known, when it is "
                "judged by the rest"
            )
        weights = sorted(judgement.weights.items(), key=lambda item: -item[1])
        lines.append("weights     " + ", ".join(f"{name} {value:.2f}" for name, value in weights))
    return "\n".join(lines)


def percent(share: float) -> str:
    """A share that is an estimate, in two digits.

    >>> percent(0.00123), percent(1e-9)
    ('about 0.12 %', 'less than 0.001 %')
    """
    return f"about {100 * share:.2g} %" if share > 1e-5 else "less than 0.001 %"


def faded(messages: int, weight: float) -> str:
    """That old ones count for less, if some do."""
    return "" if weight == messages else f", which count for {weight:,.1f}"
