// Cells of a fine grid: integers from the leading bits of numbers, which ascend with the numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "keys.hpp"

namespace genus {

// Cells are 2^exponent wide for the first 2^(bits + 1) cells from zero; beyond, 2^-bits of the
// number.
struct Grid {
    int exponent, bits;
    double per_step = std::ldexp(1.0, -exponent);

    std::int64_t key(double x) const {
        const bool negative = x < 0;
        // Cells include their lower end: for a negative number, the next one towards zero decides.
        const auto size = std::bit_cast<std::int64_t>(std::abs(x)) - negative;
        const std::int64_t e = (size >> 52) - 1023 - exponent, one = std::int64_t{1} << bits;
        const std::int64_t place =
            e > bits ? (e - bits) * one + ((size >> (52 - bits) & (one - 1)) | one)
                     : static_cast<std::int64_t>(std::bit_cast<double>(size) * per_step);
        return negative ? -1 - place : place;
    }
};

// The distinct cells, ascending, and the position of every number's cell among them; -1 for NaN.
inline Unique<std::int64_t> grid_codes(const double* data, std::ptrdiff_t stride, std::size_t m,
                                       const Grid& grid, std::size_t threads) {
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t many = std::int64_t{1} << 23;
    const std::size_t parts = ranges(m, threads);
    auto codes = zeros<std::int64_t>(m);
    std::vector<std::int64_t> low(parts, std::numeric_limits<std::int64_t>::max()),
        high(parts, none);
    parallel_for(m, parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const double x = data[static_cast<std::ptrdiff_t>(i) * stride];
            if (x != x) {
                codes[i] = none;
                continue;
            }
            const std::int64_t key = grid.key(x);
            codes[i] = key;
            low[part] = std::min(low[part], key);
            high[part] = std::max(high[part], key);
        }
    });
    const std::int64_t least = *std::min_element(low.begin(), low.end()),
                       most = *std::max_element(high.begin(), high.end());
    if (most == none) {
        std::fill_n(codes.get(), m, std::int64_t{-1});
        return {{}, std::move(codes)};
    }
    if (most - least >= many) {  // too far apart for a table of all cells in between
        auto unique = unique_codes(codes.get(), 1, m, threads);
        if (unique.values.front() == none) {
            unique.values.erase(unique.values.begin());
            for (std::size_t i = 0; i < m; ++i) --unique.codes[i];
        }
        return unique;
    }
    std::vector<std::int64_t> values;
    std::vector<std::int32_t> place(static_cast<std::size_t>(most - least) + 1, 0);
    for (std::size_t i = 0; i < m; ++i)
        if (codes[i] != none) place[static_cast<std::size_t>(codes[i] - least)] = 1;
    for (std::size_t cell = 0; cell < place.size(); ++cell)
        if (place[cell]) {
            place[cell] = static_cast<std::int32_t>(values.size());
            values.push_back(least + static_cast<std::int64_t>(cell));
        }
    parallel_for(m, parts, [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            codes[i] = codes[i] == none ? -1 : place[static_cast<std::size_t>(codes[i] - least)];
    });
    return {std::move(values), std::move(codes)};
}

// 1 plus the number of ascending edges that are not above each number; 0 for NaN.
inline Buffer<std::int32_t> between_edges(const double* data, std::ptrdiff_t stride, std::size_t m,
                                          const double* edges, std::size_t count,
                                          std::size_t threads) {
    const std::size_t first = std::bit_ceil(count + 1) / 2;
    std::vector<double> padded(2 * first, std::numeric_limits<double>::infinity());
    std::copy_n(edges, count, padded.begin());
    auto codes = zeros<std::int32_t>(m);
    parallel_for(m, ranges(m, threads), [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const double x = data[static_cast<std::ptrdiff_t>(i) * stride];
            std::size_t at = 0;
            for (std::size_t step = first; step; step /= 2)
                at += padded[at + step - 1] <= x ? step : 0;  // without a branch
            codes[i] = x != x ? 0 : static_cast<std::int32_t>(std::min(at, count)) + 1;
        }
    });
    return codes;
}

}  // namespace genus
