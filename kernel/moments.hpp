// Sums of w x, and of w z and w z² with z = x - origin[y], by class and column.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "parallel.hpp"
#include "table.hpp"

namespace genus {

struct Labels {
    const std::int64_t* y;
    const double* weight;  // null: every row has weight 1
    std::size_t classes;

    double w(std::size_t row) const { return weight ? weight[row] : 1.0; }

    std::size_t k(std::size_t row) const { return static_cast<std::size_t>(y[row]); }
};

struct Screen {
    bool missing, invalid;
};

GENUS_INLINE bool is_invalid(double x, bool nonnegative) {
    return std::fabs(x) == std::numeric_limits<double>::infinity() || (nonnegative && x < 0);
}

GENUS_INLINE Screen screen(const double* x, std::size_t n, bool nonnegative) {
    const double least = nonnegative ? 0 : std::numeric_limits<double>::lowest();
    std::uint64_t missing = 0, invalid = 0;
    for (std::size_t j = 0; j < n; ++j) {
        missing |= x[j] != x[j];
        invalid |= (x[j] < least) | (x[j] > std::numeric_limits<double>::max());
    }
    return {missing != 0, invalid != 0};
}

GENUS_INLINE void note_invalid(const double* x, std::size_t n, bool nonnegative, std::size_t flat,
                               std::size_t& first) {
    for (std::size_t j = 0; j < n; ++j)
        if (is_invalid(x[j], nonnegative)) {
            first = std::min(first, flat + j);
            return;
        }
}

GENUS_CLONES inline void sum_tile(const Tile<double>& tile, const Labels& labels, bool screening,
                                  bool nonnegative, std::size_t n, double* totals, double* missings,
                                  unsigned char& touched, std::size_t& first) {
    for (std::size_t i = 0; i < tile.rows; ++i) {
        const std::size_t row = tile.row + i, cell = labels.k(row) * n + tile.column;
        const double w = labels.w(row);
        const double* x = tile[i];
        double* __restrict total = totals + cell, * __restrict missing = missings + cell;
        const Screen found = screening ? screen(x, tile.columns, nonnegative) : Screen{};
        if (found.invalid) note_invalid(x, tile.columns, nonnegative, row * n + tile.column, first);
        if (!found.missing) {
            for (std::size_t j = 0; j < tile.columns; ++j) total[j] += w * x[j];
            continue;
        }
        touched = 1;
        for (std::size_t j = 0; j < tile.columns; ++j) {
            const bool absent = x[j] != x[j];
            total[j] += absent ? 0 : w * x[j];
            missing[j] += absent ? w : 0;
        }
    }
}

// Rows without missing values add to whole[k], which stands for every column of the tile.
GENUS_CLONES inline void square_tile(const Tile<double>& tile, const Labels& labels, bool screening,
                                     std::size_t n, const double* origins, double* whole,
                                     double* weights, double* sums, double* squares,
                                     std::size_t& first) {
    for (std::size_t i = 0; i < tile.rows; ++i) {
        const std::size_t row = tile.row + i, cell = labels.k(row) * n + tile.column;
        const double w = labels.w(row);
        const double *x = tile[i], *origin = origins + cell;
        double* __restrict weight = weights + cell, * __restrict sum = sums + cell;
        double* __restrict square = squares + cell;
        const Screen found = screening ? screen(x, tile.columns, false) : Screen{};
        if (found.invalid) note_invalid(x, tile.columns, false, row * n + tile.column, first);
        if (!found.missing) {
            whole[labels.k(row)] += w;
            for (std::size_t j = 0; j < tile.columns; ++j) {
                const double z = x[j] - origin[j], wz = w * z;
                sum[j] += wz;
                square[j] += wz * z;
            }
            continue;
        }
        for (std::size_t j = 0; j < tile.columns; ++j) {
            const bool absent = x[j] != x[j];
            const double z = absent ? 0 : x[j] - origin[j], wz = w * z;
            weight[j] += absent ? 0 : w;
            sum[j] += wz;
            square[j] += wz * z;
        }
    }
}

// z becomes x - origin, or zeros if a value is missing; returns whether the row is complete.
GENUS_CLONES inline bool center_row(double* __restrict z, std::size_t n, double w, bool screening,
                                    const double* origin, double* __restrict sum, std::size_t flat,
                                    std::size_t& first) {
    const Screen found = screening ? screen(z, n, false) : Screen{};
    if (found.invalid) note_invalid(z, n, false, flat, first);
    if (found.missing) {
        std::fill(z, z + n, 0.0);
        return false;
    }
    for (std::size_t j = 0; j < n; ++j) {
        z[j] -= origin[j];
        sum[j] += w * z[j];
    }
    return true;
}

struct Counts {
    Buffer<double> counts, missing;  // none if no value is missing
    long long invalid;
};

inline Counts sum_columns(const Table& X, const Labels& labels, bool nonnegative,
                          std::size_t threads) {
    const std::size_t n = X.columns, size = labels.classes * n,
                      parts = ranges(X.rows * n, threads, size);
    const bool screening = X.floating() || (nonnegative && X.has_sign());
    Sums total(size, parts), missing(size, parts);
    First first(parts);
    parallel_tiles(X, parts, [&](std::size_t part, const Tile<double>& tile) {
        sum_tile(tile, labels, screening, nonnegative, n, total[part], missing[part],
                 missing.touched(part), first[part]);
    });
    return {total.total(), missing.total_if_touched(), first.index()};
}

struct Squares {
    Buffer<double> weights, sums, squares;
    long long invalid;
};

inline Squares square_columns(const Table& X, const Labels& labels, const double* origin,
                              std::size_t threads) {
    const std::size_t n = X.columns, size = labels.classes * n,
                      parts = ranges(X.rows * n, threads, size);
    const std::size_t width = std::max(tile_width(X), std::size_t{1}), bands = n / width + 1;
    Sums wholes(bands * labels.classes, parts), weights(size, parts), sums(size, parts),
        squares(size, parts);
    First first(parts);
    parallel_tiles(X, parts, [&](std::size_t part, const Tile<double>& tile) {
        square_tile(tile, labels, X.floating(), n, origin,
                    wholes[part] + tile.column / width * labels.classes, weights[part], sums[part],
                    squares[part], first[part]);
    });
    auto weight = weights.total();
    const auto whole = wholes.total();
    for (std::size_t k = 0; k < labels.classes; ++k)
        for (std::size_t j = 0; j < n; ++j)
            weight[k * n + j] += whole[j / width * labels.classes + k];
    return {std::move(weight), sums.total(), squares.total(), first.index()};
}

struct Centered {
    Buffer<double> weights, sums;
    long long invalid;
};

// Row i of Z is row rows[i] of X (row i if rows is null), and labels belong to the rows of Z. On
// one thread, because callers multiply Z next and use a thread for every chunk.
inline Centered center(const Table& X, const Labels& labels, const double* origin,
                       const std::int64_t* rows, std::size_t m, double* Z) {
    const std::size_t n = X.columns;
    auto weights = zeros<double>(labels.classes), sums = zeros<double>(labels.classes * n);
    First first(1);
    const std::size_t step = rows ? 1 : 64;  // column-major tables are read in runs of rows
    for (std::size_t start = 0; start < m; start += step) {
        const std::size_t stop = std::min(start + step, m);
        copy(X, rows ? static_cast<std::size_t>(rows[start]) : start, stop - start, 0, n,
             Z + start * n, n);
        for (std::size_t i = start; i < stop; ++i) {
            const std::size_t k = labels.k(i);
            const double w = labels.w(i);
            if (center_row(Z + i * n, n, w, X.floating(), origin + k * n, sums.get() + k * n, i * n,
                           first[0]))
                weights[k] += w;
        }
    }
    return {std::move(weights), std::move(sums), first.index()};
}

struct Range {
    double *minimum, *maximum, *fractional, *missing;
};

GENUS_CLONES inline void range_tile(const Tile<double>& tile, bool floating, const Range& range) {
    double* __restrict minimum = range.minimum + tile.column;
    double* __restrict maximum = range.maximum + tile.column;
    double* __restrict fractional = range.fractional + tile.column;
    double* __restrict missing = range.missing + tile.column;
    for (std::size_t i = 0; i < tile.rows; ++i) {
        const double* x = tile[i];
        for (std::size_t j = 0; j < tile.columns; ++j) {  // comparisons with NaN are false
            minimum[j] = x[j] < minimum[j] ? x[j] : minimum[j];
            maximum[j] = x[j] > maximum[j] ? x[j] : maximum[j];
        }
        if (!floating) continue;
        for (std::size_t j = 0; j < tile.columns; ++j) {
            const bool absent = x[j] != x[j];
            const double rest = x[j] - std::floor(x[j]);  // NaN if x is infinite
            fractional[j] = !absent && !(rest == 0) ? 1 : fractional[j];
            missing[j] = absent ? 1 : missing[j];
        }
    }
}

struct Ranges {
    Buffer<double> minimum, maximum;
    Buffer<bool> integral, missing;
};

inline Ranges column_range(const Table& X, std::size_t threads) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::size_t n = X.columns, parts = ranges(X.rows * n, threads, n);
    auto minimum = zeros<double>(parts * n), maximum = zeros<double>(parts * n);
    auto fractional = zeros<double>(parts * n), absent = zeros<double>(parts * n);
    std::fill_n(minimum.get(), parts * n, infinity);
    std::fill_n(maximum.get(), parts * n, -infinity);
    parallel_tiles(X, parts, [&](std::size_t part, const Tile<double>& tile) {
        range_tile(tile, X.floating(),
                   {minimum.get() + part * n, maximum.get() + part * n, fractional.get() + part * n,
                    absent.get() + part * n});
    });
    auto integral = zeros<bool>(n), missing = zeros<bool>(n);
    for (std::size_t i = 0; i < parts * n; ++i) {
        const std::size_t j = i % n;
        minimum[j] = std::min(minimum[j], minimum[i]);
        maximum[j] = std::max(maximum[j], maximum[i]);
        integral[j] = (i < n || integral[j]) && fractional[i] == 0;
        missing[j] = missing[j] || absent[i] != 0;
    }
    return {std::move(minimum), std::move(maximum), std::move(integral), std::move(missing)};
}

}  // namespace genus
