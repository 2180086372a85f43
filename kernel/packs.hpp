// Packs of lessons: each token once, the most frequent first, and each lesson as steps between
// positions in that list. The format is described in genus/mail/store/packing.py.
#pragma once

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ranks.hpp"

namespace genus::packs {

constexpr std::uint32_t far = 255;  // marks a step that takes four bytes, stored separately

inline void put(std::string& to, std::uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) to += static_cast<char>(number >> shift & 255);
}

inline std::uint32_t get(std::string_view from, std::size_t at) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i)
        number |= std::uint32_t{static_cast<unsigned char>(from[at + i])} << 8 * i;
    return number;
}

// The tokens of lessons, one lesson after the other; the sizes add up to their number.
struct Lessons {
    std::vector<std::uint32_t> tokens, sizes;
};

inline std::string packed(const std::uint32_t* tokens, std::size_t n,
                          const std::vector<std::uint32_t>& sizes) {
    const Ranks ranks = ranks_of(tokens, n);
    const std::size_t distinct = ranks.distinct.size();
    // Sort by the number of bits in the count of lessons with a token, then by the token.
    std::vector<std::uint32_t> place(34, 0), times(distinct), order(distinct), rank(distinct);
    for (const auto at : ranks.at) ++times[at];
    for (const auto each : times) ++place[33 - std::bit_width(each)];
    for (std::size_t i = 0, sum = 0; i < place.size(); ++i)
        sum += std::exchange(place[i], static_cast<std::uint32_t>(sum));
    for (std::size_t i = 0; i < distinct; ++i) {
        rank[i] = place[33 - std::bit_width(times[i])]++;
        order[rank[i]] = ranks.distinct[i];
    }
    std::string near, away;
    near.reserve(n);
    std::vector<std::uint32_t> held, other;
    std::size_t at = 0;
    for (const auto size : sizes) {
        held.clear();
        for (std::size_t end = at + size; at < end; ++at) held.push_back(rank[ranks.at[at]]);
        sort_bytes(held, other, std::bit_width(distinct));
        std::uint32_t next = 0;
        for (const auto each : held) {
            const auto step = each - next;
            next = each + 1;
            near += static_cast<char>(std::min(step, far));
            if (step >= far) put(away, step);
        }
    }
    std::string pack;
    pack.reserve(12 + 4 * (sizes.size() + distinct) + near.size() + away.size());
    put(pack, static_cast<std::uint32_t>(sizes.size()));
    put(pack, static_cast<std::uint32_t>(distinct));
    put(pack, static_cast<std::uint32_t>(away.size() / 4));
    for (const auto size : sizes) put(pack, size);
    for (int shift = 0; shift < 32; shift += 8) {  // high bytes are similar, low ones are not
        std::uint32_t before = 0;
        for (const auto token : order)  // distances are modulo 2³², like their sums
            pack += static_cast<char>((token - std::exchange(before, token)) >> shift & 255);
    }
    return pack + near + away;
}

// The lessons of a pack; nothing if it is invalid.
inline std::optional<Lessons> unpacked(std::string_view pack) {
    if (pack.size() < 12) return {};
    const std::size_t number = get(pack, 0), distinct = get(pack, 4), away = get(pack, 8);
    std::size_t at = 12, total = 0;
    if ((pack.size() - at) / 4 < number) return {};
    Lessons found;
    for (std::size_t i = 0; i < number; ++i, at += 4) {
        found.sizes.push_back(get(pack, at));
        total += found.sizes.back();
    }
    if (pack.size() - at != 4 * distinct + total + 4 * away) return {};
    std::vector<std::uint32_t> order(distinct);
    std::uint32_t token = 0;
    for (std::size_t i = 0; i < distinct; ++i) {
        for (std::size_t byte = 0; byte < 4; ++byte)
            token += std::uint32_t{static_cast<unsigned char>(pack[at + byte * distinct + i])}
                     << 8 * byte;
        order[i] = token;
    }
    at += 4 * distinct;
    std::size_t elsewhere = at + total;
    std::vector<std::uint32_t> held, other;
    found.tokens.reserve(total);
    for (const auto size : found.sizes) {
        held.clear();
        std::uint64_t next = 0;
        for (std::size_t i = 0; i < size; ++i, ++at) {
            std::uint64_t step = static_cast<unsigned char>(pack[at]);
            if (step == far) {
                if (elsewhere == pack.size()) return {};
                step = get(pack, elsewhere);
                elsewhere += 4;
            }
            if (next + step >= distinct) return {};
            held.push_back(order[next + step]);
            next += step + 1;
        }
        sort_bytes(held, other);
        found.tokens.insert(found.tokens.end(), held.begin(), held.end());
    }
    if (elsewhere != pack.size()) return {};
    return found;
}

}  // namespace genus::packs
