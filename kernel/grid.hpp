// Numbers by cells of a fine grid: an integer that ascends with the number, from its leading bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "keys.hpp"

namespace genus {

struct Grid {
    double origin, scale;
    static constexpr int shift = 41;  // of 52 bits of the mantissa 11 are kept

    std::int64_t key(double x) const {
        const double z = (x - origin) + 0.0, moved = z + std::copysign(scale, z) + 0.0;
        const auto bits = std::bit_cast<std::int64_t>(moved) >> shift;
        // Negative floats descend as their bits ascend: turn them over, below all positive ones.
        return bits >= 0 ? bits : -1 - (bits & ((std::int64_t{1} << (63 - shift)) - 1));
    }
};

// The distinct cells, ascending, and the place of every number's cell among them; -1 for NaN.
inline Unique<std::int64_t> grid_codes(const double* data, std::ptrdiff_t stride, std::size_t m,
                                       const Grid& grid, std::size_t threads) {
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();
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

}  // namespace genus
