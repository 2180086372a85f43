"""scikit-learn's naive Bayes as a spam filter: words of the headers and of decoded text parts.

`python -m benchmarks.mail_sklearn CLASS MODEL learn|check FOLDER`
"""

from __future__ import annotations

import email
import pickle
import sys
from pathlib import Path

import numpy as np
import sklearn.naive_bayes
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline


def text(path: Path) -> str:
    """A message as Python's own library reads it."""
    message = email.message_from_bytes(path.read_bytes())
    parts = [str(value) for value in message.values()]
    for part in message.walk():
        if part.get_content_maintype() == "text":
            content = part.get_payload(decode=True)
            parts.append(content.decode("latin-1") if isinstance(content, bytes) else "")
    return "\n".join(parts)


def main(bayes: str, model: str, what: str, folder: str) -> None:
    files = {label: sorted((Path(folder) / label).iterdir()) for label in ("ham", "spam")}
    texts = [text(path) for label in files for path in files[label]]
    if what == "learn":
        y = np.repeat([0, 1], [len(files["ham"]), len(files["spam"])])
        pipeline = make_pipeline(CountVectorizer(), getattr(sklearn.naive_bayes, bayes)())
        Path(model).write_bytes(pickle.dumps(pipeline.fit(texts, y)))
        return
    scores = pickle.loads(Path(model).read_bytes()).predict_log_proba(texts)
    names = (path.name for label in files for path in files[label])
    for name, (ham, spam) in zip(names, scores, strict=True):
        print(name, spam - ham)


if __name__ == "__main__":
    main(*sys.argv[1:])
