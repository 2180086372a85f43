// The same sums over the stored entries of a matrix in compressed sparse row format.
#pragma once

#include "scoring.hpp"

namespace genus {

template <class Index> struct Csr {
    Table data;  // one row
    const Index *indices, *indptr;
    std::size_t rows, columns;

    std::size_t begin(std::size_t row) const { return static_cast<std::size_t>(indptr[row]); }

    std::size_t entries() const { return begin(rows) - begin(0); }

    bool valid(std::size_t stored, std::size_t threads) const {
        if (indptr[0] < 0 || !std::is_sorted(indptr, indptr + rows + 1)) return false;
        if (begin(rows) > stored || stored > data.columns) return false;
        const std::size_t parts = ranges(entries(), threads);
        std::vector<char> outside(parts, 0);
        parallel_for(entries(), parts, [&](std::size_t part, std::size_t first, std::size_t last) {
            Index least = 0, most = -1;
            for (const Index *e = indices + begin(0) + first, *end = indices + begin(0) + last;
                 e < end; ++e) {
                least = std::min(least, *e);
                most = std::max(most, *e);
            }
            outside[part] = least < 0 || (most >= 0 && static_cast<std::size_t>(most) >= columns);
        });
        return std::find(outside.begin(), outside.end(), 1) == outside.end();
    }

    // The first row that starts at or after its share of the entries.
    std::size_t split(std::size_t part, std::size_t parts) const {
        const std::size_t share = begin(0) + entries() / parts * part;
        return part == 0 ? 0
               : part == parts
                   ? rows
                   : static_cast<std::size_t>(
                         std::lower_bound(indptr, indptr + rows, static_cast<Index>(share)) -
                         indptr);
    }

    static constexpr std::size_t piece = 256;

    // body(columns, values, length) for the entries of a row, in pieces.
    template <class Body> void for_entries(std::size_t row, const Body& body) const {
        double values[piece];
        for (std::size_t e = begin(row), end = begin(row + 1); e < end; e += piece) {
            const std::size_t length = std::min(piece, end - e);
            copy(data, 0, 1, e, length, values, piece);
            body(indices + e, static_cast<const double*>(values), length);
        }
    }
};

// Rows in ranges of about equally many entries.
template <class Index, class Body>
void parallel_rows(const Csr<Index>& X, std::size_t parts, const Body& body) {
    parallel_for(parts, parts, [&](std::size_t part, std::size_t, std::size_t) {
        for (std::size_t row = X.split(part, parts), end = X.split(part + 1, parts); row < end;
             ++row)
            body(part, row);
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
                    continue;
                }
                if (is_invalid(x[e], nonnegative)) first[part] = std::min(first[part], row * n + j);
                totals[j] += term(x[e], w);
            }
        });
    });
    return {total.total(), missing.total(), first.index()};
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

// Σ value(x) table[column] over the entries of each row
template <class Index, class Value>
Buffer<double> score_entries(const Csr<Index>& X, const double* table, std::size_t K,
                             std::size_t threads, const Value& value) {
    const Padded padded(table, X.columns, K);
    auto scores = zeros<double>(X.rows * K);
    parallel_rows(X, ranges(X.entries(), threads), [&](std::size_t, std::size_t row) {
        X.for_entries(row, [&](const Index* columns, const double* x, std::size_t length) {
            double values[X.piece];
            std::transform(x, x + length, values, value);
            add_terms(columns, values, length, padded, scores.get() + row * K);
        });
    });
    return scores;
}

template <class Index>
Buffer<double> score_linear(const Csr<Index>& X, const double* table, std::size_t K,
                            std::size_t threads) {
    return score_entries(X, table, K, threads, [](double x) { return x != x ? 0 : x; });
}

template <class Index>
Buffer<double> score_above(const Csr<Index>& X, double threshold, const double* on, std::size_t K,
                           std::size_t threads) {
    return score_entries(X, on, K, threads, [=](double x) { return x > threshold ? 1.0 : 0.0; });
}

}  // namespace genus
