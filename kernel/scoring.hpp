// Sums over the columns of a term f_k(x_j), for all classes k at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "counting.hpp"

namespace genus {

// x t, but exactly 0 if x = 0, even for infinite t.
struct Linear {
    const double *table, *missing;  // [n, K]; null `missing` means zeros
    bool finite;

    bool plain() const { return finite; }

    static bool skips(double x) { return x == 0; }

    template <std::size_t W> struct At {
        typename Lanes<W>::type t;

        GENUS_INLINE At(const Linear& term, std::size_t cell)
            : t(load_lanes<W>(term.table + cell)) {}

        GENUS_INLINE void add(typename Lanes<W>::type& sum, double x) const { sum += t * x; }
    };
};

// (x - μ)² q with q = -1/2σ²
struct Gaussian {
    const double *mean, *curvature, *missing;  // [n, K]

    static bool plain() { return true; }

    static bool skips(double) { return false; }

    template <std::size_t W> struct At {
        typename Lanes<W>::type mean, curvature;

        GENUS_INLINE At(const Gaussian& term, std::size_t cell)
            : mean(load_lanes<W>(term.mean + cell)),
              curvature(load_lanes<W>(term.curvature + cell)) {}

        GENUS_INLINE void add(typename Lanes<W>::type& sum, double x) const {
            const typename Lanes<W>::type z = x - mean;
            sum += z * curvature * z;  // z² alone may overflow
        }
    };
};

// R rows and W classes in registers.
template <std::size_t R, std::size_t W, bool careful, class Term>
GENUS_INLINE void score_block(const Tile<double>& tile, std::size_t i, const Term& term,
                              std::size_t K, std::size_t k, double* scores) {
    typename Lanes<W>::type sums[R];
    const double* x[R];
    for (std::size_t r = 0; r < R; ++r) {
        x[r] = tile[i + r];
        sums[r] = load_lanes<W>(scores + r * K);
    }
    for (std::size_t j = 0; j < tile.columns; ++j) {
        const std::size_t cell = (tile.column + j) * K + k;
        const typename Term::template At<W> at(term, cell);
        for (std::size_t r = 0; r < R; ++r) {
            const double value = x[r][j];
            if constexpr (careful) {
                if (value != value) {
                    if (term.missing) sums[r] += load_lanes<W>(term.missing + cell);
                    continue;
                }
                if (term.skips(value)) continue;
            }
            at.add(sums[r], value);
        }
    }
    for (std::size_t r = 0; r < R; ++r) store_lanes<W>(scores + r * K, sums[r]);
}

template <bool careful, class Term>
GENUS_INLINE void score_rows(const Tile<double>& tile, const Term& term, std::size_t K,
                             double* scores) {
    for_lanes(K, [&]<std::size_t W>(std::size_t k) __attribute__((always_inline)) {
        constexpr std::size_t R = W == 8 ? 4 : 8;  // sums fit sixteen registers of four doubles
        std::size_t i = 0;
        for (; i + R <= tile.rows; i += R)
            score_block<R, W, careful>(tile, i, term, K, k, scores + (tile.row + i) * K + k);
        for (; i < tile.rows; ++i)
            score_block<1, W, careful>(tile, i, term, K, k, scores + (tile.row + i) * K + k);
    });
}

template <class Term>
GENUS_INLINE void score_any(const Tile<double>& tile, const Term& term, bool screening,
                            std::size_t K, double* scores) {
    bool careful = !term.plain();
    for (std::size_t i = 0; screening && !careful && i < tile.rows; ++i)
        careful = screen(tile[i], tile.columns, false).missing;
    if (careful)
        score_rows<true>(tile, term, K, scores);
    else
        score_rows<false>(tile, term, K, scores);
}

GENUS_CLONES inline void score_tile(const Tile<double>& tile, const Linear& term, bool screening,
                                    std::size_t K, double* scores) {
    score_any(tile, term, screening, K, scores);
}

GENUS_CLONES inline void score_tile(const Tile<double>& tile, const Gaussian& term, bool screening,
                                    std::size_t K, double* scores) {
    score_any(tile, term, screening, K, scores);
}

// 1 above the threshold, 0 below, NaN if missing: a linear term scores the result.
GENUS_CLONES inline void indicate(const Tile<double>& tile, double threshold, double* out,
                                  std::size_t stride) {
    for (std::size_t i = 0; i < tile.rows; ++i, out += stride) {
        const double* x = tile[i];
        for (std::size_t j = 0; j < tile.columns; ++j)
            out[j] = x[j] > threshold ? 1 : x[j] != x[j] ? x[j] : 0;
    }
}

// The rows of a table padded with zeros to whole vectors, so that one pass over a row's entries
// serves as many classes as fit the registers.
class Padded {
public:
    static constexpr std::size_t lanes = 4, most = 4;  // doubles in a vector, vectors at once
    std::size_t K, stride;

    Padded(const double* table, std::size_t rows, std::size_t classes)
        : K(classes), stride((classes + lanes - 1) / lanes * lanes), data_(table) {
        if (stride == K) return;
        copy_ = std::make_unique<double[]>(rows * stride);
        for (std::size_t i = 0; i < rows; ++i)
            std::copy_n(table + i * K, K, copy_.get() + i * stride);
        data_ = copy_.get();
    }

    const double* row(std::size_t i) const { return data_ + i * stride; }

private:
    const double* data_;
    std::unique_ptr<double[]> copy_;
};

// score += Σ factor · table row for each add(row, factor) that `terms` calls, V vectors of it.
template <std::size_t V, class Terms>
GENUS_INLINE void add_vectors(const Padded& table, std::size_t k, const Terms& terms,
                              double* score) {
    constexpr std::size_t lanes = Padded::lanes;
    const std::size_t width = std::min(V * lanes, table.K - k);
    double sums[V * lanes] = {};
    std::copy_n(score + k, width, sums);
    typename Lanes<lanes>::type sum[V];
    for (std::size_t v = 0; v < V; ++v) sum[v] = load_lanes<lanes>(sums + v * lanes);
    terms([&](std::size_t row, double factor) __attribute__((always_inline)) {
        const double* entry = table.row(row) + k;
        for (std::size_t v = 0; v < V; ++v) sum[v] += factor * load_lanes<lanes>(entry + v * lanes);
    });
    for (std::size_t v = 0; v < V; ++v) store_lanes<lanes>(sums + v * lanes, sum[v]);
    std::copy_n(sums, width, score + k);
}

template <class Terms>
GENUS_INLINE void add_rows(const Padded& table, const Terms& terms, double* score) {
    constexpr std::size_t lanes = Padded::lanes;
    std::size_t k = 0;
    for (; k + Padded::most * lanes <= table.stride; k += Padded::most * lanes)
        add_vectors<Padded::most>(table, k, terms, score);
    switch ((table.stride - k) / lanes) {
        case 3:
            return add_vectors<3>(table, k, terms, score);
        case 2:
            return add_vectors<2>(table, k, terms, score);
        case 1:
            return add_vectors<1>(table, k, terms, score);
    }
}

// Returns whether every cell holds a code of its column.
GENUS_CLONES inline bool gather_tile(const Tile<Code>& tile, const Layout& layout,
                                     const Padded& table, double* scores) {
    bool known = true;
    for (std::size_t i = 0; i < tile.rows; ++i) {
        const Code* code = tile[i];
        const auto terms = [&](const auto& add) __attribute__((always_inline)) {
            for (std::size_t j = 0; j < tile.columns; ++j)
                if (layout.has(tile.column + j, code[j]))
                    add(layout.start(tile.column + j) + static_cast<std::size_t>(code[j]), 1.0);
                else
                    known = false;
        };
        add_rows(table, terms, scores + (tile.row + i) * table.K);
    }
    return known;
}

struct Gathered {
    Buffer<double> scores;
    bool known;
};

inline Gathered gather_scores(const Table& X, const double* table, const Layout& layout,
                              std::size_t K, std::size_t threads) {
    const Padded padded(table, layout.start(layout.columns), K);
    const std::size_t parts = ranges(X.rows * X.columns, threads);
    auto scores = zeros<double>(X.rows * K);
    std::vector<char> unknown(parts, 0);  // not bool, because threads write to neighbours
    parallel_tiles<Code>(X, parts, [&](std::size_t part, const Tile<Code>& tile) {
        if (!gather_tile(tile, layout, padded, scores.get())) unknown[part] = 1;
    });
    return {std::move(scores), std::find(unknown.begin(), unknown.end(), 1) == unknown.end()};
}

struct Maxima {
    Buffer<double> values;
    Buffer<std::int64_t> at;
};

// The largest score of each row and its position, the first of equal ones.
inline Maxima row_maxima(const double* scores, std::size_t m, std::size_t K, std::size_t threads) {
    auto values = zeros<double>(m);
    auto at = zeros<std::int64_t>(m);
    parallel_for(m, ranges(m * K, threads), [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const double* score = scores + i * K;
            std::size_t best = 0;
            for (std::size_t k = 1; k < K; ++k) best = score[k] > score[best] ? k : best;
            values[i] = score[best];
            at[i] = static_cast<std::int64_t>(best);
        }
    });
    return {std::move(values), std::move(at)};
}

template <class Term>
Buffer<double> score(const Table& X, const Term& term, std::size_t K, std::size_t threads) {
    auto scores = zeros<double>(X.rows * K);
    parallel_tiles(X, ranges(X.rows * X.columns, threads),
                   [&](std::size_t, const Tile<double>& tile) {
                       score_tile(tile, term, X.floating(), K, scores.get());
                   });
    return scores;
}

inline bool all_finite(const double* x, std::size_t size) {
    return std::all_of(x, x + size, [](double v) { return std::isfinite(v); });
}

inline Buffer<double> score_linear(const Table& X, const double* table, const double* missing,
                                   std::size_t K, std::size_t threads) {
    return score(X, Linear{table, missing, all_finite(table, X.columns * K)}, K, threads);
}

inline Buffer<double> score_above(const Table& X, double threshold, const double* on,
                                  const double* missing, std::size_t K, std::size_t threads) {
    const Linear term{on, missing, all_finite(on, X.columns * K)};
    const std::size_t parts = ranges(X.rows * X.columns, threads);
    const auto indicators = std::make_unique_for_overwrite<double[]>(parts * tile_cells);
    auto scores = zeros<double>(X.rows * K);
    parallel_tiles(X, parts, [&](std::size_t part, Tile<double> tile) {
        double* indicator = indicators.get() + part * tile_cells;
        indicate(tile, threshold, indicator, tile.columns);
        tile.data = indicator;
        tile.stride = static_cast<std::ptrdiff_t>(tile.columns);
        score_tile(tile, term, X.floating(), K, scores.get());
    });
    return scores;
}

// out[j, k] = factor · in[k, j]
inline std::unique_ptr<double[]> transposed(const double* in, std::size_t K, std::size_t n,
                                            double factor = 1) {
    auto out = std::make_unique_for_overwrite<double[]>(n * K);
    for (std::size_t k = 0; k < K; ++k)
        for (std::size_t j = 0; j < n; ++j) out[j * K + k] = factor * in[k * n + j];
    return out;
}

inline Buffer<double> score_gaussian(const Table& X, const double* mean, const double* precision,
                                     const double* missing, std::size_t K, std::size_t threads) {
    const std::size_t n = X.columns;
    const auto center = transposed(mean, K, n), curvature = transposed(precision, K, n, -0.5);
    const auto absent = transposed(missing, K, n);
    return score(X, Gaussian{center.get(), curvature.get(), absent.get()}, K, threads);
}

}  // namespace genus
