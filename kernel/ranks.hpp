// Distinct numbers in order, and the rank of each number among them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace genus {

// Sort numbers of this many bits by radix, one byte at a time; `other` is work space.
inline void sort_bytes(std::vector<std::uint32_t>& numbers, std::vector<std::uint32_t>& other,
                       int bits = 32) {
    other.resize(numbers.size());
    for (int shift = 0; shift < bits; shift += 8) {
        std::uint32_t place[257] = {};
        for (const auto each : numbers) ++place[(each >> shift & 255) + 1];
        for (int i = 0; i < 256; ++i) place[i + 1] += place[i];
        for (const auto each : numbers) other[place[each >> shift & 255]++] = each;
        numbers.swap(other);
    }
}

// The distinct numbers, ascending, and the rank of each number.
struct Ranks {
    std::vector<std::uint32_t> distinct, at;
};

// Radix sort by 11 bits at a time, lowest first, in linear time (fewer than 2³² numbers).
inline Ranks ranks_of(const std::uint32_t* numbers, std::size_t n) {
    constexpr int bits = 11;
    constexpr std::uint32_t mask = (1u << bits) - 1;
    std::vector<std::uint32_t> order(n), next(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(i);
    for (int shift = 0; shift < 32; shift += bits) {
        std::uint32_t place[mask + 2] = {};
        for (std::size_t i = 0; i < n; ++i) ++place[(numbers[i] >> shift & mask) + 1];
        for (std::size_t i = 0; i <= mask; ++i) place[i + 1] += place[i];
        for (const auto i : order) next[place[numbers[i] >> shift & mask]++] = i;
        order.swap(next);
    }
    Ranks found;
    found.at = std::move(next);
    std::size_t distinct = n > 0;
    for (std::size_t i = 1; i < n; ++i) distinct += numbers[order[i]] != numbers[order[i - 1]];
    found.distinct.reserve(distinct);
    for (const auto i : order) {
        if (found.distinct.empty() || found.distinct.back() != numbers[i])
            found.distinct.push_back(numbers[i]);
        found.at[i] = static_cast<std::uint32_t>(found.distinct.size() - 1);
    }
    return found;
}

}  // namespace genus
