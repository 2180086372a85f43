// Words, as bytes in UTF-8, and dictionaries of them: open addressing, at most half full.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "vectors.hpp"

namespace genus {

// Words of up to this many bytes are stored, hashed and compared as two numbers.
constexpr std::size_t short_word = 16;

GENUS_INLINE std::uint64_t load_word(const char* p) {
    std::uint64_t x;
    std::memcpy(&x, p, sizeof x);
    return x;
}

GENUS_INLINE std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// A word as two numbers and its size: its bytes, padded with zeros; for a long word, the position
// of its bytes (in `low`, as its owner counts) and its hash.
struct Key {
    std::uint64_t low, high, size;

    bool is_short() const { return size <= short_word; }

    bool operator==(const Key&) const = default;
};

// Hashing begins with a random seed, so that nobody can write texts whose words all collide.
struct Hash {
    std::uint64_t seed;

    GENUS_INLINE std::uint64_t operator()(std::uint64_t low, std::uint64_t high) const {
        return fold(low ^ seed, high ^ (seed * 0x9E3779B97F4A7C15u | 1));
    }

    std::uint64_t operator()(std::string_view word) const {
        std::uint64_t h = word.size();
        const char *p = word.data(), *last = p + word.size() - short_word;
        for (; p < last; p += short_word) h = (*this)(load_word(p) ^ h, load_word(p + 8));
        return (*this)(load_word(last) ^ h, load_word(last + 8));
    }
};

// The finaliser of splitmix64 (Steele, Lea & Flood 2014): every bit of z changes about half of the
// bits of the result.
GENUS_INLINE std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// A hash that is the same on every machine.
inline std::uint64_t stable_hash(std::string_view word) {
    constexpr Hash hash{0x9E3779B97F4A7C15u};
    if (word.size() > short_word) return mix(hash(word));
    char padded[short_word] = {};
    std::memcpy(padded, word.data(), word.size());
    return mix(hash(load_word(padded), load_word(padded + 8)) + word.size());
}

// The key of a short word; at least 16 bytes must be readable from p.
GENUS_INLINE Key short_key(const char* p, std::size_t size) {
    const auto keep = [](std::size_t bytes) {  // a mask of this many bytes, 0 to 8
        return bytes >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
    };
    return {load_word(p) & keep(size), load_word(p + 8) & keep(size > 8 ? size - 8 : 0), size};
}

// A slot in a table of hashed keys: the number of a key, plus one, below the hash's low half.
struct Slot {
    static constexpr std::uint64_t empty = 0;

    static std::uint64_t of(std::uint64_t hash, std::uint64_t number) {
        return (hash << 32) | (number + 1);
    }

    static bool matches(std::uint64_t slot, std::uint64_t hash) {
        return (slot >> 32) == (hash & 0xFFFFFFFFu);
    }

    static std::size_t number(std::uint64_t slot) {
        return static_cast<std::size_t>(slot & 0xFFFFFFFFu) - 1;
    }
};

constexpr std::size_t most_words = 0xFFFFFFF0u;

class TooManyWords : public std::exception {
public:
    const char* what() const noexcept override {
        return "There are more than 4 billion different words.";
    }
};

// Memory in blocks that never move.
class Arena {
public:
    char* take(std::size_t size) {
        if (size > left_) {
            const std::size_t block = std::max(size, std::size_t{1} << 16);
            blocks_.push_back(std::make_unique_for_overwrite<char[]>(block));
            next_ = blocks_.back().get(), left_ = block;
        }
        left_ -= size;
        return std::exchange(next_, next_ + size);
    }

private:
    std::vector<std::unique_ptr<char[]>> blocks_;
    char* next_ = nullptr;
    std::size_t left_ = 0;
};

// Records of a fixed number of numbers, all zero at first. They never move: each block has room for
// as many as all before it. A record of 64 bytes, as for two classes, is one cache line.
class Records {
public:
    explicit Records(std::size_t stride) : stride_(stride) {}

    std::uint64_t* operator[](std::size_t i) const {
        const std::size_t j = i + first;
        const auto block = static_cast<std::size_t>(std::bit_width(j)) - first_width;
        return blocks_[block].begin + (j - (first << block)) * stride_;
    }

    void add() {
        if (((size_ + first) & (size_ + first - 1)) == 0) {
            constexpr std::size_t line = 8;
            auto memory = zeros<std::uint64_t>((size_ + first) * stride_ + line);
            const auto at = reinterpret_cast<std::uintptr_t>(memory.get()) / 8 % line;
            blocks_.push_back({std::move(memory), nullptr});
            blocks_.back().begin = blocks_.back().memory.get() + (line - at) % line;
        }
        ++size_;
    }

    std::size_t size() const { return size_; }

private:
    static constexpr std::size_t first = 1024, first_width = 11;

    struct Block {
        Buffer<std::uint64_t> memory;
        std::uint64_t* begin;
    };

    std::size_t stride_, size_ = 0;
    std::vector<Block> blocks_;
};

// Numbers words in the order of their arrival. Each has a record: its key and the caller's numbers,
// all zero at first, side by side so that one memory access finds both.
class Dictionary {
public:
    Dictionary(std::size_t numbers, std::uint64_t seed)
        : records_(sizeof(Key) / 8 + numbers), hash_{seed} {}

    std::size_t size() const { return records_.size(); }

    std::string_view word(std::size_t i) const {
        const Key& key = this->key(i);
        return {key.is_short() ? reinterpret_cast<const char*>(&key)
                               : std::bit_cast<const char*>(key.low),
                key.size};
    }

    double* numbers(std::size_t i) { return numbers_of(records_[i]); }

    // Words are looked up in batches, so that memory for one is fetched while others wait.
    // visit(number, numbers) follows for each, at the latest when `flush` returns.
    template <class Visit>
    GENUS_INLINE void add(const char* p, std::size_t size, const Visit& visit) {
        if (size > short_word) {
            const std::size_t found = number({p, size});
            visit(found, numbers(found));
            return;
        }
        const Key key = short_key(p, size);
        const std::uint64_t hash = hash_(key.low, key.high);
        __builtin_prefetch(&slots_[place(hash)]);
        waiting_[waiting_count_++] = {key, hash, 0, nullptr};
        if (waiting_count_ == batch) flush(visit);
    }

    // The number of a word, without a batch.
    std::size_t add(std::string_view word) {
        if (word.size() > short_word) return number(word);
        char padded[short_word] = {};
        if (!word.empty()) std::memcpy(padded, word.data(), word.size());
        const Key key = short_key(padded, word.size());
        return number(key, hash_(key.low, key.high));
    }

    template <class Visit> void flush(const Visit& visit) {
        for (std::size_t i = 0; i < waiting_count_; ++i) {
            Waiting& one = waiting_[i];
            std::size_t at = place(one.hash);
            while (slots_[at] != Slot::empty && !Slot::matches(slots_[at], one.hash)) at = next(at);
            if (slots_[at] == Slot::empty) continue;
            one.found = Slot::number(slots_[at]);
            one.record = records_[one.found];
            __builtin_prefetch(one.record);
        }
        for (std::size_t i = 0; i < waiting_count_; ++i) {
            Waiting& one = waiting_[i];
            if (!one.record || !(*reinterpret_cast<const Key*>(one.record) == one.key)) {
                one.found = number(one.key, one.hash);
                one.record = records_[one.found];
            }
            visit(one.found, numbers_of(one.record));
        }
        waiting_count_ = 0;
    }

private:
    static constexpr std::size_t batch = 64;

    struct Waiting {
        Key key;
        std::uint64_t hash;
        std::size_t found;
        std::uint64_t* record;
    };

    static double* numbers_of(std::uint64_t* record) {
        return reinterpret_cast<double*>(record) + sizeof(Key) / 8;
    }

    Records records_;
    Hash hash_;
    int shift_ = 54;
    Buffer<std::uint64_t> slots_ = zeros<std::uint64_t>(slot_count());
    Arena long_words_;
    Waiting waiting_[batch];
    std::size_t waiting_count_ = 0;

    std::size_t slot_count() const { return std::size_t{1} << (64 - shift_); }

    const Key& key(std::size_t i) const { return *reinterpret_cast<const Key*>(records_[i]); }

    std::size_t place(std::uint64_t hash) const { return static_cast<std::size_t>(hash >> shift_); }

    std::size_t next(std::size_t at) const { return (at + 1) & (slot_count() - 1); }

    std::size_t number(const Key& wanted, std::uint64_t hash) {
        std::size_t at = place(hash);
        for (; slots_[at] != Slot::empty; at = next(at))
            if (Slot::matches(slots_[at], hash) && key(Slot::number(slots_[at])) == wanted)
                return Slot::number(slots_[at]);
        return insert(wanted, hash, at);
    }

    std::size_t number(std::string_view word) {
        const std::uint64_t hash = hash_(word);
        std::size_t at = place(hash);
        for (; slots_[at] != Slot::empty; at = next(at))
            if (Slot::matches(slots_[at], hash) && this->word(Slot::number(slots_[at])) == word)
                return Slot::number(slots_[at]);
        char* bytes = long_words_.take(word.size());
        std::memcpy(bytes, word.data(), word.size());
        return insert({std::bit_cast<std::uint64_t>(bytes), hash, word.size()}, hash, at);
    }

    std::size_t insert(const Key& key, std::uint64_t hash, std::size_t at) {
        const std::size_t number = size();
        if (number == most_words) throw TooManyWords();
        records_.add();
        std::memcpy(records_[number], &key, sizeof key);
        slots_[at] = Slot::of(hash, number);
        if (2 * size() >= slot_count()) grow();
        return number;
    }

    void grow() {
        slots_.reset();  // slots are computed again from the records
        --shift_;
        slots_ = zeros<std::uint64_t>(slot_count());
        for (std::size_t i = 0; i < size(); ++i) {
            const Key& key = this->key(i);
            const std::uint64_t hash = key.is_short() ? hash_(key.low, key.high) : key.high;
            std::size_t at = place(hash);
            while (slots_[at] != Slot::empty) at = next(at);
            slots_[at] = Slot::of(hash, i);
        }
    }
};

// Sorted words, one after the other, and where each ends.
struct SortedWords {
    const char* bytes;
    const std::int64_t* ends;
    std::size_t size;

    std::string_view operator[](std::size_t i) const {
        const std::int64_t begin = i ? ends[i - 1] : 0;
        return {bytes + begin, static_cast<std::size_t>(ends[i] - begin)};
    }

    bool within(std::size_t length) const {
        std::int64_t last = 0;
        for (std::size_t i = 0; i < size; last = ends[i++])
            if (ends[i] < last) return false;
        return static_cast<std::size_t>(last) <= length;
    }
};

struct OwnWords {
    Buffer<char> bytes;
    Buffer<std::int64_t> ends;
    std::size_t size = 0;

    std::size_t length() const { return size ? static_cast<std::size_t>(ends[size - 1]) : 0; }
};

// A word to be sorted: its first bytes as a number, and its source.
struct Candidate {
    std::uint64_t prefix;
    std::uint32_t part, number;
    std::string_view word;

    static Candidate of(std::string_view word, std::size_t part, std::size_t number) {
        std::uint64_t prefix = 0;
        std::memcpy(&prefix, word.data(), std::min(word.size(), sizeof prefix));
        prefix = __builtin_bswap64(prefix);  // the first byte must be the most significant
        return {prefix, static_cast<std::uint32_t>(part), static_cast<std::uint32_t>(number), word};
    }

    bool operator<(const Candidate& other) const {
        return prefix != other.prefix ? prefix < other.prefix : word < other.word;
    }
};

// All words of several dictionaries, ascending, with equal ones next to each other.
inline std::vector<Candidate> sorted_words(const std::vector<Dictionary>& parts) {
    std::vector<std::size_t> start(parts.size() + 1, 0);
    for (std::size_t part = 0; part < parts.size(); ++part)
        start[part + 1] = start[part] + parts[part].size();
    std::vector<Candidate> words(start.back());
    const auto run = [&](std::size_t part) {
        return words.begin() + static_cast<std::ptrdiff_t>(start[part]);
    };
    parallel_for(parts.size(), parts.size(), [&](std::size_t part, std::size_t, std::size_t) {
        for (std::size_t i = 0; i < parts[part].size(); ++i)
            run(part)[static_cast<std::ptrdiff_t>(i)] = Candidate::of(parts[part].word(i), part, i);
        std::sort(run(part), run(part + 1));
    });
    for (std::size_t part = 1; part < parts.size(); ++part)
        std::inplace_merge(run(0), run(part), run(part + 1));
    return words;
}

// Each distinct word of sorted candidates once.
inline OwnWords distinct_words(const std::vector<Candidate>& words) {
    std::size_t size = 0, length = 0;
    for (std::size_t i = 0; i < words.size(); ++i)
        if (i == 0 || words[i].word != words[i - 1].word) ++size, length += words[i].word.size();
    OwnWords own{zeros<char>(length), zeros<std::int64_t>(size), size};
    std::size_t at = 0, count = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i && words[i].word == words[i - 1].word) continue;
        if (!words[i].word.empty())
            std::memcpy(own.bytes.get() + at, words[i].word.data(), words[i].word.size());
        own.ends[count++] = static_cast<std::int64_t>(at += words[i].word.size());
    }
    return own;
}

// The words of both, ascending, and the positions of the words of each among them.
struct MergedWords {
    OwnWords words;
    Buffer<std::int64_t> left, right;
};

inline MergedWords merge_words(const SortedWords& a, const SortedWords& b) {
    MergedWords merged{{}, zeros<std::int64_t>(a.size), zeros<std::int64_t>(b.size)};
    std::size_t size = 0, length = 0;
    for (std::size_t i = 0, j = 0; i < a.size || j < b.size; ++size) {
        const int order = i == a.size ? 1 : j == b.size ? -1 : a[i].compare(b[j]);
        length += order <= 0 ? a[i].size() : b[j].size();
        if (order <= 0) merged.left[i++] = static_cast<std::int64_t>(size);
        if (order >= 0) merged.right[j++] = static_cast<std::int64_t>(size);
    }
    OwnWords words{zeros<char>(length), zeros<std::int64_t>(size), size};
    const auto place = [&](const SortedWords& from, const Buffer<std::int64_t>& at) {
        for (std::size_t i = 0; i < from.size; ++i)
            words.ends[static_cast<std::size_t>(at[i])] = static_cast<std::int64_t>(from[i].size());
    };
    place(a, merged.left), place(b, merged.right);
    for (std::size_t i = 1; i < size; ++i) words.ends[i] += words.ends[i - 1];
    const auto copy = [&](const SortedWords& from, const Buffer<std::int64_t>& at) {
        for (std::size_t i = 0; i < from.size; ++i) {
            const auto end = words.ends[static_cast<std::size_t>(at[i])];
            if (!from[i].empty())
                std::memcpy(words.bytes.get() + end - static_cast<std::int64_t>(from[i].size()),
                            from[i].data(), from[i].size());
        }
    };
    copy(a, merged.left), copy(b, merged.right);
    merged.words = std::move(words);
    return merged;
}

// Sorted words prepared for lookup: slots[0] is the seed, followed by places by hash; and a key for
// each word. Long words stay where they are.
struct Index {
    std::span<const std::uint64_t> slots;  // without the seed
    const Key* keys;
    std::string_view bytes;
    std::size_t size;
    Hash hash;
    int shift;

    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    GENUS_INLINE std::size_t place(std::uint64_t h) const {
        return static_cast<std::size_t>(h >> shift);
    }

    GENUS_INLINE std::size_t find(const Key& wanted, std::uint64_t h) const {
        for (std::size_t at = place(h); slots[at] != Slot::empty;
             at = (at + 1) & (slots.size() - 1))
            if (Slot::matches(slots[at], h) && keys[Slot::number(slots[at])] == wanted)
                return Slot::number(slots[at]);
        return none;
    }

    std::size_t find(std::string_view word) const {
        const std::uint64_t h = hash(word);
        for (std::size_t at = place(h); slots[at] != Slot::empty;
             at = (at + 1) & (slots.size() - 1)) {
            if (!Slot::matches(slots[at], h)) continue;
            const Key& key = keys[Slot::number(slots[at])];
            if (key.size == word.size() && key.high == h && key.low <= bytes.size() &&
                bytes.substr(key.low, key.size) == word)
                return Slot::number(slots[at]);
        }
        return none;
    }
};

inline std::size_t slots_for(std::size_t words) {
    return std::bit_ceil(std::max(2 * words, std::size_t{2}));
}

inline int shift_of(std::size_t slots) {
    return 64 - std::countr_zero(slots);
}

// Fill slots (of slots_for(words), after the seed) and keys for sorted words.
inline void build_index(const SortedWords& words, std::uint64_t seed, std::uint64_t* slots,
                        Key* keys) {
    const std::size_t size = slots_for(words.size);
    const Hash hash{seed};
    *slots++ = seed;
    for (std::size_t i = 0; i < words.size; ++i) {
        const std::string_view word = words[i];
        std::uint64_t h;
        if (word.size() <= short_word) {
            char padded[short_word] = {};
            if (!word.empty()) std::memcpy(padded, word.data(), word.size());
            keys[i] = short_key(padded, word.size());
            h = hash(keys[i].low, keys[i].high);
        } else {
            h = hash(word);
            keys[i] = {static_cast<std::uint64_t>(word.data() - words.bytes), h, word.size()};
        }
        std::size_t at = static_cast<std::size_t>(h >> shift_of(size));
        while (slots[at] != Slot::empty) at = (at + 1) & (size - 1);
        slots[at] = Slot::of(h, i);
    }
}

}  // namespace genus
