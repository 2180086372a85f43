"""Sums over rows, compiled.

``X`` has any strides and is boolean, integer or floating; NaN is missing. ``y`` holds labels below
``n_classes``; ``weight`` is one number per row, or None for ones. ``invalid`` is the flat index of
the first forbidden value (infinite, or negative if ``nonnegative``), or -1.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]
Bytes: TypeAlias = NDArray[np.uint8]
Cells: TypeAlias = NDArray[np.uint16]

Number = TypeVar("Number", np.float64, np.int64)

sanitized: bool

def sum_columns(
    X: Numbers,
    y: Integers,
    weight: Floats | None,
    n_classes: int,
    nonnegative: bool,
    threads: int,
) -> tuple[Floats, Floats, int]:
    """Return total[K, n], missing[K, n], invalid: the sums of w x and the weight of the holes.

    There are no rows of `missing` if there are no holes.
    """

def count_above(
    X: Numbers,
    y: Integers,
    weight: Floats | None,
    n_classes: int,
    threshold: float,
    threads: int,
) -> tuple[Floats, Floats, int]:
    """Return ones[K, n], missing[K, n], invalid: the weight of x > threshold and of the holes."""

def square_columns(
    X: Numbers,
    y: Integers,
    weight: Floats | None,
    origin: Floats,
    n_classes: int,
    threads: int,
) -> tuple[Floats, Floats, Floats, int]:
    """Return the sums [K, n] of w, w z and w z², z = x - origin[y], where x is there; invalid."""

def center(
    X: Numbers,
    y: Integers,
    weight: Floats | None,
    origin: Floats,
    n_classes: int,
    rows: Integers | None,
    Z: Floats,
) -> tuple[Floats, Floats, int]:
    """Fill Z with z = x - origin[y], rows with holes with 0; return Σw, Σwz and, of Z, invalid.

    `rows` chooses rows of X, which y and weight go with; None means all.
    """

def sum_columns_csr(
    data: Numbers,
    indices: NDArray[np.integer],
    starts: NDArray[np.integer],
    ends: NDArray[np.integer],
    n_columns: int,
    y: Integers,
    weight: Floats | None,
    n_classes: int,
    nonnegative: bool,
    threads: int,
) -> tuple[Floats, Floats, int]:
    """Do what sum_columns does, for sparse rows: row i has the entries starts[i] to ends[i]."""

def count_above_csr(
    data: Numbers,
    indices: NDArray[np.integer],
    starts: NDArray[np.integer],
    ends: NDArray[np.integer],
    n_columns: int,
    y: Integers,
    weight: Floats | None,
    n_classes: int,
    threshold: float,
    threads: int,
) -> tuple[Floats, Floats, int]:
    """Do what count_above does, for sparse rows and a threshold of at least 0."""

def column_range(X: Numbers, threads: int) -> tuple[Floats, Floats, Booleans, Booleans]:
    """Return minimum, maximum, integral, missing by column; ∞, -∞, True, True if all is missing."""

def tally_codes(
    X: Numbers,
    y: Integers,
    weight: Floats | None,
    offsets: Integers,
    n_classes: int,
    threads: int,
) -> Floats:
    """Return counts[K, offsets[-1]]: the weight of code c of column j, at offsets[j] + c."""

def tally_pairs(
    codes: Cells,
    y: Integers,
    weight: Floats | None,
    offsets: Integers,
    n_classes: int,
    threads: int,
) -> Floats:
    """Return counts[K, V, V]: Σw by class and codes[i], codes[j], (n, m), of columns i and j."""

def sum_pairs(codes: Cells, table: Floats, threads: int) -> Floats:
    """Return sums[m, K]: of table[u, v] over codes u, v of columns i <= j, codes (n, m)."""

def layer_sums(
    F: Floats, y: Integers, weight: Floats, theta: Floats, order: int, threads: int
) -> tuple[float, Floats, Floats]:
    """Return Σw -log p, and its gradient and curvature by theta, which is w (G,) and b (K,).

    The gradient is zero if the order is 0, and the curvature if it is below 2.
    """

def weigh_experts(
    evidence: Floats,
    weights: Floats,
    log_share: Floats,
    least: float,
    doubt: float,
    threads: int,
) -> Floats:
    """Return log((1 - doubt) p / share + doubt), (m, K), with p the softmax of Σ_g weights[g]
    max(log p_g, least) + evidence[G]; p_g is that of evidence[g] + log share, (m, at least G + 1
    times K)."""

def average_parents(codes: Cells, table: Floats, is_parent: Booleans, threads: int) -> Floats:
    """Return scores[m, K]: log of the mean over parents u of exp Σ_v table[u, v]."""

def grow_trees(
    cells: Cells,
    offsets: Integers,
    y: Integers,
    weight: Floats,
    fold: Integers,
    share: Floats,
    keys: NDArray[np.uint64],
    asked: Integers,
    folds: int,
    rounds: int,
    patience: int,
    questions: int,
    tried: int,
    rate: float,
    ridge: float,
    threads: int,
) -> tuple[Cells, Cells, Floats, Floats, Floats]:
    """Return columns[F, T, D], cuts[F, T, D], values[F, T, 2^D, K] and weights[F, T, 2^D] of trees
    for each of F folds, boosted on the rows of the others, and losses[F, T] of the fold's own rows.
    Boosting ends after T = `rounds` trees, or if the losses do not fall for `patience` trees. A
    question chooses between `tried` of the columns in `asked`, which depend on their keys."""

def sum_trees(
    cells: Cells,
    columns: Cells,
    cuts: Cells,
    values: Floats,
    weights: Floats,
    unknown: int,
    threads: int,
) -> Floats:
    """Return scores[m, K]: the sum over trees of the values of leaves; if a cell is not below
    `unknown`, the mean over both answers."""

def explain_trees(
    cells: Cells,
    columns: Cells,
    cuts: Cells,
    values: Floats,
    weights: Floats,
    unknown: int,
    threads: int,
) -> Floats:
    """Return terms[n, m, K]: the Shapley values of columns in `sum_trees`."""

def gather_scores(
    X: Numbers, table: Floats, offsets: Integers, threads: int
) -> tuple[Floats, bool]:
    """Return scores[m, K]: Σ_j table[offsets[j] + code], skipping what is no code of column j; and
    whether nothing was skipped (K > 0)."""

def grid_codes(values: Floats, exponent: int, bits: int, threads: int) -> tuple[Integers, Integers]:
    """Return cells[V], ascending, and codes[m]: where each number's stands, -1 for NaN."""

def between_edges(values: Floats, edges: Floats, threads: int) -> NDArray[np.int32]:
    """Return codes[m]: 1 and how many of ascending edges are not above each number, 0 for NaN."""

def mdlp(counts: Floats) -> Integers:
    """Return cuts: before which of ordered cells, counts[V, K] by class, a bin begins."""

def unique_codes(values: NDArray[Number], threads: int) -> tuple[NDArray[Number], Integers]:
    """Return the distinct values, ascending, and the place of each value; that of NaN is -1."""

def score_above(
    X: Numbers, threshold: float, on: Floats, missing: Floats | None, threads: int
) -> Floats:
    """Return scores[m, K]: Σ_j on[j] where x > threshold, missing[j] where x is missing."""

def score_linear(X: Numbers, table: Floats, missing: Floats | None, threads: int) -> Floats:
    """Return scores[m, K]: Σ_j x table[j], 0 where x = 0, missing[j] where x is missing."""

def score_gaussian(
    X: Numbers, mean: Floats, precision: Floats, missing: Floats, threads: int
) -> Floats:
    """Return scores[m, K]: Σ_j -(x - mean)² precision / 2, missing[k, j] where x is missing."""

def take_runs(source: Bytes, starts: Integers, places: Integers, out: Bytes, threads: int) -> None:
    """Fill out[places[i] : places[i + 1]] with what stands in source from starts[i] on."""

def subtract(a: Floats, b: Floats, rounding: float, threads: int) -> Floats:
    """Return a - b, zero where both agree to rounding of the larger, unless both are whole."""

def grid_points(mean: Floats, spread: Floats) -> Floats:
    """Return means rounded to a power of two about as large as the spread, 0 if not finite."""

def centre_powers(
    origin: Floats, weights: Floats, sums: Floats, squares: Floats, pooled: bool, rounding: float
) -> tuple[Floats, Floats, Floats, bool]:
    """Return offset[K, n], variance, origin[K, n], formal of sums of w, w z and w z².

    The offset is mean - origin, the variance is [K, n], or [1, n] if the squares are pooled over
    all classes. The new origin is near the mean; it stays where no rows can have given the sums,
    and `formal` says whether there are such sums.
    """

def row_maxima(scores: Floats, threads: int) -> tuple[Floats, Integers]:
    """Return the largest score[m, K] of each row and where it stands, the first of equals."""

def score_linear_csr(
    data: Numbers,
    indices: NDArray[np.integer],
    starts: NDArray[np.integer],
    ends: NDArray[np.integer],
    table: Floats,
    missing: Floats | None,
    nonnegative: bool,
    threads: int,
) -> tuple[Floats, int]:
    """Return what score_linear does, of sparse rows; invalid."""

def score_above_csr(
    data: Numbers,
    indices: NDArray[np.integer],
    starts: NDArray[np.integer],
    ends: NDArray[np.integer],
    threshold: float,
    on: Floats,
    missing: Floats | None,
    threads: int,
) -> tuple[Floats, int]:
    """Return what score_above does, of sparse rows and a threshold of at least 0; invalid."""

Chunks = list[tuple[Any, ...]]  # of texts: ("strings", …), ("utf8", …), ("views", …), ("tokens", …)
# An alphabet, whether to lower-case, whether characters are tokens, n-grams, and bits of buckets.
How = tuple[NDArray[np.uint32], bool, bool, int, int, int]
Index = tuple[NDArray[np.uint64], NDArray[np.uint64], Bytes]  # slots, keys, text of the words
Words = tuple[Bytes, Integers]  # in ascending order, and where each ends
Sparse = tuple[Words, Integers, NDArray[np.int32], NDArray[np.int32], tuple[int, int]]

def count_texts(
    chunks: Chunks,
    how: How,
    y: Integers,
    weight: Floats | None,
    n_classes: int,
    threads: int,
) -> tuple[Words, Floats, Floats, tuple[int, int]]:
    """Return words, the empty one first, occurrences and documents[K, V]; invalid text and byte."""

def encode_texts(chunks: Chunks, how: How, threads: int) -> Sparse:
    """Return words, starts[m + 1], indices and counts of the words of texts; invalid."""

def encode_known(chunks: Chunks, how: How, index: Index, threads: int) -> Sparse:
    """Return no words, starts[m + 1], indices and counts of known words of texts; invalid."""

def score_texts(
    chunks: Chunks,
    how: How,
    index: Index,
    table: Floats,
    weighting: str,
    power: float,
    threads: int,
) -> tuple[Floats, tuple[int, int]]:
    """Return Σ x table[V, K] / (Σ x)^power over the known words of texts; invalid.

    x is what `weighting` makes of how often a word occurs: occurrences, once, or logarithm.
    """

def strings_of_stream(stream: Any) -> tuple[str, Chunks | None, int]:
    """Return the format of an Arrow column, its chunks if they hold strings, the first null."""

def strings_of_array(schema: Any, array: Any) -> tuple[str, Chunks | None, int]:
    """Return what strings_of_stream does, of one Arrow array."""

def hash_vocabulary(bytes: Bytes, ends: Integers) -> NDArray[np.uint64]:
    """Return a hash of each word, the same on every machine."""

def hash_texts(
    chunks: Chunks, how: How, threads: int
) -> tuple[NDArray[np.uint64], tuple[int, int]]:
    """Return the sum of the hashes of the tokens of each text; invalid text and byte."""

def index_words(bytes: Bytes, ends: Integers) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return what words are looked up with: slots by hash, a key for each word."""

def merge_words(
    bytes: Bytes, ends: Integers, other_bytes: Bytes, other_ends: Integers
) -> tuple[Words, Integers, Integers]:
    """Return the words of both, and where the words of either stand among them."""

# Mail

Kinds = tuple[int, int, int, int, int, int]
Ids = NDArray[np.uint32]

def read_fields(
    head: bytes, lines: int, most: int, longest: int, decode: Callable[[bytes], str]
) -> tuple[list[tuple[str, str]], bool, bool]:
    """Return names and values of headers, whether any was cut, and whether there are more."""

def sent_head(
    head: bytes, lines: int, most: int, longest: int, is_added: Callable[[str], bool]
) -> bytes:
    """Return headers as lines with one blank for each run of white space, without added ones."""

def header_tokens(headers: list[tuple[str, str]], groups: tuple[str, str, str]) -> bytes:
    """Return the tokens of headers, one a line, each after the letter of its group."""

def link_tokens(text: bytes, groups: tuple[str, str], most: int) -> tuple[bytes, bytes]:
    """Return a text without its links, and the tokens of those."""

def mark_tokens(marks: bytes, groups: tuple[str, str], most: int) -> bytes:
    """Return the tokens of the marks of a page, which are one a line."""

def domains(host: str) -> list[str]:
    """Return a host and the domains it is in, or an address and its networks."""

def hash_message(lines: bytes, texts: list[tuple[bytes, Kinds, int]]) -> Ids:
    """Return the distinct ids of lines and of texts, ascending; texts come with their plans."""

def read_html(
    text: bytes, most_seen: int, most_others: int
) -> tuple[bytes, bytes, bytes, int, int]:
    """Return the visible and the hidden text of a page, its marks, comments, and bytes left out."""

def hash_words(text: bytes, kinds: Kinds, opening_size: int, places: bool) -> Ids:
    """Return the ids of words (n,), or ids with the start and end of each (n, 3)."""

def hash_lines(lines: bytes) -> Ids:
    """Return the ids of tokens that are one a line."""

def evidence_without_block(
    rows: Ids,
    sizes: Integers,
    block: Integers,
    spam: Integers,
    weight: Floats,
    ids: Ids,
    counts: Integers,
    examples: Ids,
    example_counts: Floats,
    groups: int,
    scale: tuple[float, float, float, float, float, float],
) -> tuple[Floats, Floats, Floats]:
    """Return sums of log-odds and numbers of tokens of lessons (m · groups,), and of new ones (m,).

    Tokens are rows of ids and counts (k, 2), ascending; `examples` are ids, ascending, with counts
    of their own. `scale` are the messages of ham and spam, the examples of ham
    and spam, the weight of a message, and λ.
    """

def release_memory() -> None:
    """Give free memory back to the system."""

def rank_ids(ids: Ids) -> tuple[Ids, Ids]:
    """Return distinct ids, ascending, and the place of each id among them."""

def sum_lessons(lessons: list[Ids], by: Integers) -> tuple[Ids, Integers, Ids]:
    """Return distinct tokens, ascending; the sums of what lessons add (m, 2); places of tokens."""

def pack_lessons(tokens: Ids, sizes: Ids) -> bytes:
    """Return a pack of lessons, of which `sizes` are the numbers of tokens."""

def unpack_lessons(pack: bytes) -> tuple[Ids, Ids]:
    """Return the tokens of the lessons in a pack, and how many of them each lesson has."""

def read_buckets(buckets: list[tuple[int, bytes]]) -> tuple[Ids, Integers]:
    """Return the tokens of buckets, and their counts (n, 2)."""

def shift_buckets(
    buckets: list[tuple[int, bytes]], tokens: Ids, by: Integers
) -> list[tuple[int, bytes]]:
    """Return the buckets of tokens with changes added; empty if nothing is left in one."""
