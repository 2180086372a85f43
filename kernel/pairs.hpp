// Weights of rows by class and the codes of two columns, for every pair of columns.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "counting.hpp"

namespace genus {

using Cell = std::uint16_t;
constexpr std::size_t block_rows = 4096;  // their codes and one table of counts stay in cache

// Columns of codes, each below the size that the layout gives its column.
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

// A table (V, V, K) of what two codes say together of each class; columns share one range of codes.
struct PairTable {
    const double* values;
    std::size_t V, K;

    const double* operator()(Cell u, Cell v) const {
        return values + (std::size_t{u} * V + std::size_t{v}) * K;
    }
};

// Σ_{i <= j} table[u_i, u_j], (rows, K).
inline Buffer<double> sum_pairs(const Cells& cells, std::size_t n, const PairTable& table,
                                std::size_t threads) {
    const std::size_t K = table.K;
    auto out = zeros<double>(cells.rows * K);
    parallel_for(cells.rows, ranges(cells.rows * n * n, threads),
                 [&](std::size_t, std::size_t begin, std::size_t end) {
                     for (std::size_t r = begin; r < end; ++r) {
                         double* __restrict sum = out.get() + r * K;
                         for (std::size_t i = 0; i < n; ++i)
                             for (std::size_t j = i; j < n; ++j) {
                                 const double* term = table(cells(i)[r], cells(j)[r]);
                                 for (std::size_t k = 0; k < K; ++k) sum[k] += term[k];
                             }
                     }
                 });
    return out;
}

// Σ_j table[u_i, u_j] of every column i, (rows, n, K).
inline Buffer<double> sum_pairs_by_column(const Cells& cells, std::size_t n, const PairTable& table,
                                          std::size_t threads) {
    const std::size_t K = table.K;
    auto out = zeros<double>(cells.rows * n * K);
    parallel_for(cells.rows, ranges(cells.rows * n * n, threads),
                 [&](std::size_t, std::size_t begin, std::size_t end) {
                     for (std::size_t r = begin; r < end; ++r)
                         for (std::size_t i = 0; i < n; ++i) {
                             double* __restrict sum = out.get() + (r * n + i) * K;
                             for (std::size_t j = 0; j < n; ++j) {
                                 const double* term = table(cells(i)[r], cells(j)[r]);
                                 for (std::size_t k = 0; k < K; ++k) sum[k] += term[k];
                             }
                         }
                 });
    return out;
}

// log of the mean over the parents i of exp Σ_j table[u_i, u_j], (rows, K). The last code is that
// of what is not known and is no parent; a row without any gets zeros.
inline Buffer<double> average_parents(const Cells& cells, std::size_t n, const PairTable& table,
                                      const std::uint8_t* is_parent, std::size_t threads) {
    const std::size_t K = table.K;
    auto out = zeros<double>(cells.rows * K);
    std::vector<std::vector<double>> sums;
    const std::size_t parts = ranges(cells.rows * n * n, threads);
    for (std::size_t part = 0; part < parts; ++part) sums.emplace_back(n * K);
    parallel_for(cells.rows, parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
        double* all = sums[part].data();
        for (std::size_t r = begin; r < end; ++r) {
            std::size_t parents = 0;
            for (std::size_t i = 0; i < n; ++i) {
                const Cell u = cells(i)[r];
                if (!is_parent[i] || std::size_t{u} + 1 == table.V) continue;
                double* __restrict sum = all + parents++ * K;
                std::fill(sum, sum + K, 0.0);
                for (std::size_t j = 0; j < n; ++j) {
                    const double* term = table(u, cells(j)[r]);
                    for (std::size_t k = 0; k < K; ++k) sum[k] += term[k];
                }
            }
            if (!parents) continue;
            double* row = out.get() + r * K;
            for (std::size_t k = 0; k < K; ++k) {
                double largest = all[k];
                for (std::size_t i = 1; i < parents; ++i)
                    largest = std::max(largest, all[i * K + k]);
                double total = 0;
                for (std::size_t i = 0; i < parents; ++i)
                    total += std::exp(all[i * K + k] - largest);
                row[k] = largest + std::log(total / static_cast<double>(parents));
            }
        }
    });
    return out;
}

}  // namespace genus
