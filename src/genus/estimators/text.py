"""A classifier of texts, which counts raw strings in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, column_or_1d

from genus.arrays import labels
from genus.arrays.matrix import Codes
from genus.arrays.options import flag, number, warn, whole
from genus.arrays.vocabulary import Vocabulary
from genus.estimators.columns import TEXT, matrix_of
from genus.estimators.discrete import LinearClassifier
from genus.estimators.inputs import check_weight
from genus.estimators.text_options import (
    check_buckets,
    check_ngrams,
    check_pattern,
    check_stop_words,
    listed_labels,
    missing_labels,
)
from genus.explanation import TextExplanation
from genus.model import Model
from genus.statistics import Array, Tally
from genus.text import Documents, Texts, Tokenizer
from genus.text.model import EVENT_MODELS, Corpus, Selection, Words, unlabeled
from genus.text.model.choosing import Choice

ANALYZERS = ("word", "char_wb")
COUNTED = ("_counted_ngrams", "_counted_words")  # decided from the first texts
CRITERIA = (None, "mutual-information", "chi2")
MOST_UNLABELED = 1e6
MOST_EXPLAINED = 1 << 30  # bytes
MOST_SAMPLED = 10_000_000  # texts
MOST_RUNS = 10_000_000  # n-grams that "auto" counts unless requested; each takes 100 bytes
MOST_CELLS = 1 << 24  # classes times words and n-grams in one table of scores
MANY_TEXTS = 10_000_000  # assumed size of a stream of unknown length
MOST_SHARDS = 256  # parts of a vocabulary that many processes add
READ_AHEAD = 50_000  # texts from which the number of n-grams is estimated


class TextClassifier(LinearClassifier):
    """Naive Bayes over the words of texts.

    Parameters
    ----------
    event_model : "multinomial" counts every occurrence of a word, "boolean" every word once in a
        document, "bernoulli" also counts absent words, and "complement" uses the counts of the
        other classes (Rennie et al. 2003). "auto" chooses one of these, with its alpha and its
        words, or a weighted mixture of several, which may also use pairs of words. It chooses by
        out-of-fold scores, and its probabilities are calibrated.
    alpha : pseudo-count added to the count of every word: a number, or "auto".
    stop_words : words to leave out: "english", or a list. N-grams that contain one are left out.
    ngrams : the smallest and the largest number of words, or of characters, in a token.
    analyzer : "word", or "char_wb" for n-grams of the characters of each word and its spaces.
    lowercase : whether to lower-case texts first.
    min_documents : words in fewer documents are left out; below 1 it is a share of the documents.
    max_features : the largest number of words: the most frequent, or the best by `select`.
    select : None, "mutual-information" or "chi2": how `max_features` chooses.
    token_pattern : a regular expression for tokens, with one group at most.
    tokenizer : a function that returns the tokens of a text, instead of `token_pattern`. It is
        slower than a pattern. Empty tokens are left out.
    priors : p(y) in the order of the classes, or by class; None: shares of documents.
    threads : the number of threads that read texts; None for all cores.
    calibrate : whether to calibrate the probabilities, by out-of-fold scores.
    unlabeled : the weight of a text without a label (None) in `fit`, which learns from such texts
        by expectation maximisation; with 0, such texts are an error.
    buckets : None counts every word by itself. A power of two hashes words into so many buckets:
        memory is bounded for any texts, but words that share a bucket are not distinguished,
        and explanations name buckets (such as #0a1b2) instead of words.
    keep_unused : whether words that min_documents, max_features or stop_words leave out are kept,
        so that other options can use them later. With False, `fit` drops them: models and their
        files are smaller, and Spark, Dask and Ray send only the words that are used. From then on
        the vocabulary is closed: only these words are counted in further texts.
    sample_size : the number of texts from which "auto" and `calibrate` choose. The model keeps
        twice as many, as hashes of their words; 0 keeps none, and then nothing can be chosen.

    Attributes
    ----------
    choice_ : the choice of "auto" or `calibrate`; print it to see the candidates and their scores.
    n_iter_ : the number of rounds of expectation maximisation for texts without a label.

    ngrams, analyzer, lowercase, token_pattern, tokenizer, buckets, keep_unused and sample_size
    decide what is counted and kept; "auto", calibrate and unlabeled need the texts; `resolve` can
    change all other options.

    >>> texts = ["win cash now", "cash prize", "lunch at noon?", "see you at lunch"]
    >>> model = TextClassifier().fit(texts, ["spam", "spam", "ham", "ham"])
    >>> model.predict(["claim your cash prize", "lunch?"])
    array(['spam', 'ham'], dtype='<U4')
    """

    m = p = class_prior = None
    fit_prior = force_alpha = True
    prior_alpha = 0.0

    def __init__(
        self,
        event_model: str = "multinomial",
        alpha: Any = 1.0,
        stop_words: Any = None,
        ngrams: tuple[int, int] = (1, 1),
        analyzer: str = "word",
        lowercase: bool = True,
        min_documents: float = 1,
        max_features: int | None = None,
        select: str | None = None,
        token_pattern: str | None = None,
        tokenizer: Callable[[str], Any] | None = None,
        priors: Any = None,
        threads: int | None = None,
        calibrate: bool = False,
        unlabeled: float = 0.0,
        buckets: int | None = None,
        keep_unused: bool = True,
        sample_size: int = 10_000,
    ) -> None:
        self.event_model = event_model
        self.alpha = alpha
        self.stop_words = stop_words
        self.ngrams = ngrams
        self.analyzer = analyzer
        self.lowercase = lowercase
        self.min_documents = min_documents
        self.max_features = max_features
        self.select = select
        self.token_pattern = token_pattern
        self.tokenizer = tokenizer
        self.priors = priors
        self.threads = threads
        self.calibrate = calibrate
        self.unlabeled = unlabeled
        self.buckets = buckets
        self.keep_unused = keep_unused
        self.sample_size = sample_size

    # Fitting

    _reads = TEXT

    def _start_over(self, like: Any = None) -> None:
        known = {} if like is None else vars(like)
        if like is not None and "_counted_words" not in known:
            self._refuse_to_drop("with like=")
        counted = {name: known[name] for name in COUNTED if name in known}
        for name in ("n_iter_", *COUNTED):
            self.__dict__.pop(name, None)
        super()._start_over(like)
        self.__dict__.update(counted)

    def _look(self, rows: Any, target: str | None, y: Codes, total: int | None) -> None:
        super()._look(rows, target, y, total)
        texts = self._matrix(rows)
        if self._chooses and len(texts):
            # A stream of unknown length may be long.
            self._encoded(texts, MANY_TEXTS if total is None else total, labels.about(y))

    def _matrix(self, rows: Any) -> Texts:
        texts: Texts = matrix_of(rows, self._columns_known(rows))
        return texts

    def _read_arrays(
        self, X: Any, y: Any, sample_weight: Any, first: bool, complete: bool
    ) -> Model:
        λ = number("unlabeled", self.unlabeled, least=0, most=MOST_UNLABELED)
        missing = None if y is None or λ == 0 else missing_labels(y)
        if missing is None or not missing.any() or not complete:
            return super()._read_arrays(X, y, sample_weight, first, complete)
        return self._read_partly_labelled(X, y, missing, sample_weight, λ)

    def _read_partly_labelled(
        self, X: Any, y: Any, missing: NDArray[np.bool_], sample_weight: Any, λ: float
    ) -> Model:
        texts = Texts.of(X)
        if len(texts) != len(missing):
            raise ValueError(
                f"There are {len(texts)} texts and {len(missing)} labels; give a label, or None, "
                "for each."
            )
        if missing.all():
            raise ValueError("No text has a label. Label some texts of each class.")
        rows, others = np.flatnonzero(~missing), np.flatnonzero(missing)
        known = [label for label, no in zip(listed_labels(y), missing, strict=True) if not no]
        checked = check_weight(sample_weight, len(texts))
        weights = None if checked is None else checked[rows]
        model = super()._read_arrays(texts.take(rows), known, weights, True, True)
        if len(model.classes) < 2:
            raise ValueError(
                "The number of classes has to be greater than one to learn from texts without a "
                f"label; all labels are {labels.show(model.classes[0])}. Label some texts of each "
                "class."
            )
        documents = self._tokenizer().encode(texts.take(others))
        light = np.ones(len(others)) if checked is None else checked[others]
        found = unlabeled.learn(model, documents, λ * light)
        self.n_iter_ = found.rounds
        return found.model

    # A closed vocabulary

    def drop_unused(self) -> Self:
        """Return a copy without the words that min_documents, max_features or stop_words leave out.

        Its vocabulary is closed: only its words are counted in further texts. The sum of two models
        with closed vocabularies counts the words that both have.
        """
        check_is_fitted(self)
        family: Any = self.model_.family
        return self._within(family.used(self.model_.statistics))

    def _within(self, words: Vocabulary) -> Self:
        """Return a copy that counts only these words; the first must be the empty word."""
        copy = self._copy()
        copy._counted_words = words
        copy._keep(copy._restricted(self.model_))
        return copy

    def _restricted(self, model: Model) -> Model:
        family = self._family().counted_as(
            {**model.family.counting, "words": self._counted_words.digest}
        )
        return replace(
            model, family=family, statistics=family.within(model.statistics), chosen=None
        )

    def _refuse_stream(self) -> None:
        self._refuse_to_drop("in partial_fit")

    def _refuse_to_drop(self, where: str) -> None:
        """Raise an error if words would be dropped before all texts are counted."""
        if not flag("keep_unused", self.keep_unused):
            raise ValueError(
                f"keep_unused=False works only in a single fit: {where} more texts may follow, "
                "which may contain any word. Leave it out, and call drop_unused() on the model of "
                "all texts."
            )

    def _closed(self, model: Model) -> Model:
        if flag("keep_unused", self.keep_unused) or len(model.classes) == 0:
            return model
        family: Any = model.family
        self._counted_words = family.used(model.statistics)
        return self._restricted(model)

    def _shards(self, partitions: int) -> int:
        return 1 if self.keep_unused else max(min(partitions, MOST_SHARDS), 1)

    def _divided(self, model: Model, shards: int) -> list[Model]:
        family: Any = model.family
        return [replace(model, statistics=s) for s in family.divided(model.statistics, shards)]

    def _reduced(self, model: Model) -> Model:
        family: Any = model.family
        return replace(model, statistics=family.possible(model.statistics))

    def _joined(self, models: list[Model]) -> Model:
        family: Any = models[0].family
        return replace(models[0], statistics=family.joined([m.statistics for m in models]))

    def _keep_rest(self, model: Model) -> None:
        if "_counted_words" in vars(self) and len(model.weights.classes) == 0:
            del self._counted_words  # nothing remains of the texts, not even their words
            model = self._empty()
        super()._keep_rest(model)

    # The group: words and n-grams that only one of two models has counted are left out

    def _alike(self, other: Any) -> tuple[Self, Any]:
        """Return both models, restricted to the words that both can count."""
        both = (self, other)
        if not all(isinstance(one, TextClassifier) and hasattr(one, "model_") for one in both):
            return self, other
        mine, theirs = self._alike_in_runs(other)
        known = [vars(one)["_counted_words"] for one in both if "_counted_words" in vars(one)]
        if not known or (len(known) == 2 and known[0].is_same(known[1])):
            return mine, theirs
        full = [one for one in both if len(one.model_.weights.classes)]
        if len(full) == 1 and "_counted_words" in vars(full[0]):
            words = vars(full[0])["_counted_words"]  # the other has counted nothing
        else:
            words = known[0] if len(known) == 1 else known[0][known[0].find(known[1]) >= 0]
        most = max(len(one) for one in known)
        if len(words) < 2 <= most:
            raise ValueError(
                "The closed vocabularies of the two models have no word in common, so the sum "
                "would have no words. Fit both with the same plan: fit(texts, y, like=plan)."
            )
        if len(words) < most:
            left_out = sum(int((one.find(words) < 0).sum()) for one in known)
            warn(
                "The closed vocabularies of the two models differ. The sum leaves out the words "
                f"that only one of them has ({left_out:,} in all). To keep every word, fit both "
                "with the same plan: fit(texts, y, like=plan)."
            )
        return mine._within(words), theirs._within(words)

    def _alike_in_runs(self, other: Any) -> tuple[Self, Any]:
        both = (self, other)
        ngrams = {one._counted_by.ngrams for one in both}
        automatic = all(one._option("event_model") == "auto" for one in both)
        if len(ngrams) == 1 or not automatic or {first for first, _ in ngrams} != {1}:
            return self, other
        fewest = min(ngrams)
        return self._without_runs(fewest), other._without_runs(fewest)

    def _without_runs(self, ngrams: tuple[int, int]) -> Self:
        family: Any = self.model_.family
        if family.tokenizer.ngrams == ngrams or ngrams != (1, 1):
            return self
        copy = self._copy()
        copy._counted_ngrams = check_ngrams(self.ngrams), ngrams
        statistics = family.without_runs(self.model_.statistics)
        copy._keep(replace(self.model_, family=copy._family(), statistics=statistics, chosen=None))
        return copy

    @property
    def choice_(self) -> Choice:
        """The choice that "auto" or `calibrate` made; print it to see all candidates and scores."""
        choice = self._fitted().choice
        if choice is None:
            raise AttributeError(
                "Nothing was chosen, because an event model was given without calibrate=True. Use "
                'event_model="auto" or calibrate=True.'
            )
        return choice

    @property
    def _chooses(self) -> bool:
        return flag("calibrate", self.calibrate) or self.event_model == "auto"

    @property
    def _tally(self) -> Tally:
        """The counts of words."""
        return self._fitted().statistics["words"]

    @property
    def _counted_by(self) -> Tokenizer:
        """The tokenizer that the texts were counted with, even if options have changed."""
        family: Any = self.model_.family
        return family.tokenizer

    def _check(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Any:
        try:
            return super()._check(X, y, sample_weight, reset=reset)
        except ValueError as error:
            if "has no label" not in str(error):
                raise
            remedy = (
                "To learn from texts without a label, use unlabeled=…, such as 0.3."
                if self.unlabeled == 0
                else "Only fit(X, y) with all texts at once, and without like=, learns from texts "
                "without a label. Use it, or give labels."
            )
            raise ValueError(f"{error} {remedy}") from None

    def _refuse_unsolved(self, model: Model) -> None:
        if model.statistics["words"].width > 1:  # words were counted
            self._refuse_empty(None, model)

    def _refuse_empty(self, X: Any, model: Model) -> None:
        words = model.parameters.words
        if len(words):
            return
        counted = model.statistics["words"].width - 1
        raise ValueError(
            f"empty vocabulary: all {counted} words that were counted are left out by stop_words, "
            "min_documents or max_features. Relax these options."
            if counted > 0
            else "empty vocabulary: no word was found in any text. Check the texts, and the "
            "options analyzer, tokenizer, token_pattern and ngrams."
        )

    # Words

    def vectorize(self, X: Any) -> scipy.sparse.csr_matrix:
        """Return how often each word of `vocabulary_` occurs in each text, (m, V).

        scikit-learn's CountVectorizer with these words returns the same.
        """
        check_is_fitted(self)
        documents = self._counted_by.encode_known(Texts.of(X), self._parameters.words)
        rows = documents.rows
        starts = np.append(rows.starts, rows.ends[-1:] if len(rows.ends) else 0)
        parts = rows.data.astype(np.int64), rows.indices, starts
        return scipy.sparse.csr_matrix(parts, shape=rows.shape)

    def explain(self, X: Any, features: Any = None) -> TextExplanation:
        """Return the contribution of each word of each text to each class."""
        check_is_fitted(self)
        if features is not None:
            raise ValueError("Words already have names. Leave features out.")
        texts = Texts.of([X] if isinstance(X, str | bytes) else X)
        documents = self._counted_by.encode(texts)
        size = 8 * len(documents) * documents.width * len(self.classes_)
        if size > MOST_EXPLAINED:
            raise ValueError(
                f"{len(documents)} texts with {documents.width} different words in "
                f"{len(self.classes_)} classes would take {size / 1e9:.1f} GB to explain. Explain "
                "fewer at a time."
            )
        parameters = self._parameters
        known = documents.words.find(parameters.words) >= 0
        contributions, baseline = self.model_.contributions(documents)
        counts = documents.rows.to_scipy().toarray()
        names = list(documents.words)
        (counted,) = self._tally.keys or (Vocabulary(),)
        strange = documents.words.find(counted) < 0
        if self._counted_by.joins:
            strange &= ~documents.words.runs
        unknown = [[names[j] for j in np.flatnonzero((row > 0) & strange)] for row in counts]
        return TextExplanation(
            contributions[:, known],
            baseline,
            self.classes_,
            [name for name, is_known in zip(names, known, strict=True) if is_known],
            counts[:, known],
            unknown=unknown,
        )

    def top_words(self, label: Any, n: int = 10) -> list[tuple[str, float]]:
        """Return the most typical words of a class, with their log-odds against other classes.

        Words are ranked by their log-odds times the share of the class's documents that contain
        them.
        """
        check_is_fitted(self)
        k = -1 if np.ndim(label) else int(labels.find(np.asarray([label]), self.classes_)[0])
        if k < 0:
            raise ValueError(
                f"{label!r} is not one of the classes {self.classes_.tolist()[:10]}. "
                "Name a class of the model."
            )
        parameters = self._parameters
        slope, _ = parameters.linear
        others = np.arange(len(slope)) != k
        prior = self.model_.prior[others]
        share = prior / prior.sum() if prior.sum() else np.full(len(prior), 1 / max(len(prior), 1))
        with np.errstate(invalid="ignore"):
            odds = slope[k] - share @ slope[others]
        odds = np.where(np.isnan(odds), 0.0, odds)  # a word without counts contributes nothing
        counts = parameters.counts
        within = counts["documents"][k] / max(float(counts["rows"][k, 0]), 1.0)
        telling = np.multiply(odds, within, out=odds.copy(), where=odds > 0)
        order = np.argsort(-telling, kind="stable")[: whole("n", n, least=0)]
        return [(parameters.words.word(i), float(odds[i])) for i in order.tolist()]

    def sample(
        self, n: int = 1, y: Any = None, random_state: Any = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Draw n texts (n,) and labels (n,), of class y or by p(y); words are in random order."""
        X, drawn = super().sample(n, y, random_state)
        return X[:, 0], drawn

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the words in use, (V,), in the order of the columns of `vectorize`."""
        return np.array([*self._parameters.words, None], dtype=object)[:-1]

    def _is_linear(self) -> bool:
        if self.__sklearn_is_fitted__():
            family: Any = self.model_.family
            if family.chooses:
                raise AttributeError(
                    "coef_, intercept_ and to_logistic() need log-odds that are linear in word "
                    "counts; those of event_model='auto' and calibrate=True are not. Use "
                    "resolve(event_model='multinomial', calibrate=False)."
                )
        return True

    @property
    def alpha_(self) -> Any:
        """The pseudo-count in use; if alpha is "auto", the chosen one; None for a mixture."""
        family: Any = self._fitted().family
        if not family.chooses:
            return super().alpha_
        used = {evidence.alpha for evidence in self.choice_.best.evidence}
        return used.pop() if len(used) == 1 else None

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The words in use and their positions."""
        return {word: i for i, word in enumerate(self._parameters.words)}

    @property
    def word_count_(self) -> Array:
        """The occurrences of each word in use in each class, (K, V)."""
        return self._parameters.counts["occurrences"].copy()

    @property
    def document_count_(self) -> Array:
        """The number of documents of each class that contain each word in use, (K, V)."""
        return self._parameters.counts["documents"].copy()

    def generative(self) -> TextClassifier:
        """Return the same counts with an event model that is a density.

        Scores of "complement", and scores that are chosen or calibrated, are not a density. In
        these cases the result is the multinomial model, unless `event_model` is "boolean" or
        "bernoulli".
        """
        check_is_fitted(self)
        family: Any = self.model_.family
        if not family.chooses and family.words.event_model != "complement":
            return self
        named = self._option("event_model")
        density = named if named in ("boolean", "bernoulli") else "multinomial"
        alpha = 1.0 if named == "auto" else self._option("alpha")
        return self._resolved(event_model=density, calibrate=False, alpha=alpha)

    # Internals

    def _family(self) -> Corpus:
        known = (*EVENT_MODELS, "auto")
        if self.event_model not in known:
            raise ValueError(
                f"event_model must be one of {', '.join(map(repr, known))}; got "
                f"{self.event_model!r}."
            )
        own = np.ndim(self.alpha) > 0 or self.alpha not in (1, "auto")
        if self.event_model == "auto" and own:
            raise ValueError(
                f'event_model="auto" chooses alpha, too; got {self.alpha!r}. Leave it out, or name '
                "an event model."
            )
        smoothing = self._smoothing()
        if self._chooses and not isinstance(smoothing.alpha, str) and smoothing.alpha == 0:
            raise ValueError(
                "calibrate=True needs nonzero probabilities, and with alpha=0 some are "
                "zero. Use alpha > 0, such as 1e-3."
            )
        size = whole("sample_size", self.sample_size, least=0, most=MOST_SAMPLED)
        if not flag("keep_unused", self.keep_unused) and self._selection().is_open:
            raise ValueError(
                "keep_unused=False drops the words that min_documents, max_features or stop_words "
                "leave out, but none of these options is set. Set one of them, such as "
                "min_documents=2."
            )
        options = (self.event_model, smoothing, self._selection())
        closed = vars(self).get("_counted_words")
        words = Words(self._tokenizer(), *options, known=closed)
        return Corpus(words, self._chooses, size if self._chooses else 0)

    def _check_alpha(self) -> Any:
        if not isinstance(self.alpha, str) and np.ndim(self.alpha):
            raise ValueError(
                'alpha must be one number for all words, or "auto"; got an array of shape '
                f"{np.shape(self.alpha)}."
            )
        return super()._check_alpha()

    def _tokenizer(self) -> Tokenizer:
        if self.analyzer not in ANALYZERS:
            raise ValueError(
                f"analyzer must be one of {', '.join(map(repr, ANALYZERS))}; got {self.analyzer!r}."
            )
        if self.tokenizer is not None and not callable(self.tokenizer):
            raise ValueError(
                f"tokenizer must be a function from a text to its tokens; got {self.tokenizer!r}."
            )
        own = self.tokenizer is not None or self.token_pattern is not None
        if own and self.analyzer != "word":
            raise ValueError(
                "token_pattern and tokenizer find words, but analyzer='char_wb' counts characters. "
                "Leave token_pattern and tokenizer out, or leave analyzer out."
            )
        if self.stop_words is not None and self.analyzer != "word":
            raise ValueError(
                "stop_words needs words, but analyzer='char_wb' counts characters. Leave one of "
                "them out."
            )
        if self.tokenizer is not None and self.token_pattern is not None:
            raise ValueError("Give token_pattern or tokenizer, and not both.")
        bits = check_buckets(self.buckets)
        if bits and self.stop_words is not None:
            raise ValueError(
                "stop_words needs words, but buckets= keeps none. Leave out one of them."
            )
        ngrams = check_ngrams(self.ngrams)
        asked, counted = vars(self).get("_counted_ngrams", (None, ngrams))
        if asked == ngrams:
            ngrams = counted
        elif self.event_model == "auto" and self.analyzer == "word" and not own:
            ngrams = ngrams[0], max(ngrams[1], 2)
        return Tokenizer(
            self.analyzer,
            ngrams,
            flag("lowercase", self.lowercase),
            check_pattern(self.token_pattern),
            self.tokenizer,
            None if self.threads is None else whole("threads", self.threads, least=1, most=1024),
            bits,
        )

    def _selection(self) -> Selection:
        if self.select not in CRITERIA:
            raise ValueError(
                f'select must be None, "mutual-information" or "chi2"; got {self.select!r}.'
            )
        if self.select is not None and self.max_features is None:
            raise ValueError("select needs max_features, the number of words to select. Give both.")
        most = self.max_features
        # "auto" counts pairs of words; a named event model uses them only on request.
        joined = self._tokenizer().joins
        runs = not joined or check_ngrams(self.ngrams)[1] > 1
        return Selection(
            check_stop_words(self.stop_words, self.lowercase),
            number("min_documents", self.min_documents, least=0),
            None if most is None else whole("max_features", most, least=1),
            self.select,
            runs or self.event_model == "auto",
            joined,
        )

    def _as_matrix(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        texts = Texts.of(X)
        if reset:
            self.n_features_in_ = 1
        if y is None:
            return texts, None
        if len(texts) == 0:
            raise ValueError(
                "There are no texts to learn from: got 0 texts. Give at least one of each class."
            )
        y = column_or_1d(y, warn=True)
        if len(y) != len(texts):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: there are "
                f"{len(texts)} texts and {len(y)} labels; give a label for each."
            )
        return texts, np.asarray(y)

    @property
    def _accepts_sparse(self) -> bool:
        return False

    def _ready(
        self, X: Texts, codes: Codes, classes: NDArray[Any], weight: Array | None
    ) -> Texts | Documents:
        self._family()  # raises an error for invalid options
        if not self._chooses:
            return X
        if len(X) <= READ_AHEAD:
            return self._encoded(X, len(X), len(classes))
        self._encoded(X[:READ_AHEAD], len(X), len(classes))
        return X

    def _encoded(self, X: Texts, texts: int, classes: int) -> Documents:
        """Return X as counts of words and, unless there are too many of them, of n-grams."""
        documents = self._tokenizer().encode(X)
        asked = check_ngrams(self.ngrams)
        if "_counted_ngrams" in vars(self) or asked == self._tokenizer().ngrams:
            return documents
        runs = documents.words.runs.sum() if self._tokenizer().joins else 0
        many = runs * texts > MOST_RUNS * len(X) or (
            runs and documents.width * classes > MOST_CELLS
        )
        self._counted_ngrams = asked, asked if many else self._tokenizer().ngrams
        return self._tokenizer().encode(X) if many else documents

    def _for_rereading(self, X: Texts, classes: int) -> Any:
        return self._encoded(X, len(X), classes)

    def _adopt(self, other: Any) -> None:
        super()._adopt(other)
        self.__dict__.update({name: vars(other)[name] for name in COUNTED if name in vars(other)})

    def _feature_names(self) -> list[str]:
        return ["text"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.allow_nan = False
        return tags
