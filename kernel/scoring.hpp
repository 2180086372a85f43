// Sums over the columns of a term f_k(x_j), for all classes k at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "counting.hpp"

namespace genus {

// x t, and exactly 0 where x = 0, also for infinite t.
struct Linear {
    const double *table, *missing;  // [n, K]
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
                    sums[r] += load_lanes<W>(term.missing + cell);
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

// 1 above the threshold, 0 below, NaN where missing: a linear term scores the rest.
GENUS_CLONES inline void indicate(const Tile<double>& tile, double threshold, double* out,
                                  std::size_t stride) {
    for (std::size_t i = 0; i < tile.rows; ++i, out += stride) {
        const double* x = tile[i];
        for (std::size_t j = 0; j < tile.columns; ++j)
            out[j] = x[j] > threshold ? 1 : x[j] != x[j] ? x[j] : 0;
    }
}

GENUS_CLONES inline void gather_tile(const Tile<Code>& tile, const Layout& layout,
                                     const double* table, std::size_t K, double* scores) {
    for (std::size_t i = 0; i < tile.rows; ++i) {
        const Code* code = tile[i];
        double* score = scores + (tile.row + i) * K;
        for_lanes(K, [&]<std::size_t W>(std::size_t k) __attribute__((always_inline)) {
            auto sum = load_lanes<W>(score + k);
            for (std::size_t j = 0; j < tile.columns; ++j)
                if (layout.has(tile.column + j, code[j]))
                    sum += load_lanes<W>(
                        table +
                        (layout.start(tile.column + j) + static_cast<std::size_t>(code[j])) * K +
                        k);
            store_lanes<W>(score + k, sum);
        });
    }
}

inline Buffer<double> gather_scores(const Table& X, const double* table, const Layout& layout,
                                    std::size_t K, std::size_t threads) {
    auto scores = zeros<double>(X.rows * K);
    parallel_tiles<Code>(X, ranges(X.rows * X.columns, threads),
                         [&](std::size_t, const Tile<Code>& tile) {
                             gather_tile(tile, layout, table, K, scores.get());
                         });
    return scores;
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
