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
        lines.append(
            f"verdicts    spam above score {judgement.threshold(loss):+.2f}, so that about "
            f"{100 * loss:g} % of ham is lost; ham up to 0; unsure between"
        )
        if judgement.spam_scores:
            lines.append(
                f"caught      {judgement.caught(loss):.1%} of the spam that is known, when it is "
                "judged by the rest"
            )
        weights = sorted(judgement.weights.items(), key=lambda item: -item[1])
        lines.append("weights     " + ", ".join(f"{name} {value:.2f}" for name, value in weights))
    return "\n".join(lines)


def faded(messages: int, weight: float) -> str:
    """That old ones count for less, if some do."""
    return "" if weight == messages else f", which count for {weight:,.1f}"
