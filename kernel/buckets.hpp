// Buckets of counts: the ham and spam counts of all tokens with the same high 16 bits.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace genus::buckets {

constexpr std::int64_t unit = 256;  // the count of one message
constexpr std::int64_t few = 15,
                       large = 255;  // counts from `few` messages on are large; `large` marks them
constexpr std::size_t head = 5, wide = 6;  // bytes before the tokens, and bytes of a large count

struct Entry {
    std::uint32_t token;
    std::int64_t ham, spam;
};

// The checksum of zlib (CRC-32), continued from a start value.
inline std::uint32_t crc(std::string_view text, std::uint32_t start) {
    static constexpr auto table = [] {
        std::array<std::uint32_t, 256> made{};
        for (std::uint32_t i = 0; i < 256; ++i) {
            std::uint32_t c = i;
            for (int bit = 0; bit < 8; ++bit) c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
            made[i] = c;
        }
        return made;
    }();
    std::uint32_t found = ~start;
    for (unsigned char c : text) found = table[(found ^ c) & 255] ^ found >> 8;
    return ~found;
}

inline std::uint64_t get(std::string_view from, std::size_t at, std::size_t bytes) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bytes; ++i)
        number |= std::uint64_t{static_cast<unsigned char>(from[at + i])} << 8 * i;
    return number;
}

inline void put(std::string& to, std::uint64_t number, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) to += static_cast<char>(number >> 8 * i & 255);
}

// Add the entries of a bucket to a list; return false if the bucket is damaged.
inline bool read(std::uint32_t number, std::string_view bucket, std::vector<Entry>& to) {
    if (bucket.size() < head || number > 0xFFFF) return false;
    if (get(bucket, 0, 2) != (crc(bucket.substr(2), number) & 0xFFFF)) return false;
    const std::size_t size = get(bucket, 2, 3);
    if ((bucket.size() - head) / 3 < size) return false;
    std::size_t at = head + 3 * size;
    for (std::size_t i = 0; i < size; ++i) {
        const auto low = static_cast<std::uint32_t>(get(bucket, head + 2 * i, 2));
        Entry entry{number << 16 | low, 0, 0};
        const auto code = static_cast<std::int64_t>(get(bucket, head + 2 * size + i, 1));
        if (code == large) {
            if (bucket.size() - at < 2 * wide) return false;
            entry.ham = static_cast<std::int64_t>(get(bucket, at, wide));
            entry.spam = static_cast<std::int64_t>(get(bucket, at + wide, wide));
            at += 2 * wide;
        } else {
            entry.ham = (code >> 4) * unit, entry.spam = (code & 15) * unit;
        }
        to.push_back(entry);
    }
    return at == bucket.size();
}

// The content of a bucket with these entries, which are ascending.
inline std::string written(std::uint32_t number, const Entry* entries, std::size_t size) {
    std::string tokens, codes, wides;
    for (const Entry* each = entries; each != entries + size; ++each) {
        put(tokens, each->token & 0xFFFF, 2);
        const bool is_large = each->ham % unit != 0 || each->spam % unit != 0 ||
                              each->ham >= few * unit || each->spam >= few * unit;
        const std::int64_t code = is_large ? large : each->ham / unit << 4 | each->spam / unit;
        codes += static_cast<char>(code);
        if (is_large) {
            put(wides, static_cast<std::uint64_t>(each->ham), wide);
            put(wides, static_cast<std::uint64_t>(each->spam), wide);
        }
    }
    std::string content;
    put(content, size, 3);
    content += tokens + codes + wides;
    std::string bucket;
    put(bucket, crc(content, number) & 0xFFFF, 2);
    return bucket + content;
}

// Add changes to the entries of a bucket, both ascending; entries without counts are left out.
// Return false if a count would be negative.
inline bool merge(const std::vector<Entry>& held, const Entry* more, std::size_t size,
                  std::vector<Entry>& to) {
    const Entry* const end = more + size;
    auto at = held.begin();
    to.clear();
    while (at != held.end() || more != end) {
        const bool is_held = more == end || (at != held.end() && at->token <= more->token);
        Entry sum = is_held ? *at++ : *more++;
        if (is_held && more != end && more->token == sum.token) {
            sum.ham += more->ham, sum.spam += more->spam;
            ++more;
        }
        if (sum.ham < 0 || sum.spam < 0) return false;
        if (sum.ham != 0 || sum.spam != 0) to.push_back(sum);
    }
    return true;
}

}  // namespace genus::buckets
