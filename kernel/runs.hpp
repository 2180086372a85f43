// Copy runs of bytes: rows in another order.
#pragma once

#include <cstring>

#include "parallel.hpp"

namespace genus {

// Run i of `out`, from places[i] to places[i + 1], is copied from `source` at starts[i].
inline void take_runs(const std::byte* source, const std::int64_t* starts,
                      const std::int64_t* places, std::size_t runs, std::byte* out,
                      std::size_t threads) {
    const auto size = static_cast<std::size_t>(places[runs] - places[0]);
    parallel_for(runs, ranges(size / 8, threads),
                 [&](std::size_t, std::size_t begin, std::size_t end) {
                     for (std::size_t i = begin; i < end; ++i)
                         std::memcpy(out + places[i], source + starts[i],
                                     static_cast<std::size_t>(places[i + 1] - places[i]));
                 });
}

}  // namespace genus
