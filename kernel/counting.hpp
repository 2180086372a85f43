// Weights of the cells above a threshold, and of the cells with each code, by class and column.
#pragma once

#include <cmath>
#include <vector>

#include "moments.hpp"

namespace genus {

GENUS_CLONES inline void above_tile(const Tile<double>& tile, const Labels& labels, bool screening,
                                    double threshold, std::size_t n, double* counts,
                                    double* missings, unsigned char& touched, std::size_t& first) {
    for (std::size_t i = 0; i < tile.rows; ++i) {
        const std::size_t row = tile.row + i, cell = labels.k(row) * n + tile.column;
        const double w = labels.w(row);
        const double* x = tile[i];
        double* __restrict count = counts + cell, * __restrict missing = missings + cell;
        const Screen found = screening ? screen(x, tile.columns, false) : Screen{};
        if (found.invalid) note_invalid(x, tile.columns, false, row * n + tile.column, first);
        for (std::size_t j = 0; j < tile.columns; ++j) count[j] += x[j] > threshold ? w : 0;
        if (!found.missing) continue;
        touched = 1;
        for (std::size_t j = 0; j < tile.columns; ++j) missing[j] += x[j] != x[j] ? w : 0;
    }
}

// Bytes need no conversion: x > threshold is x >= least, counted in bytes that are added up before
// they overflow.
struct ByteCounts {
    std::size_t classes, n;
    Buffer<std::uint8_t> counts = zeros<std::uint8_t>(classes * n);
    Buffer<std::uint8_t> rows = zeros<std::uint8_t>(classes);
};

GENUS_CLONES inline void spill_bytes(std::uint8_t* counts, std::size_t n, double* totals) {
    for (std::size_t j = 0; j < n; ++j) totals[j] += counts[j];
    std::memset(counts, 0, n);
}

GENUS_CLONES inline void above_bytes(const Table& X, std::size_t begin, std::size_t end,
                                     const std::int64_t* y, std::uint8_t least, ByteCounts& bytes,
                                     double* totals) {
    const std::size_t n = X.columns;
    for (std::size_t row = begin; row < end; ++row) {
        const std::size_t k = static_cast<std::size_t>(y[row]);
        const auto* x = reinterpret_cast<const std::uint8_t*>(X.at(row, 0));
        std::uint8_t* count = bytes.counts.get() + k * n;
        for (std::size_t j = 0; j < n; ++j) count[j] += x[j] >= least;
        if (++bytes.rows[k] == 255) {
            spill_bytes(count, n, totals + k * n);
            bytes.rows[k] = 0;
        }
    }
    for (std::size_t k = 0; k < bytes.classes; ++k)
        spill_bytes(bytes.counts.get() + k * n, n, totals + k * n);
}

inline Counts count_above(const Table& X, const Labels& labels, double threshold,
                          std::size_t threads) {
    const std::size_t n = X.columns, size = labels.classes * n,
                      parts = ranges(X.rows * n, threads, size);
    Sums count(size, parts), missing(size, parts);
    First first(parts);
    if (X.type == Type::u8 && (X.column_stride == 1 || n <= 1) && !labels.weight) {
        if (threshold < 255) {
            const auto least =
                static_cast<std::uint8_t>(threshold < 0 ? 0 : std::floor(threshold) + 1);
            std::vector<ByteCounts> bytes;
            for (std::size_t part = 0; part < parts; ++part) bytes.push_back({labels.classes, n});
            parallel_for(X.rows, parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
                above_bytes(X, begin, end, labels.y, least, bytes[part], count[part]);
            });
        }
    } else {
        parallel_tiles(X, parts, [&](std::size_t part, const Tile<double>& tile) {
            above_tile(tile, labels, X.floating(), threshold, n, count[part], missing[part],
                       missing.touched(part), first[part]);
        });
    }
    return {count.total(), missing.total_if_touched(), first.index()};
}

// Where the codes of each column start in a table of all codes, and how many each column has.
struct Layout {
    const std::int64_t* offsets;
    std::size_t columns;

    std::size_t start(std::size_t j) const { return static_cast<std::size_t>(offsets[j]); }

    std::size_t size(std::size_t j) const {
        return static_cast<std::size_t>(offsets[j + 1] - offsets[j]);
    }

    // no_code becomes the largest number of its type, so one comparison skips it.
    bool has(std::size_t j, Code code) const {
        return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(code)) < size(j);
    }
};

inline void tally_tile(const Tile<Code>& tile, const Labels& labels, const Layout& layout,
                       double* counts) {
    const std::size_t width = layout.start(layout.columns);
    for (std::size_t i = 0; i < tile.rows; ++i) {
        const std::size_t row = tile.row + i;
        const double w = labels.w(row);
        double* count = counts + labels.k(row) * width;
        const Code* code = tile[i];
        for (std::size_t j = 0; j < tile.columns; ++j)
            if (layout.has(tile.column + j, code[j]))
                count[layout.start(tile.column + j) + static_cast<std::size_t>(code[j])] += w;
    }
}

inline Buffer<double> tally_codes(const Table& X, const Labels& labels, const Layout& layout,
                                  std::size_t threads) {
    const std::size_t size = labels.classes * layout.start(X.columns);
    const std::size_t parts = ranges(X.rows * X.columns, threads, size);
    Sums counts(size, parts);
    parallel_tiles<Code>(X, parts, [&](std::size_t part, const Tile<Code>& tile) {
        tally_tile(tile, labels, layout, counts[part]);
    });
    return counts.total();
}

// a - b, but zero where both agree to `rounding` of the larger, unless both are whole numbers.
inline Buffer<double> subtract(const double* a, const double* b, std::size_t size, double rounding,
                               std::size_t threads) {
    auto out = zeros<double>(size);
    parallel_for(size, ranges(size, threads), [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const double rest = a[i] - b[i];
            const bool close =
                std::abs(rest) <= rounding * std::max(std::abs(a[i]), std::abs(b[i]));
            const bool whole = a[i] == std::floor(a[i]) && b[i] == std::floor(b[i]);
            out[i] = close && !whole ? 0.0 : rest;
        }
    });
    return out;
}

// The mean, rounded to a multiple of a power of two about as large as the spread; 0 if not finite.
inline double grid_point(double mean, double spread) {
    int own = 0, wide = 0;
    std::frexp(mean, &own);
    std::frexp(spread, &wide);
    const int exponent = spread > 0 ? std::max(wide, own - 30) : own - 20;
    const double step = std::ldexp(1.0, std::max(exponent, -1000));
    const double point = std::nearbyint(mean / step) * step;
    return std::isfinite(point) ? point : 0.0;
}

inline Buffer<double> grid_points(const double* mean, const double* spread, std::size_t size) {
    auto out = zeros<double>(size);
    for (std::size_t i = 0; i < size; ++i) out[i] = grid_point(mean[i], spread[i]);
    return out;
}

// Sums of w, w z and w z² by class and column (K, n), z = x - origin; see Moments. The weights are
// (K, n) or (K, 1), and the squares (K, n) or, pooled over the classes, (1, n).
struct Powers {
    const double *origin, *weights, *sums, *squares;
    std::size_t classes, columns, weight_columns;
    bool pooled;

    double w(std::size_t k, std::size_t j) const {
        return weights[weight_columns == 1 ? k : k * columns + j];
    }
};

struct Centred {
    Buffer<double> offset, variance, origin;  // mean - origin, and a new origin near the mean
    bool formal = false;                      // whether no rows can have given some of the sums
};

// A sum of squares minus its explained part; zero if the difference is only rounding error.
inline double resolved(double square, double explained, double rounding) {
    const double scatter = square - explained;
    return std::abs(scatter) <= rounding * std::abs(square) ? 0.0 : scatter;
}

inline Centred centre_powers(const Powers& p, double rounding) {
    const std::size_t K = p.classes, n = p.columns, rows = p.pooled ? 1 : K;
    Centred out{zeros<double>(K * n), zeros<double>(rows * n), zeros<double>(K * n)};
    double total = 0;
    for (std::size_t k = 0; k < K; ++k) total += p.w(k, 0);
    for (std::size_t k = 0; k < K; ++k)
        for (std::size_t j = 0; j < n; ++j) {
            const std::size_t i = k * n + j;
            const double w = p.w(k, j);
            out.offset[i] = w != 0 ? p.sums[i] / w : 0.0;
            const double explained = out.offset[i] * p.sums[i];
            if (p.pooled)
                out.variance[j] += explained;
            else
                out.variance[i] = w != 0 ? resolved(p.squares[i], explained, rounding) / w : 0.0;
        }
    for (std::size_t j = 0; p.pooled && j < n; ++j)
        out.variance[j] =
            total > 0 ? resolved(p.squares[j], out.variance[j], rounding) / total : 0.0;
    for (std::size_t k = 0; k < K; ++k)
        for (std::size_t j = 0; j < n; ++j) {
            const std::size_t i = k * n + j;
            const double variance = out.variance[p.pooled ? j : i];
            const bool formal = p.w(k, j) <= 0 || variance < 0;
            const double spread = std::sqrt(std::max(variance, 0.0));
            out.origin[i] = formal ? p.origin[i] : grid_point(p.origin[i] + out.offset[i], spread);
            out.formal |= formal;
        }
    return out;
}

}  // namespace genus
