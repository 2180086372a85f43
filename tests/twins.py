"""What each function of the kernel means, in plain Python and NumPy: slow, and plain to see.

A twin takes the arguments of its function but for ``threads``; m rows, n columns, K classes.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp, softmax

Array = NDArray[Any]

infinities = np.errstate(invalid="ignore")  # 0 · ∞ and ∞ - ∞ are NaN here, too


def weights_of(weight: Array | None, m: int) -> Array:
    return np.ones(m) if weight is None else weight


def by_class(values: Array, y: Array, K: int) -> Array:
    """Sum the rows of each class: (m, n) -> (K, n)."""
    sums = np.zeros((K, *values.shape[1:]))
    for k in range(K):
        sums[k] = values[y == k].sum(axis=0)
    return sums


def first(forbidden: Array) -> int:
    flat = np.flatnonzero(forbidden)
    return int(flat[0]) if len(flat) else -1


@infinities
def sum_columns(
    X: Array, y: Array, weight: Array | None, n_classes: int, nonnegative: bool
) -> tuple[Array, Array, int]:
    x = X.astype(np.float64)
    w = weights_of(weight, len(y))[:, np.newaxis]
    hole = np.isnan(x)
    return (
        by_class(np.where(hole, 0, w * x), y, n_classes),
        by_class(w * hole, y, n_classes if hole.any() else 0),
        first(np.isinf(x) | (nonnegative & (x < 0))),
    )


def count_above(
    X: Array, y: Array, weight: Array | None, n_classes: int, threshold: float
) -> tuple[Array, Array, int]:
    x = X.astype(np.float64)
    w = weights_of(weight, len(y))[:, np.newaxis]
    return (
        by_class(w * (x > threshold), y, n_classes),
        by_class(w * np.isnan(x), y, n_classes if np.isnan(x).any() else 0),
        first(np.isinf(x)),
    )


@infinities
def square_columns(
    X: Array, y: Array, weight: Array | None, origin: Array, n_classes: int
) -> tuple[Array, Array, Array, int]:
    x = X.astype(np.float64)
    w = weights_of(weight, len(y))[:, np.newaxis]
    z = x - origin[y]
    there = ~np.isnan(x)
    return (
        by_class(w * there, y, n_classes),
        by_class(np.where(there, w * z, 0), y, n_classes),
        by_class(np.where(there, w * z * z, 0), y, n_classes),
        first(np.isinf(x)),
    )


@infinities
def center(
    X: Array, y: Array, weight: Array | None, origin: Array, n_classes: int, rows: Array | None
) -> tuple[Array, Array, int, Array]:
    """Return what the kernel returns, and Z."""
    x = (X if rows is None else X[rows]).astype(np.float64)
    w = weights_of(weight, len(y))
    complete = ~np.isnan(x).any(axis=1)
    z = np.where(complete[:, np.newaxis], x - origin[y], 0)
    return (
        by_class(w * complete, y, n_classes),
        by_class(w[:, np.newaxis] * z, y, n_classes),
        first(np.isinf(x)),
        z,
    )


def entries(
    data: Array, indices: Array, starts: Array, ends: Array
) -> list[tuple[int, int, float]]:
    """Return the triples (row, column, x) of sparse rows."""
    return [
        (i, int(indices[e]), float(data[e]))
        for i, (start, end) in enumerate(zip(starts, ends, strict=True))
        for e in range(start, end)
    ]


@infinities
def sum_columns_csr(
    data: Array,
    indices: Array,
    starts: Array,
    ends: Array,
    n_columns: int,
    y: Array,
    weight: Array | None,
    n_classes: int,
    nonnegative: bool,
) -> tuple[Array, Array, int]:
    w = weights_of(weight, len(y))
    total, missing = np.zeros((n_classes, n_columns)), np.zeros((n_classes, n_columns))
    invalid, holes = [], False
    for i, j, x in entries(data, indices, starts, ends):
        if np.isnan(x):
            missing[y[i], j] += w[i]
            holes = True
            continue
        total[y[i], j] += w[i] * x
        if np.isinf(x) or (nonnegative and x < 0):
            invalid.append(i * n_columns + j)
    return total, missing[: n_classes * holes], min(invalid, default=-1)


def count_above_csr(
    data: Array,
    indices: Array,
    starts: Array,
    ends: Array,
    n_columns: int,
    y: Array,
    weight: Array | None,
    n_classes: int,
    threshold: float,
) -> tuple[Array, Array, int]:
    w = weights_of(weight, len(y))
    ones, missing = np.zeros((n_classes, n_columns)), np.zeros((n_classes, n_columns))
    invalid, holes = [], False
    for i, j, x in entries(data, indices, starts, ends):
        ones[y[i], j] += w[i] * (x > threshold)
        missing[y[i], j] += w[i] * np.isnan(x)
        holes |= bool(np.isnan(x))
        if np.isinf(x):
            invalid.append(i * n_columns + j)
    return ones, missing[: n_classes * holes], min(invalid, default=-1)


def column_range(X: Array) -> tuple[Array, Array, Array, Array]:
    x = X.astype(np.float64)
    hole = np.isnan(x)
    whole = np.isfinite(x) & (np.floor(np.where(np.isfinite(x), x, 0.5)) == x)
    return (
        np.where(hole, np.inf, x).min(axis=0, initial=np.inf),
        np.where(hole, -np.inf, x).max(axis=0, initial=-np.inf),
        (hole | whole).all(axis=0),
        hole.any(axis=0),
    )


def codes_of(X: Array, offsets: Array) -> list[tuple[int, int, int]]:
    """Return (row, column, place in the table) of the cells that hold a code of their column."""
    return [
        (i, j, int(offsets[j]) + int(X[i, j]))
        for i in range(X.shape[0])
        for j in range(X.shape[1])
        if 0 <= X[i, j] < offsets[j + 1] - offsets[j] and X[i, j] == int(X[i, j])
    ]


def tally_codes(X: Array, y: Array, weight: Array | None, offsets: Array, n_classes: int) -> Array:
    w = weights_of(weight, len(y))
    counts = np.zeros((n_classes, int(offsets[-1])))
    for i, _, place in codes_of(X, offsets):
        counts[y[i], place] += w[i]
    return counts


def gather_scores(X: Array, table: Array, offsets: Array) -> tuple[Array, bool]:
    scores = np.zeros((X.shape[0], table.shape[1]))
    codes = codes_of(X, offsets)
    for i, _, place in codes:
        scores[i] += table[place]
    return scores, table.shape[1] == 0 or len(codes) == X.size


def unique_codes(values: Array) -> tuple[Array, Array]:
    there = ~np.isnan(values)
    unique = np.unique(values[there])
    codes = np.full(len(values), -1)
    codes[there] = np.searchsorted(unique, values[there])
    return unique, codes


@infinities
def score_above(X: Array, threshold: float, on: Array, missing: Array) -> Array:
    x = X.astype(np.float64)[:, :, np.newaxis]
    return np.where(np.isnan(x), missing, np.where(x > threshold, on, 0)).sum(axis=1)


@infinities
def score_linear(X: Array, table: Array, missing: Array) -> Array:
    x = X.astype(np.float64)[:, :, np.newaxis]
    return np.where(np.isnan(x), missing, np.where(x == 0, 0, x * table)).sum(axis=1)


@infinities
def score_gaussian(X: Array, mean: Array, precision: Array, missing: Array) -> Array:
    x = X.astype(np.float64)[:, np.newaxis, :]
    return np.where(np.isnan(x), missing, -0.5 * (x - mean) ** 2 * precision).sum(axis=2)


def subtract(a: Array, b: Array, rounding: float) -> Array:
    result = a - b
    close = np.abs(result) <= rounding * np.maximum(np.abs(a), np.abs(b))
    return np.where(close & ((a != np.floor(a)) | (b != np.floor(b))), 0.0, result)


def grid_points(mean: Array, spread: Array) -> Array:
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        size = np.frexp(np.abs(mean))[1]
        by_spread = np.frexp(spread)[1]
        exponent = np.where(spread > 0, np.maximum(by_spread, size - 30), size - 20)
        step = np.ldexp(1.0, np.maximum(exponent, -1000))
        point = np.round(mean / step) * step
    return np.where(np.isfinite(point), point, 0.0)


@infinities
def centre_powers(
    origin: Array, weights: Array, sums: Array, squares: Array, pooled: bool, rounding: float
) -> tuple[Array, Array, Array, bool]:
    some = np.where(weights == 0, 1, weights)
    offset = np.where(weights == 0, 0.0, sums / some)
    explained, total = offset * sums, weights.sum()
    if pooled:
        explained = explained.sum(axis=0, keepdims=True)
        some = np.array([[total if total > 0 else 1.0]])
    scatter = squares - explained
    scatter = np.where(np.abs(scatter) <= rounding * np.abs(squares), 0.0, scatter)
    variance = np.where(total <= 0 if pooled else weights == 0, 0.0, scatter / some)
    formal = (weights <= 0) | (variance < 0)
    near = grid_points(origin + offset, np.sqrt(np.maximum(variance, 0)) + 0 * origin)
    return offset, variance, np.where(formal, origin, near), bool(formal.any())


def row_maxima(scores: Array) -> tuple[Array, Array]:
    return scores.max(axis=1), scores.argmax(axis=1)


def score_entries(
    csr: tuple[Array, ...], values: Array, table: Array, missing: Array, nonnegative: bool
) -> tuple[Array, int]:
    """Return the sum of values times table rows, and the place of the first invalid entry."""
    scores = np.zeros((len(csr[2]), table.shape[1]))
    invalid = []
    replaced = entries(values, *csr[1:])
    for (i, j, x), (_, _, value) in zip(entries(*csr), replaced, strict=True):
        if np.isnan(x):
            scores[i] += missing[j]
        elif value != 0:
            scores[i] += value * table[j]
        if np.isinf(x) or (nonnegative and x < 0):
            invalid.append(i * len(table) + j)
    return scores, min(invalid, default=-1)


@infinities
def score_linear_csr(
    data: Array,
    indices: Array,
    starts: Array,
    ends: Array,
    table: Array,
    missing: Array,
    nonnegative: bool,
) -> tuple[Array, int]:
    return score_entries((data, indices, starts, ends), data, table, missing, nonnegative)


@infinities
def score_above_csr(
    data: Array,
    indices: Array,
    starts: Array,
    ends: Array,
    threshold: float,
    on: Array,
    missing: Array,
) -> tuple[Array, int]:
    return score_entries((data, indices, starts, ends), data > threshold, on, missing, False)


# Texts. A twin reads chunks of any kind, and takes the words of an index from its keys.


def texts_of(chunks: list[tuple[Any, ...]]) -> list[Any]:
    """Return the texts of chunks: strings, bytes, lists of tokens, or None where there is none."""
    return [text for chunk in chunks for text in READERS[chunk[0]](*chunk[1:])]


def read_utf8(offsets: Array, content: Array) -> list[bytes]:
    return [content[a:b].tobytes() for a, b in itertools.pairwise(offsets.tolist())]


def read_views(views: Array, buffers: list[Array]) -> list[bytes | None]:
    texts: list[bytes | None] = []
    for view in views.reshape(-1, 16):
        size, _, which, start = view.view(np.int32).tolist()
        if 0 <= size <= 12:
            texts.append(view[4 : 4 + size].tobytes())
        elif size < 0 or start < 0 or not 0 <= which < len(buffers):
            texts.append(None)
        else:
            there = start + size <= len(buffers[which])
            texts.append(buffers[which][start : start + size].tobytes() if there else None)
    return texts


def read_tokens(content: Array, ends: Array, rows: Array) -> list[list[str]]:
    words = words_of(content, ends)
    return [words[a:b] for a, b in itertools.pairwise(rows.tolist())]


READERS: dict[str, Callable[..., Any]] = {
    "strings": list,
    "utf8": read_utf8,
    "views": read_views,
    "tokens": read_tokens,
}


def first_problem(texts: list[Any]) -> tuple[int, int]:
    """Return the first text that is none, or no UTF-8, and the byte; -2 if it is none."""
    for row, text in enumerate(texts):
        if not isinstance(text, str | bytes | list):
            return row, -2
        try:
            _ = text.decode() if isinstance(text, bytes) else text
        except UnicodeDecodeError as error:
            return row, error.start
    return -1, -1


def tokens_of(text: Any, how: tuple[Any, ...]) -> list[str]:
    """Return the tokens of one text, as scikit-learn's CountVectorizer finds them, or buckets."""
    *plain, bits = how
    found = plain_tokens(text, plain)
    return [bucket(token, bits) for token in found] if bits else found


def bucket(token: str, bits: int) -> str:
    """Return the name of the bucket that a token hashes to."""
    digits = f"{stable_hash(token) >> (64 - bits):0{-(-bits // 4)}x}"
    return f"# {digits}" if " " in token else f"#{digits}"


def plain_tokens(text: Any, how: Sequence[Any]) -> list[str]:
    _, lowercase, characters, least, largest = how
    if isinstance(text, list):
        return runs(text, least, largest)
    text = text.decode() if isinstance(text, bytes) else text
    text = text.lower() if lowercase else text
    if not characters:
        return runs(re.findall(r"\w\w+", text), least, largest)
    tokens = []
    for word in (f" {word} " for word in text.split()):
        sizes = range(min(least, len(word)), min(largest, len(word)) + 1)
        tokens += [word[i : i + n] for n in sizes for i in range(len(word) - n + 1)]
    return tokens


def runs(words: list[str], least: int, largest: int) -> list[str]:
    sizes = range(least, largest + 1)
    return [" ".join(words[i : i + n]) for n in sizes for i in range(len(words) - n + 1)]


def words_of(content: Array, ends: Array) -> list[str]:
    content, places = content.tobytes(), [0, *ends.tolist()]
    return [content[a:b].decode("utf-8", "surrogatepass") for a, b in itertools.pairwise(places)]


def arrays_of(words: list[str]) -> tuple[Array, Array]:
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    ends = np.cumsum([len(word) for word in encoded], dtype=np.int64)
    return np.frombuffer(bytearray(b"".join(encoded)), dtype=np.uint8), ends


def count_texts(
    chunks: list[tuple[Any, ...]],
    how: tuple[Any, ...],
    y: Array,
    weight: Array | None,
    n_classes: int,
) -> tuple[tuple[Array, Array], Array, Array, tuple[int, int]]:
    texts = texts_of(chunks)
    problem = first_problem(texts)
    if problem[0] >= 0:
        return arrays_of([]), np.zeros((0, 0)), np.zeros((0, 0)), problem
    tokens = [tokens_of(text, how) for text in texts]
    words = sorted({"", *itertools.chain(*tokens)})
    place = {word: i for i, word in enumerate(words)}
    occurrences, documents = np.zeros((2, n_classes, len(words)))
    for own, k, w in zip(tokens, y, weights_of(weight, len(y)), strict=True):
        documents[k, 0] += w
        for word, times in Counter(own).items():
            occurrences[k, place[word]] += w * times
            documents[k, place[word]] += w
    return arrays_of(words), occurrences, documents, problem


Sparse = tuple[tuple[Array, Array], Array, Array, Array, tuple[int, int]]


def encode_texts(chunks: list[tuple[Any, ...]], how: tuple[Any, ...]) -> Sparse:
    texts = texts_of(chunks)
    sound = first_problem(texts)[0] < 0
    words = sorted({t for text in texts for t in tokens_of(text, how)} if sound else ())
    return arrays_of(words), *encoded(texts, how, words)


def encode_known(
    chunks: list[tuple[Any, ...]], how: tuple[Any, ...], index: tuple[Array, ...]
) -> Sparse:
    return arrays_of([]), *encoded(texts_of(chunks), how, indexed_words(*index))


def encoded(
    texts: list[Any], how: tuple[Any, ...], words: list[str]
) -> tuple[Array, Array, Array, tuple[int, int]]:
    nothing, problem = np.zeros(0, np.int32), first_problem(texts)
    if problem[0] >= 0:
        return np.zeros(0, np.int64), nothing, nothing, problem
    place = {word: i for i, word in enumerate(words)}
    rows = [
        sorted(Counter(place[t] for t in tokens_of(text, how) if t in place).items())
        for text in texts
    ]
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    table = np.array([entry for row in rows for entry in row], np.int32).reshape(-1, 2)
    return starts, table[:, 0].copy(), table[:, 1].copy(), problem


def score_texts(
    chunks: list[tuple[Any, ...]],
    how: tuple[Any, ...],
    index: tuple[Array, ...],
    table: Array,
    weighting: str,
    power: float,
) -> tuple[Array, tuple[int, int]]:
    texts, place = texts_of(chunks), {w: i for i, w in enumerate(indexed_words(*index))}
    scores, problem = np.zeros((len(texts), table.shape[1])), first_problem(texts)
    weigh = {"occurrences": float, "once": lambda n: 1.0, "logarithm": lambda n: np.log2(1 + n)}
    for i, text in enumerate(texts if problem[0] < 0 else ()):
        times = Counter(place[t] for t in tokens_of(text, how) if t in place)
        x = {word: weigh[weighting](n) for word, n in times.items()}
        for word in sorted(x):
            scores[i] += x[word] * table[word]
        scores[i] /= max(sum(x.values()), 1) ** power
    return scores, problem


def indexed_words(slots: Array, keys: Array, content: Array) -> list[str]:
    """Return the words that keys stand for: 16 bytes and a size, or a place, a hash and a size."""
    words = []
    for key in keys:
        low, _, size = key.tolist()
        found = key.tobytes()[:size] if size <= 16 else content.tobytes()[low : low + size]
        words.append(found.decode("utf-8", "surrogatepass"))
    return words


def index_words(content: Array, ends: Array, seed: int) -> tuple[Array, Array]:
    """Return slots and keys; the kernel chooses the seed, and keeps it in the first slot."""
    words = [word.encode("utf-8", "surrogatepass") for word in words_of(content, ends)]
    bits = max((2 * len(words) - 1).bit_length(), 1)
    slots, keys = np.zeros(1 + 2**bits, np.uint64), np.zeros((len(words), 3), np.uint64)
    slots[0] = seed
    for i, (word, end) in enumerate(zip(words, ends.tolist(), strict=True)):
        code = word_hash(word, seed)
        short = np.frombuffer(word[:16].ljust(16, b"\0"), np.uint64).tolist()
        keys[i] = [*(short if len(word) <= 16 else (end - len(word), code)), len(word)]
        at = code >> (64 - bits)
        while slots[1 + at]:
            at = (at + 1) % 2**bits
        slots[1 + at] = (code % 2**32 << 32) + i + 1
    return slots, keys


def word_hash(word: bytes, seed: int) -> int:
    """Return a hash of 64 bits, from 16 bytes at a time; the last 16 may overlap those before."""

    def fold(block: bytes, h: int) -> int:
        low, high = (int.from_bytes(part, "little") for part in (block[:8], block[8:]))
        product = (low ^ h ^ seed) * (high ^ (seed * 0x9E3779B97F4A7C15 % 2**64 | 1))
        return product % 2**64 ^ product >> 64

    if len(word) <= 16:
        return fold(word.ljust(16, b"\0"), 0)
    h = len(word)
    for start in [*range(0, len(word) - 16, 16), len(word) - 16]:
        h = fold(word[start : start + 16], h)
    return h


GOLDEN = 0x9E3779B97F4A7C15


def mix(z: int) -> int:
    """Return splitmix64's finaliser of a number of 64 bits."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def stable_hash(word: str) -> int:
    """Return the hash of a word that is the same on every machine."""
    content = word.encode("utf-8", "surrogatepass")
    own = word_hash(content, GOLDEN)
    return mix((own + len(content)) % 2**64 if len(content) <= 16 else own)


def token_number(word: str) -> int:
    """Return what stands for a token in a sample."""
    return stable_hash(word) >> 33 << 1 | (" " in word)


def hash_vocabulary(content: Array, ends: Array) -> Array:
    return np.array([stable_hash(word) for word in words_of(content, ends)], np.uint64)


def hash_texts(
    chunks: list[tuple[Any, ...]], how: tuple[Any, ...]
) -> tuple[Array, tuple[int, int]]:
    texts = texts_of(chunks)
    problem = first_problem(texts)
    if problem[0] >= 0:
        return np.zeros(0, np.uint64), problem
    sums = [sum(mix(token_number(t)) for t in tokens_of(text, how)) % 2**64 for text in texts]
    return np.array(sums, np.uint64), problem


def merge_words(
    content: Array, ends: Array, other_content: Array, other_ends: Array
) -> tuple[tuple[Array, Array], Array, Array]:
    one, other = words_of(content, ends), words_of(other_content, other_ends)
    both = sorted({*one, *other})
    place = {word: i for i, word in enumerate(both)}
    left, right = (np.array([place[w] for w in words], np.int64) for words in (one, other))
    return arrays_of(both), left, right


# Pairs of columns, (n, m) codes; and a softmax layer


def tally_pairs(
    codes: Array, y: Array, weight: Array | None, offsets: Array, n_classes: int
) -> Array:
    V = int(offsets[-1])
    w = weights_of(weight, codes.shape[1])
    slots = (codes.astype(int) + offsets[:-1, None]).T
    out = np.zeros((n_classes, V, V))
    for row, k, own in zip(slots, y, w, strict=True):
        out[k][np.ix_(row, row)] += own
    return out


def sum_pairs(codes: Array, table: Array) -> Array:
    n = len(codes)
    terms = [table[codes[i], codes[j]] for i in range(n) for j in range(i, n)]
    return np.sum(terms, axis=0) if terms else np.zeros((codes.shape[1], table.shape[2]))


def average_parents(codes: Array, table: Array, is_parent: Array) -> Array:
    sums = table[codes[:, None], codes[None]].sum(axis=1).transpose(1, 0, 2)
    known = ((codes < len(table) - 1) & is_parent[:, None]).T
    out = np.zeros((codes.shape[1], table.shape[2]))
    for row, there, own in zip(out, known, sums, strict=True):
        if there.any():
            row[:] = logsumexp(own[there], axis=0) - np.log(there.sum())
    return out


def weigh_experts(
    evidence: Array, weights: Array, log_share: Array, least: float, doubt: float
) -> Array:
    G, K = len(weights), len(log_share)
    scores = evidence[:, : G * K].reshape(len(evidence), G, K) + log_share
    said = np.maximum(log_softmax(scores, axis=2), least)
    summed = np.einsum("g,mgk->mk", weights, said) + evidence[:, G * K : (G + 1) * K]
    own = log_softmax(summed, axis=1) - log_share
    return np.logaddexp(np.log1p(-doubt) + own, np.log(max(doubt, 1e-300)))


def between_edges(values: Array, edges: Array) -> Array:
    codes = np.searchsorted(edges, values, side="right") + 1
    return np.where(np.isnan(values), 0, codes)


def layer_sums(
    F: Array, y: Array, weight: Array, theta: Array, order: int
) -> tuple[float, Array, Array]:
    m, K, _ = F.shape
    f = np.concatenate([F, np.broadcast_to(np.eye(K), (m, K, K))], axis=2)
    log_p = log_softmax(f @ theta, axis=1)
    loss = float(-weight @ log_p[np.arange(m), y])
    p = np.exp(log_p)
    gradient = np.einsum("i,ik,ikg->g", weight, p - np.eye(K)[y], f)
    mean = np.einsum("ik,ikg->ig", p, f)
    both = np.einsum("i,ik,ikg,ikh->gh", weight, p, f, f)
    curvature = both - np.einsum("i,ig,ih->gh", weight, mean, mean)
    return loss, (order > 0) * gradient, (order > 1) * curvature


def mdlp(counts: Array) -> Array:
    """Gain > (log2(N - 1) + log2(3^k - 2) - (k E - k1 E1 - k2 E2)) / N."""
    below = np.vstack([np.zeros(counts.shape[1]), np.cumsum(counts, axis=0)])
    cuts: list[int] = []
    pending = [(0, len(counts))]
    while pending:
        start, end = pending.pop()
        if end - start < 2:
            continue
        left = below[start + 1 : end] - below[start]
        right = below[end] - below[start + 1 : end]
        both = below[end] - below[start]
        n = both.sum()
        if n <= 1:
            continue
        E, E1, E2 = entropy(both[None])[0], entropy(left), entropy(right)
        mixed = (left.sum(axis=1) * E1 + right.sum(axis=1) * E2) / n
        best = 0
        for v, bits in enumerate(mixed):
            best = v if bits < mixed[best] - 1e-9 else best
        k, k1, k2 = (np.count_nonzero(c) for c in (both, left[best], right[best]))
        choices = np.log2(3.0**k - 2)
        price = choices - (k * E - k1 * E1[best] - k2 * E2[best])
        if k1 and k2 and E - mixed[best] > (np.log2(n - 1) + price) / n + 1e-9:
            cuts.append(start + 1 + best)
            pending += [(start, cuts[-1]), (cuts[-1], end)]
    return np.array(sorted(cuts), dtype=np.int64)


def entropy(counts: Array) -> Array:
    """Entropy in bits of each row of counts."""
    p = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        return -np.where(p > 0, p * np.log2(p), 0.0).sum(axis=1)


# Trees


def boost_trees(
    rows: dict[str, Any], fold: int, rounds: int, questions: int, tried: int
) -> tuple[list[dict[str, Any]], list[float]]:
    """The trees of a fold, with rate 0.2 and ridge 3, and the losses of its rows after each."""
    cells, y, share, keys = (rows[name] for name in ("cells", "y", "share", "keys"))
    w, K = rows["weight"], len(share)
    taught = np.flatnonzero((rows["fold"] != fold) & (w > 0))
    left_out = np.flatnonzero((rows["fold"] == fold) & (w > 0))
    F, trees, losses = np.tile(np.log(share), (len(y), 1)), [], []
    for t in range(rounds):
        seed = splitmix(fold << 32 | t)
        p = softmax(F, axis=1)
        g = np.eye(K)[y] - p
        u = w[:, None] * g @ sketch(seed, K)
        leaf, tree = np.zeros(len(y), dtype=int), {"columns": [], "cuts": []}
        for level in range(questions):
            own = splitmix((seed + level) % 2**64)
            best, column, cut = 0.0, 0, 0
            order = sorted(rows["asked"].tolist(), key=lambda j: splitmix(own ^ int(keys[j])))
            for i, j in enumerate(order):
                if i >= tried and cut > 0:
                    break
                for c in range(int(rows["offsets"][j]) + 1, int(rows["offsets"][j + 1])):
                    gain = 0.0
                    for side in np.unique(2 * leaf[taught] + (cells[j, taught] >= c)):
                        some = taught[2 * leaf[taught] + (cells[j, taught] >= c) == side]
                        gain += (u[some].sum(axis=0) ** 2).sum() / (w[some].sum() + 3)
                    if gain > best * (1 + 1e-9):
                        best, column, cut = gain, j, c
            tree["columns"].append(column)
            tree["cuts"].append(cut)
            leaf += (cells[column] >= cut).astype(int) << level
        values, weights = np.zeros((2**questions, K)), np.zeros(2**questions)
        for v in range(2**questions):
            some = taught[leaf[taught] == v]
            weights[v] = w[some].sum()
            curvature = w[some] @ (p[some] * (1 - p[some]))
            values[v] = 0.2 * (w[some] @ g[some]) / (curvature + 3)
        values = np.round((values - values.mean(axis=1, keepdims=True)) * 4096) / 4096
        F += values[leaf]
        log_p = F[left_out] - logsumexp(F[left_out], axis=1, keepdims=True)
        losses.append(-float(w[left_out] @ log_p[np.arange(len(left_out)), y[left_out]]))
        weights /= 2.0 ** np.floor(np.log2(weights.sum() or 1.0))
        trees.append(tree | {"values": values, "weights": weights})
    return trees, losses


def sketch(seed: int, K: int) -> Array:
    """What gradients of K classes are multiplied with, (K, sums): one of two classes, or signs."""
    if K <= 5:
        return np.eye(K)[:, : 1 if K <= 2 else K]
    odd = [splitmix(seed ^ splitmix(i)) & 1 for i in range(5 * K)]
    return np.where(odd, 1.0, -1.0).reshape(K, 5)


def splitmix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & (2**64 - 1)
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & (2**64 - 1)
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & (2**64 - 1)
    return x ^ (x >> 31)


def of_tree(tree: dict[str, Any], row: Array, known: Array, level: int = 0, at: int = 0) -> Array:
    """The value of a row's leaf, or the mean of both sides where a column is not known."""
    if level == len(tree["columns"]):
        return np.asarray(tree["values"][at])
    step, column = 1 << level, tree["columns"][level]
    if known[column]:
        above = row[column] >= tree["cuts"][level]
        return of_tree(tree, row, known, level + 1, at + step * int(above))
    leaf = np.arange(len(tree["weights"]))
    here = leaf % step == at
    if tree["weights"][here].sum() == 0:
        here[:] = True
    whole, below = (tree["weights"][some].sum() for some in (here, here & (leaf & step == 0)))
    share = below / whole if whole > 0 else 0.5
    sides = (of_tree(tree, row, known, level + 1, at + step * i) for i in (0, 1))
    return sum(part * side for part, side in zip((share, 1 - share), sides, strict=True))
