// Distinct numbers in order, and the rank of each number among them.
#pragma once

#include <algorithm>
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

// Radix sort by 11 bits at a time, lowest first, in linear time (fewer than 2³² numbers). Numbers
// move along with their places, because looking them up would take longer. Many numbers are sorted
// in eight parts, by their range, one after the other, which takes less memory.
inline Ranks ranks_of(const std::uint32_t* numbers, std::size_t n) {
    constexpr int bits = 11;
    constexpr std::uint32_t mask = (1u << bits) - 1;
    const std::uint32_t parts = n < (1u << 19) ? 1 : 8;
    const auto part_of = [&](std::uint32_t number) {
        return static_cast<std::uint32_t>(std::uint64_t{number} * parts >> 32);
    };
    std::size_t sizes[8] = {};
    for (std::size_t i = 0; i < n; ++i) ++sizes[part_of(numbers[i])];
    std::vector<std::uint64_t> held(*std::max_element(sizes, sizes + 8) + 1), next(held.size());
    Ranks found{{}, std::vector<std::uint32_t>(n)};
    for (std::uint32_t part = 0; part < parts; ++part) {
        std::size_t size = 0;
        for (std::size_t i = 0; i < n; ++i) {  // without branches
            held[size] = std::uint64_t{numbers[i]} << 32 | i;
            size += part_of(numbers[i]) == part;
        }
        for (int shift = 32; shift < 64; shift += bits) {
            std::uint32_t place[mask + 2] = {};
            for (std::size_t i = 0; i < size; ++i) ++place[(held[i] >> shift & mask) + 1];
            for (std::size_t i = 0; i <= mask; ++i) place[i + 1] += place[i];
            for (std::size_t i = 0; i < size; ++i) next[place[held[i] >> shift & mask]++] = held[i];
            held.swap(next);
        }
        for (std::size_t i = 0; i < size; ++i) {
            const auto number = static_cast<std::uint32_t>(held[i] >> 32);
            if (found.distinct.empty() || found.distinct.back() != number)
                found.distinct.push_back(number);
            found.at[static_cast<std::uint32_t>(held[i])] =
                static_cast<std::uint32_t>(found.distinct.size() - 1);
        }
    }
    found.distinct.shrink_to_fit();
    return found;
}

}  // namespace genus
