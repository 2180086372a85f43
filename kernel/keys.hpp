// The distinct values of a column, in order, and the position of every row's value among them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace genus {

// Equal values have equal keys: -0.0 + 0.0 = 0.0.
inline std::uint64_t key_of(double x) {
    return std::bit_cast<std::uint64_t>(x + 0.0);
}
inline std::uint64_t key_of(std::int64_t x) {
    return static_cast<std::uint64_t>(x);
}

// Numbers distinct values in the order of their arrival: open addressing, linear probing, at most
// half full.
template <class T> class KeyCodes {
public:
    std::vector<T> values;

    std::int64_t number(T x) {
        if (2 * values.size() >= slots_.size()) grow();
        const std::uint64_t key = key_of(x);
        std::size_t slot = hash(key);
        for (; slots_[slot].number >= 0; slot = (slot + 1) & (slots_.size() - 1))
            if (slots_[slot].key == key) return slots_[slot].number;
        slots_[slot] = {key, static_cast<std::int64_t>(values.size())};
        values.push_back(std::bit_cast<T>(key));
        return slots_[slot].number;
    }

private:
    struct Slot {
        std::uint64_t key;
        std::int64_t number = -1;
    };
    std::vector<Slot> slots_ = std::vector<Slot>(64);
    int shift_ = 58;

    // Fibonacci hashing: the high bits of key · 2⁶⁴/φ, after folding the exponent into the low
    // bits.
    std::size_t hash(std::uint64_t key) const {
        return static_cast<std::size_t>(((key ^ (key >> 32)) * 0x9E3779B97F4A7C15u) >> shift_);
    }

    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        --shift_;
        for (const Slot& entry : old) {
            if (entry.number < 0) continue;
            std::size_t slot = hash(entry.key);
            while (slots_[slot].number >= 0) slot = (slot + 1) & (slots_.size() - 1);
            slots_[slot] = entry;
        }
    }
};

template <class T> struct Unique {
    std::vector<T> values;
    Buffer<std::int64_t> codes;
};

template <class T>
Unique<T> unique_codes(const T* data, std::ptrdiff_t stride, std::size_t m, std::size_t threads) {
    const std::size_t parts = ranges(m, threads);
    std::vector<KeyCodes<T>> seen(parts);
    std::vector<char> failed(parts, 0);
    auto codes = zeros<std::int64_t>(m);
    parallel_for(m, parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
        try {
            for (std::size_t i = begin; i < end; ++i) {
                const T x = data[static_cast<std::ptrdiff_t>(i) * stride];
                codes[i] = x != x ? -1 : seen[part].number(x);
            }
        } catch (const std::bad_alloc&) {
            failed[part] = 1;
        }
    });
    if (std::find(failed.begin(), failed.end(), 1) != failed.end()) throw std::bad_alloc();

    // Runs of (value, number), one for each part, sorted on its thread and then merged.
    struct Entry {
        T value;
        std::size_t number;

        bool operator<(const Entry& other) const { return value < other.value; }
    };
    std::vector<std::size_t> start(parts + 1, 0);
    for (std::size_t part = 0; part < parts; ++part)
        start[part + 1] = start[part] + seen[part].values.size();
    std::vector<Entry> entries(start[parts]);
    const auto run = [&](std::size_t part) {
        return entries.begin() + static_cast<std::ptrdiff_t>(start[part]);
    };
    parallel_for(parts, parts, [&](std::size_t part, std::size_t, std::size_t) {
        for (std::size_t i = 0; i < seen[part].values.size(); ++i)
            entries[start[part] + i] = {seen[part].values[i], start[part] + i};
        std::sort(run(part), run(part + 1));
    });
    for (std::size_t part = 1; part < parts; ++part)
        std::inplace_merge(run(0), run(part), run(part + 1));

    std::vector<T> values;
    std::vector<std::int64_t> places(entries.size());
    for (const Entry& entry : entries) {
        if (values.empty() || values.back() != entry.value) values.push_back(entry.value);
        places[entry.number] = static_cast<std::int64_t>(values.size()) - 1;
    }
    parallel_for(m, parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            if (codes[i] >= 0) codes[i] = places[start[part] + static_cast<std::size_t>(codes[i])];
    });
    return {std::move(values), std::move(codes)};
}

}  // namespace genus
