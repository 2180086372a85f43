// Weights of rows by class and the codes of two columns, for every pair of columns.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "counting.hpp"

namespace genus {

using Cell = std::uint16_t;
constexpr std::size_t block_rows = 4096;  // their codes and one table of counts fit the cache

// Columns of codes, each below the size of its column in the layout.
struct Cells {
    const Cell* codes;  // (columns, rows)
    std::size_t rows;

    const Cell* operator()(std::size_t column) const { return codes + column * rows; }
};

// Counts of one column i with each column j >= i, side by side: (class, code of i, code of j).
template <class Count, class Weigh>
void pair_column(const Cells& cells, const Labels& labels, const Layout& layout, std::size_t i,
                 Count* counts, const Weigh& weigh) {
    const std::size_t size = layout.size(i), first = layout.start(i);
    const Cell* own = cells(i);
    std::vector<std::uint32_t> base(block_rows);
    for (std::size_t begin = 0; begin < cells.rows; begin += block_rows) {
        const std::size_t rows = std::min(block_rows, cells.rows - begin);
        for (std::size_t r = 0; r < rows; ++r)
            base[r] = static_cast<std::uint32_t>(labels.k(begin + r) * size + own[begin + r]);
        for (std::size_t j = i; j < layout.columns; ++j) {
            const std::size_t width = layout.size(j);
            const Cell* other = cells(j) + begin;
            Count* count = counts + (layout.start(j) - first) * size * labels.classes;
            for (std::size_t r = 0; r < rows; ++r)
                count[std::size_t{base[r]} * width + other[r]] += weigh(begin + r);
        }
    }
}

// Counts (classes, V, V), both halves; V is the number of all codes of all columns.
inline Buffer<double> tally_pairs(const Cells& cells, const Labels& labels, const Layout& layout,
                                  std::size_t threads) {
    const std::size_t V = layout.start(layout.columns), n = layout.columns;
    auto out = zeros<double>(labels.classes * V * V);
    const std::size_t classes = labels.classes;
    const std::size_t parts =
        std::min(ranges(cells.rows * n * n / 8, threads), std::max(n, std::size_t{1}));
    std::atomic<std::size_t> next{0};
    std::vector<char> failed(parts, 0);
    const auto work = [&](auto zero, const auto& weigh, std::size_t part) {
        using Count = decltype(zero);
        try {
            for (std::size_t i; (i = next.fetch_add(1)) < n;) {
                const std::size_t first = layout.start(i), size = layout.size(i);
                std::vector<Count> counts((V - first) * size * classes);
                pair_column(cells, labels, layout, i, counts.data(), weigh);
                const Count* count = counts.data();
                for (std::size_t j = i; j < n; ++j)
                    for (std::size_t k = 0; k < classes; ++k)
                        for (std::size_t a = 0; a < size; ++a)
                            for (std::size_t b = 0; b < layout.size(j); ++b, ++count) {
                                const std::size_t s = first + a, t = layout.start(j) + b;
                                out[(k * V + s) * V + t] = static_cast<double>(*count);
                                out[(k * V + t) * V + s] = static_cast<double>(*count);
                            }
            }
        } catch (const std::bad_alloc&) {
            failed[part] = 1;
        }
    };
    parallel_for(parts, parts, [&](std::size_t part, std::size_t, std::size_t) {
        if (labels.weight)
            work(0.0, [&](std::size_t row) { return labels.w(row); }, part);
        else
            work(std::uint32_t{0}, [](std::size_t) { return std::uint32_t{1}; }, part);
    });
    if (std::find(failed.begin(), failed.end(), 1) != failed.end()) throw std::bad_alloc();
    return out;
}

// A table (V, V, K) of the joint scores of two codes for each class; all columns share one range of
// codes. Several tables may be interleaved: entries are `stride` numbers apart.
struct PairTable {
    const double* values;
    std::size_t V, K, stride;

    const double* operator()(Cell u, Cell v) const {
        return values + (std::size_t{u} * V + std::size_t{v}) * stride;
    }
};

// sums += Σ_j table[u, v_j] for some rows, over columns j from `first` to `last`. Column by column,
// so that the part of the table for two columns stays in cache; four at a time, so that sums stay
// in registers.
GENUS_CLONES inline void add_pairs(const Cells& cells, const Cell* own, std::size_t first,
                                   std::size_t last, std::size_t begin, std::size_t rows,
                                   const PairTable& table, double* sums) {
    const std::size_t K = table.K;
    const auto add = [&]<std::size_t columns>(std::size_t j) __attribute__((always_inline)) {
        const Cell* other[columns];
        for (std::size_t c = 0; c < columns; ++c) other[c] = cells(j + c) + begin;
        for_lanes(K, [&]<std::size_t W>(std::size_t k) __attribute__((always_inline)) {
            for (std::size_t r = 0; r < rows; ++r) {
                const double* row = table(own[r], 0) + k;
                auto sum = load_lanes<W>(sums + r * K + k);
                for (std::size_t c = 0; c < columns; ++c)
                    sum += load_lanes<W>(row + other[c][r] * table.stride);
                store_lanes<W>(sums + r * K + k, sum);
            }
        });
    };
    std::size_t j = first;
    for (; j + 4 <= last; j += 4) add.template operator()<4>(j);
    for (; j < last; ++j) add.template operator()<1>(j);
}

// Σ_{i <= j} table[u_i, u_j], (rows, K).
inline Buffer<double> sum_pairs(const Cells& cells, std::size_t n, const PairTable& table,
                                std::size_t threads) {
    auto out = zeros<double>(cells.rows * table.K);
    parallel_for(cells.rows, ranges(cells.rows * n * n, threads),
                 [&](std::size_t, std::size_t begin, std::size_t end) {
                     for (; begin < end; begin += block_rows) {
                         const std::size_t rows = std::min(block_rows, end - begin);
                         for (std::size_t i = 0; i < n; ++i)
                             add_pairs(cells, cells(i) + begin, i, n, begin, rows, table,
                                       out.get() + begin * table.K);
                     }
                 });
    return out;
}

// exp x for x <= 0, down to e^-700, in whole vectors: 2^n e^r with |r| <= ½ log 2, and the series
// of e^r up to r^13 / 13!, whose error is below rounding.
GENUS_INLINE double exp_below_zero(double x) {
    constexpr double shift = 0x1.8p52;  // adding this rounds, and leaves n in the lowest bits
    x = std::max(x, -700.0);
    const double shifted = x * 0x1.71547652b82fep0 + shift, n = shifted - shift;
    const double r = x - n * 0x1.62e42fefa38p-1 - n * 0x1.ef35793c7673p-45;
    double sum = 1.0 / 6227020800;
    for (const double factorial : {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0,
                                   720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0})
        sum = sum * r + 1 / factorial;
    const std::uint64_t power = std::bit_cast<std::uint64_t>(shifted) + 1023;
    return sum * std::bit_cast<double>(power << 52);
}

// Work space for averaging some rows: the sum of each parent, the largest sum, and the total.
struct AverageRoom {
    static constexpr std::size_t rows = 256;
    double *sums, *largest, *total, *parents;

    static std::size_t size(std::size_t n, std::size_t K) { return rows * ((n + 2) * K + 1); }

    AverageRoom(double* room, std::size_t n, std::size_t K)
        : sums(room),
          largest(sums + n * rows * K),
          total(largest + rows * K),
          parents(total + rows * K) {}
};

GENUS_CLONES inline void average_rows(const Cells& cells, std::size_t n, const PairTable& table,
                                      const std::uint8_t* is_parent, std::size_t begin,
                                      std::size_t rows, const AverageRoom& room, double* out) {
    const std::size_t K = table.K, size = rows * K;
    std::fill_n(room.largest, size, -INFINITY);
    std::fill_n(room.total, size, 0.0);
    std::fill_n(room.parents, rows, 0.0);
    double* end = room.sums;
    for (std::size_t i = 0; i < n; ++i) {
        if (!is_parent[i]) continue;
        const Cell* own = cells(i) + begin;
        std::fill_n(end, size, 0.0);
        add_pairs(cells, own, 0, n, begin, rows, table, end);
        for (std::size_t r = 0; r < rows; ++r) {
            const bool known = std::size_t{own[r]} + 1 < table.V;
            room.parents[r] += known;
            if (!known) std::fill_n(end + r * K, K, -INFINITY);
        }
        for (std::size_t s = 0; s < size; ++s) room.largest[s] = std::max(room.largest[s], end[s]);
        end += size;
    }
    for (const double* sums = room.sums; sums < end; sums += size)
        for (std::size_t s = 0; s < size; ++s)
            room.total[s] += exp_below_zero(sums[s] - room.largest[s]);
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t s = r * K; room.parents[r] > 0 && s < (r + 1) * K; ++s)
            out[s] = room.largest[s] + std::log(room.total[s] / room.parents[r]);
}

// log of the mean over the parents i of exp Σ_j table[u_i, u_j], (rows, K). The last code is for
// unknown values, which are no parents; a row without parents gets zeros.
inline Buffer<double> average_parents(const Cells& cells, std::size_t n, const PairTable& table,
                                      const std::uint8_t* is_parent, std::size_t threads) {
    const std::size_t K = table.K, size = AverageRoom::size(n, K);
    auto out = zeros<double>(cells.rows * K);
    const std::size_t parts = ranges(cells.rows * n * n, threads);
    const auto rooms = zeros<double>(parts * size);
    parallel_for(cells.rows, parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
        const AverageRoom room(rooms.get() + part * size, n, K);
        for (; begin < end; begin += AverageRoom::rows)
            average_rows(cells, n, table, is_parent, begin,
                         std::min(AverageRoom::rows, end - begin), room, out.get() + begin * K);
    });
    return out;
}

}  // namespace genus
