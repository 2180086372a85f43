"""The Text screen: typical words of each class, and predictions for a typed message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from genus.display import text as shown
from genus.report.evidence import top_words
from genus.studio.session import Session
from genus.studio.views.row import spread

WORDS = 12
MOST_CLASSES = 12  # classes whose words are listed
LONGEST = 20_000  # characters of a message
MOST_TERMS = 30


def words(session: Session) -> dict[str, Any]:
    """Return the most typical words of each class, for each column of texts."""
    if session.text is not None:
        model = session.text
        common = np.argsort(-model.class_count_, kind="stable")[:MOST_CLASSES]
        labels = model.classes_[np.sort(common)].tolist()
        listed = [(label, model.top_words(label, WORDS)) for label in labels]
        return {"columns": [{"name": "", "classes": told(session, listed)}]}
    model = session.now.model
    columns = [
        {"name": shown.name(column.name), "classes": told(session, top_words(model, j))}
        for j, column in enumerate(model.plan_.used)
        if column.kind == "text"
    ]
    return {"columns": columns}


def told(session: Session, listed: Any) -> list[dict[str, Any]]:
    return [
        {
            "class": session.place(label),
            "words": [[shown.name(word, 28), odds] for word, odds in own if odds > 0],
        }
        for label, own in listed
    ]


def judge(session: Session, message: str, column: int) -> dict[str, Any]:
    """Return the probabilities of a message, and what its strongest words contribute."""
    message = message[:LONGEST].encode("utf-8", "replace").decode()
    if session.text is not None:
        return by_text_model(session, message)
    model = session.now.model
    texts = [c.name for c in model.plan_.used if c.kind == "text"]
    if not 0 <= column < len(texts):
        raise ValueError("This table has no such column of texts. Reload the page.")
    name = texts[column]
    row = {c.name: [None] for c in model.plan_.used} | {name: [message]}
    explained = model.explain(row)
    labels = explained.classes.tolist()
    order = np.argsort(-explained.joint[0], kind="stable")
    first, second = labels[int(order[0])], labels[int(order[1])]
    terms = explained.word_log_odds(name, 0, first, second)
    column_term = explained.log_odds(first, second)[0, list(explained.features).index(name)]
    rest = float(column_term) - sum(term for _, term in terms)
    return {
        "p": spread(session, explained.classes, np.exp(explained.joint[0])),
        "first": session.place(first),
        "second": session.place(second),
        "baseline": float(explained.log_odds(first, second)[0].sum() - column_term),
        **strongest(terms),
        "rest": rest,
        "unknown": [],
    }


def by_text_model(session: Session, message: str) -> dict[str, Any]:
    model = session.text
    explained = model.explain(message)
    p = np.asarray(model.predict_proba([message]))[0]
    labels = explained.classes.tolist()
    order = np.argsort(-p, kind="stable")
    first, second = labels[int(order[0])], labels[int(order[1])]
    odds = explained.log_odds(first, second)[0]
    terms = sorted(
        zip(explained.features, odds[:-1].tolist(), strict=True), key=lambda item: -abs(item[1])
    )
    strange = list(explained.unknown[0])
    return {
        "p": spread(session, explained.classes, p),
        "first": session.place(first),
        "second": session.place(second),
        "baseline": float(odds[-1]),
        **strongest(terms),
        "rest": 0.0,
        "unknown": [shown.name(word, 40) for word in strange[:MOST_TERMS]],
    }


def strongest(terms: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """Return the words that contribute most, and the number and total of the others."""
    others = [float(term) for _, term in terms[MOST_TERMS:]]
    return {
        "terms": [[shown.name(word, 40), term] for word, term in terms[:MOST_TERMS]],
        "others": [len(others), sum(others)],
    }
