// Counts and scores, as for dense tables, of a matrix in compressed sparse row format.
#pragma once

#include <atomic>
#include <limits>

#include "scoring.hpp"

namespace genus {

template <class Index>
GENUS_INLINE bool none_outside(const Index* indices, std::size_t length, std::size_t columns) {
    using Unsigned = std::make_unsigned_t<Index>;  // a negative index is huge without its sign
    Unsigned most = 0;
    for (std::size_t e = 0; e < length; ++e)
        most = std::max(most, static_cast<Unsigned>(indices[e]));
    return most < columns;
}

GENUS_CLONES inline bool all_below(const std::int32_t* indices, std::size_t length,
                                   std::size_t columns) {
    return none_outside(indices, length, columns);
}

GENUS_CLONES inline bool all_below(const std::int64_t* indices, std::size_t length,
                                   std::size_t columns) {
    return none_outside(indices, length, columns);
}

// Row i holds the entries from starts[i] to ends[i]: all rows of a matrix, or some in any order.
template <class Index> struct Csr {
    Table data;  // one row
    const Index *indices, *starts, *ends;
    std::size_t rows, columns;
    mutable std::atomic<bool> corrupt = false;

    std::size_t begin(std::size_t row) const { return static_cast<std::size_t>(starts[row]); }

    std::size_t end(std::size_t row) const { return static_cast<std::size_t>(ends[row]); }

    bool within(std::size_t stored) const {
        bool inside = stored <= data.columns;
        for (std::size_t i = 0; i < rows; ++i)
            inside &= starts[i] >= 0 && starts[i] <= ends[i] && end(i) <= stored;
        return inside;
    }

    std::size_t entries() const {
        std::size_t sum = 0;
        for (std::size_t i = 0; i < rows; ++i) sum += end(i) - begin(i);
        return sum;
    }

    static constexpr std::size_t piece = 256;

    // body(columns, values, length) for the entries of a row, in pieces; a piece with a column
    // index out of range is skipped and recorded.
    template <class Body> void for_entries(std::size_t row, const Body& body) const {
        double scratch[piece];
        const bool direct = data.direct();
        for (std::size_t e = begin(row), last = end(row); e < last; e += piece) {
            const std::size_t length = std::min(piece, last - e);
            if (!all_below(indices + e, length, columns)) {
                corrupt = true;
                continue;
            }
            const double* values = scratch;
            if (direct)
                values = reinterpret_cast<const double*>(data.at(0, e));
            else
                copy(data, 0, 1, e, length, scratch, piece);
            body(indices + e, values, length);
        }
    }

    // The processor cannot predict rows in arbitrary order, so prefetch them.
    void prefetch(std::size_t row) const {
        constexpr std::size_t line = 64, lines = 16;
        const auto ask = [](const void* from, std::size_t bytes) {
            const auto* p = static_cast<const char*>(from);
            for (std::size_t i = 0; i < std::min(bytes, line * lines); i += line)
                __builtin_prefetch(p + i);
        };
        const std::size_t length = end(row) - begin(row);
        if (length == 0) return;
        ask(indices + begin(row), length * sizeof(Index));
        ask(data.at(0, begin(row)),
            length * static_cast<std::size_t>(std::abs(data.column_stride)));
    }
};

// Rows in ranges with about equal numbers of entries: body(part, row), which must not throw.
template <class Index, class Body>
void parallel_rows(const Csr<Index>& X, std::size_t parts, const Body& body) {
    std::vector<std::size_t> edges(parts + 1, X.rows);
    edges[0] = 0;
    const std::size_t share = X.entries() / parts + 1;
    for (std::size_t i = 0, part = 1, sum = 0; i < X.rows && part < parts; ++i) {
        sum += X.end(i) - X.begin(i);
        while (part < parts && sum >= part * share) edges[part++] = i + 1;
    }
    parallel_for(parts, parts, [&](std::size_t part, std::size_t, std::size_t) {
        for (std::size_t row = edges[part]; row < edges[part + 1]; ++row) {
            if (row + 3 < edges[part + 1]) X.prefetch(row + 3);
            body(part, row);
        }
    });
}

// Σ term(x, w) over the entries that are not missing, by class and column
template <class Index, class Term>
Counts count_entries(const Csr<Index>& X, const Labels& labels, bool nonnegative,
                     std::size_t threads, const Term& term) {
    const std::size_t n = X.columns, size = labels.classes * n,
                      parts = ranges(X.entries(), threads, size);
    Sums total(size, parts), missing(size, parts);
    First first(parts);
    parallel_rows(X, parts, [&](std::size_t part, std::size_t row) {
        const double w = labels.w(row);
        const std::size_t k = labels.k(row);
        double *totals = total[part] + k * n, *missings = missing[part] + k * n;
        X.for_entries(row, [&](const Index* columns, const double* x, std::size_t length) {
            for (std::size_t e = 0; e < length; ++e) {
                const auto j = static_cast<std::size_t>(columns[e]);
                if (x[e] != x[e]) {
                    missings[j] += w;
                    missing.touched(part) = 1;
                    continue;
                }
                if (is_invalid(x[e], nonnegative)) first[part] = std::min(first[part], row * n + j);
                totals[j] += term(x[e], w);
            }
        });
    });
    return {total.total(), missing.total_if_touched(), first.index()};
}

template <class Index>
Counts sum_columns(const Csr<Index>& X, const Labels& labels, bool nonnegative,
                   std::size_t threads) {
    return count_entries(X, labels, nonnegative, threads, [](double x, double w) { return w * x; });
}

template <class Index>
Counts count_above(const Csr<Index>& X, const Labels& labels, double threshold,
                   std::size_t threads) {
    return count_entries(X, labels, false, threads,
                         [=](double x, double w) { return x > threshold ? w : 0; });
}

// score += x table[column] over entries; x = 0 adds exactly 0.
template <class Index>
GENUS_INLINE void add_entries(const Index* columns, const double* x, std::size_t length,
                              const Padded& table, double* score) {
    const auto terms = [=](const auto& add) __attribute__((always_inline)) {
        for (std::size_t e = 0; e < length; ++e)
            if (x[e] != 0) add(static_cast<std::size_t>(columns[e]), x[e]);
    };
    add_rows(table, terms, score);
}

GENUS_CLONES inline void add_terms(const std::int32_t* columns, const double* x, std::size_t length,
                                   const Padded& table, double* score) {
    add_entries(columns, x, length, table, score);
}

GENUS_CLONES inline void add_terms(const std::int64_t* columns, const double* x, std::size_t length,
                                   const Padded& table, double* score) {
    add_entries(columns, x, length, table, score);
}

// Whether some x is missing, infinite or, if that is forbidden, negative.
GENUS_CLONES inline bool any_odd(const double* x, std::size_t length, bool nonnegative) {
    constexpr double most = std::numeric_limits<double>::max();
    const double least = nonnegative ? 0 : -most;
    bool odd = false;
    for (std::size_t e = 0; e < length; ++e) odd |= !(x[e] >= least && x[e] <= most);
    return odd;
}

struct Scores {
    Buffer<double> scores;
    long long invalid;
};

// Σ value(x) table[column] over the entries of each row, and missing[column] (or nothing) for a
// missing x
template <bool is_linear, class Index, class Value>
Scores score_entries(const Csr<Index>& X, const double* table, const double* missing, std::size_t K,
                     bool nonnegative, std::size_t threads, const Value& value) {
    const Padded padded(table, X.columns, K);
    const std::size_t parts = ranges(X.entries(), threads);
    First first(parts);
    auto scores = zeros<double>(X.rows * K);
    parallel_rows(X, parts, [&](std::size_t part, std::size_t row) {
        double* score = scores.get() + row * K;
        X.for_entries(row, [&](const Index* columns, const double* x, std::size_t length) {
            const bool odd = any_odd(x, length, nonnegative);
            if (is_linear && !odd) return add_terms(columns, x, length, padded, score);
            double values[X.piece];
            std::transform(x, x + length, values, value);
            for (std::size_t e = 0; odd && e < length; ++e) {
                const auto j = static_cast<std::size_t>(columns[e]);
                if (is_invalid(x[e], nonnegative))
                    first[part] = std::min(first[part], row * X.columns + j);
                if (x[e] == x[e]) continue;
                values[e] = 0;
                for (std::size_t k = 0; missing && k < K; ++k) score[k] += missing[j * K + k];
            }
            add_terms(columns, values, length, padded, score);
        });
    });
    return {std::move(scores), first.index()};
}

template <class Index>
Scores score_linear(const Csr<Index>& X, const double* table, const double* missing, std::size_t K,
                    bool nonnegative, std::size_t threads) {
    return score_entries<true>(X, table, missing, K, nonnegative, threads,
                               [](double x) { return x; });
}

template <class Index>
Scores score_above(const Csr<Index>& X, double threshold, const double* on, const double* missing,
                   std::size_t K, std::size_t threads) {
    return score_entries<false>(X, on, missing, K, false, threads,
                                [=](double x) { return x > threshold ? 1.0 : 0.0; });
}

}  // namespace genus
