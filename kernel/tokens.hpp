// Texts to tokens: runs of word characters, lower-cased as Python does, or n-grams of characters.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "vectors.hpp"

namespace genus {

// Python's properties of each code point: its lower case, and its class.
struct Alphabet {
    static constexpr std::uint32_t code = (1u << 21) - 1, word = 1u << 21, space = 1u << 22,
                                   cased = 1u << 23, ignorable = 1u << 24;
    static constexpr std::size_t size = 0x110000;

    const std::uint32_t* entries;

    std::uint32_t operator[](char32_t c) const { return entries[c]; }
};

struct Tokenizer {
    Alphabet alphabet;
    bool lowercase, characters;  // characters: n-grams of characters within words
    std::size_t shortest, longest;
    int bits;  // if not 0, a token becomes the name of one of 2^bits hash buckets
};

// One text in memory: UTF-8, or the code points of a Python string in 1, 2 or 4 bytes.
enum class Encoding : std::uint8_t { utf8, latin1, ucs2, ucs4, ascii };

struct Text {
    const void* data;
    std::size_t size;  // in units of the encoding
    Encoding encoding;
};

// Readers return one code point after the other, forwards and backwards.

constexpr char32_t invalid = 0xFFFFFFFF;

struct Utf8Reader {
    const unsigned char *begin, *at, *end;

    bool done() const { return at == end; }

    // The next code point, or `invalid` if the bytes are not UTF-8; then `at` does not move.
    GENUS_INLINE char32_t next() {
        const unsigned lead = *at;
        if (lead < 0x80) return ++at, lead;
        const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
        if (lead < 0xC2 || lead > 0xF4 || static_cast<std::size_t>(end - at) < length)
            return invalid;
        char32_t c = lead & (0x7Fu >> length);
        for (std::size_t i = 1; i < length; ++i) {
            if ((at[i] & 0xC0) != 0x80) return invalid;
            c = (c << 6) | (at[i] & 0x3Fu);
        }
        constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        if (c < least[length] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return invalid;
        at += length;
        return c;
    }

    // The code point before `at`, which has been read before.
    char32_t previous() {
        do --at;
        while (at > begin && (*at & 0xC0) == 0x80);
        Utf8Reader here{begin, at, end};
        return here.next();
    }

    std::size_t offset() const { return static_cast<std::size_t>(at - begin); }
};

template <class Unit> struct UnitReader {
    const Unit *begin, *at, *end;

    bool done() const { return at == end; }
    GENUS_INLINE char32_t next() { return *at++; }
    char32_t previous() { return *--at; }
    std::size_t offset() const { return static_cast<std::size_t>(at - begin); }
};

// Whether a capital sigma, which `reader` has just read, ends a word: a cased letter comes before
// it and none after it, apart from ignorable characters. Then its lower case is ς, else σ.
template <class Reader> bool is_final_sigma(const Reader& reader, const Alphabet& alphabet) {
    Reader before = reader;
    before.previous();
    std::uint32_t seen = Alphabet::ignorable;
    while (before.at != before.begin && (seen & Alphabet::ignorable))
        seen = alphabet[before.previous()];
    if (!(seen & Alphabet::cased)) return false;
    Reader behind = reader;
    seen = Alphabet::ignorable;
    while (!behind.done() && (seen & Alphabet::ignorable)) {
        const char32_t c = behind.next();
        if (c == invalid) return true;  // an error follows soon
        seen = alphabet[c];
    }
    return !(seen & Alphabet::cased);
}

// A buffer that grows at the end; 64 bytes beyond its size can always be read and written.
class Scratch {
public:
    static constexpr std::size_t slack = 64;

    char* begin() { return bytes_.data(); }

    char* reserve(std::size_t size) {
        if (size + slack > bytes_.size()) bytes_.resize(std::bit_ceil(size + slack));
        return bytes_.data();
    }

private:
    std::vector<char> bytes_ = std::vector<char>(8192 + slack);
};

GENUS_INLINE std::size_t write_utf8(char32_t c, char* out) {
    const auto byte = [](char32_t x) { return static_cast<char>(x); };
    if (c < 0x80) return *out = byte(c), 1;
    if (c < 0x800) return out[0] = byte(0xC0 | c >> 6), out[1] = byte(0x80 | (c & 0x3F)), 2;
    if (c < 0x10000) {
        out[0] = byte(0xE0 | c >> 12), out[1] = byte(0x80 | (c >> 6 & 0x3F));
        return out[2] = byte(0x80 | (c & 0x3F)), 3;
    }
    out[0] = byte(0xF0 | c >> 18), out[1] = byte(0x80 | (c >> 12 & 0x3F));
    return out[2] = byte(0x80 | (c >> 6 & 0x3F)), out[3] = byte(0x80 | (c & 0x3F)), 4;
}

constexpr std::size_t utf8_length(unsigned char lead) {
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// Convert 64 bytes of ASCII to lower case, with a bit for each byte that is part of a word; false
// if some are not ASCII. Written so that compilers turn it into vector instructions.
GENUS_INLINE bool classify(const unsigned char* in, char* out, bool lowercase,
                           std::uint64_t& words) {
    unsigned char in_word[64], high = 0;
    const unsigned char shift = lowercase ? 32 : 0;
    for (std::size_t i = 0; i < 64; ++i) {
        const unsigned char c = in[i];
        high |= c;
        const bool upper = static_cast<unsigned char>(c - 'A') < 26;
        const bool letter = static_cast<unsigned char>((c | 32) - 'a') < 26;
        const bool digit = static_cast<unsigned char>(c - '0') < 10;
        in_word[i] = static_cast<unsigned char>(letter | digit | (c == '_'));
        out[i] = static_cast<char>(upper ? c + shift : c);
    }
    words = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        std::uint64_t eight;
        std::memcpy(&eight, in_word + 8 * i, 8);
        words |= (eight * 0x0102040810204080u >> 56) << (8 * i);  // one bit of each byte
    }
    return high < 0x80;
}

// Readers of tokens call `emit(bytes, size)` for each token, with 16 bytes readable, and regularly
// `pause()`, which returns whether to stop. They return the position of the first invalid byte, or
// `fine`.
constexpr std::size_t fine = static_cast<std::size_t>(-1);

// Call body(reader) with the reader of a text's encoding.
template <class Body> std::size_t with_reader(const Text& text, const Body& body) {
    const auto units = [&]<class Unit>(Unit) {
        const auto* begin = static_cast<const Unit*>(text.data);
        return body(UnitReader<Unit>{begin, begin, begin + text.size});
    };
    switch (text.encoding) {
        case Encoding::latin1:
            return units(std::uint8_t{});
        case Encoding::ucs2:
            return units(std::uint16_t{});
        case Encoding::ucs4:
            return units(std::uint32_t{});
        default: {
            const auto* begin = static_cast<const unsigned char*>(text.data);
            return body(Utf8Reader{begin, begin, begin + text.size});
        }
    }
}

constexpr std::size_t pause_after = std::size_t{1} << 20;  // bytes

class WordReader {
public:
    template <class Emit, class Pause>
    std::size_t read(const Text& text, const Tokenizer& how, const Emit& emit, const Pause& pause) {
        open_ = used_ = 0;
        const std::size_t problem = with_reader(text, [&]<class Reader>(Reader reader) {
            if constexpr (std::is_same_v<Reader, Utf8Reader>)
                return in_blocks(reader, how, emit, pause);
            else
                return slowly(reader, fine, how, emit, pause);
        });
        if (problem == fine) close(emit);
        return problem;
    }

private:
    Scratch scratch_;
    std::size_t open_ = 0, used_ = 0;  // the token being read

    template <class Emit> GENUS_INLINE void close(const Emit& emit) {
        finish(open_, used_, emit);
        open_ = used_;
    }

    template <class Emit>
    GENUS_INLINE void finish(std::size_t begin, std::size_t end, const Emit& emit) {
        const char* token = scratch_.begin() + begin;
        const std::size_t size = end - begin;
        // As in scikit-learn, a token has two characters or more.
        if (size > 1 && size > utf8_length(static_cast<unsigned char>(*token))) emit(token, size);
    }

    // Make room for 64 more bytes; only the token being read is kept.
    GENUS_INLINE char* room() {
        if (used_ + 64 > 8192 && open_ > 0) {
            std::memmove(scratch_.begin(), scratch_.begin() + open_, used_ - open_);
            used_ -= open_, open_ = 0;
        }
        return scratch_.reserve(used_ + 64);
    }

    template <class Emit, class Pause>
    GENUS_INLINE std::size_t in_blocks(Utf8Reader reader, const Tokenizer& how, const Emit& emit,
                                       const Pause& pause) {
        std::size_t pause_at = pause_after;
        while (!reader.done()) {
            if (reader.offset() >= pause_at) {
                if (pause()) return fine;
                pause_at += pause_after;
            }
            const auto left = static_cast<std::size_t>(reader.end - reader.at);
            unsigned char last[64];
            const unsigned char* block = reader.at;
            if (left < 64) {  // zeros are part of no word
                std::memset(last, 0, sizeof last);
                std::memcpy(last, reader.at, left);
                block = last;
            }
            char* out = room() + used_;
            std::uint64_t words;
            if (!classify(block, out, how.lowercase, words)) {
                const std::size_t until = reader.offset() + std::min(left, std::size_t{64});
                const std::size_t problem = slowly(reader, until, how, emit, pause);
                if (problem != fine) return problem;
                continue;
            }
            reader.at += std::min(left, std::size_t{64});
            tokens_of(words, emit);
        }
        return fine;
    }

    // The tokens of a block of 64 bytes just written; the last may continue in the next.
    template <class Emit> GENUS_INLINE void tokens_of(std::uint64_t words, const Emit& emit) {
        const std::size_t base = used_;
        used_ += 64;
        std::size_t at = 0;
        if (open_ != base) {  // a token is open
            at = static_cast<std::size_t>(std::countr_one(words));
            if (at == 64) return;
            finish(open_, base + at, emit);
        }
        while (at < 64) {
            const std::uint64_t rest = words >> at;
            if (rest == 0) break;
            const std::size_t start = at + static_cast<std::size_t>(std::countr_zero(rest));
            const std::size_t end =
                start + static_cast<std::size_t>(std::countr_one(words >> start));
            if (end >= 64) {
                open_ = base + start;
                return;
            }
            finish(base + start, base + end, emit);
            at = end;
        }
        open_ = used_;
    }

    // One code point at a time, at least up to `until`, which may lie inside a code point.
    template <class Reader, class Emit, class Pause>
    std::size_t slowly(Reader& reader, std::size_t until, const Tokenizer& how, const Emit& emit,
                       const Pause& pause) {
        std::size_t pause_at = reader.offset() + pause_after;
        while (!reader.done() && reader.offset() < until) {
            if (reader.offset() >= pause_at) {
                if (pause()) return fine;
                pause_at += pause_after;
            }
            const char32_t c = reader.next();
            if (c >= Alphabet::size) return reader.offset();
            const std::uint32_t entry = how.alphabet[c];
            if (!(entry & Alphabet::word)) {
                close(emit);
                continue;
            }
            char32_t lower = entry & Alphabet::code;
            if (c == U'Σ' && lower != c && is_final_sigma(reader, how.alphabet)) lower = U'ς';
            used_ += write_utf8(lower, room() + used_);
            if (c == U'İ' && lower != c) close(emit);  // the dot above i is part of no word
        }
        return fine;
    }
};

// n-grams of characters in each word between spaces, with a space on either side: " a", "ab", "b ".
class CharacterReader {
public:
    template <class Emit, class Pause>
    std::size_t read(const Text& text, const Tokenizer& how, const Emit& emit, const Pause& pause) {
        begin_word();
        return with_reader(text, [&](auto reader) { return all(reader, how, emit, pause); });
    }

private:
    Scratch scratch_;
    std::vector<std::size_t> starts_;  // of the characters in scratch
    std::size_t used_ = 0, dropped_ = 0;

    void begin_word() {
        starts_.clear();
        used_ = dropped_ = 0;
    }

    template <class Reader, class Emit, class Pause>
    std::size_t all(Reader reader, const Tokenizer& how, const Emit& emit, const Pause& pause) {
        std::size_t pause_at = pause_after;
        while (!reader.done()) {
            if (reader.offset() >= pause_at) {
                if (pause()) return fine;
                pause_at += pause_after;
            }
            const char32_t c = reader.next();
            if (c >= Alphabet::size) return reader.offset();
            const std::uint32_t entry = how.alphabet[c];
            if (entry & Alphabet::space) {
                end_word(how, emit);
                continue;
            }
            char32_t lower = entry & Alphabet::code;
            if (c == U'Σ' && lower != c && is_final_sigma(reader, how.alphabet)) lower = U'ς';
            if (starts_.empty()) append(U' ', how, emit);
            append(lower, how, emit);
            if (c == U'İ' && lower != c) append(U'\u0307', how, emit);
        }
        end_word(how, emit);
        return fine;
    }

    // Add a character and emit the n-grams that it ends.
    template <class Emit> void append(char32_t c, const Tokenizer& how, const Emit& emit) {
        if (starts_.size() >= 4096 + how.longest) {  // a long word: its beginning is finished
            const std::size_t cut = starts_.size() - how.longest, from = starts_[cut];
            std::memmove(scratch_.begin(), scratch_.begin() + from, used_ - from);
            starts_.erase(starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(cut));
            for (auto& start : starts_) start -= from;
            used_ -= from, dropped_ += cut;
        }
        starts_.push_back(used_);
        used_ += write_utf8(c, scratch_.reserve(used_ + 16) + used_);
        for (std::size_t n = how.shortest; n <= how.longest && n <= starts_.size(); ++n) {
            const std::size_t start = starts_[starts_.size() - n];
            emit(scratch_.begin() + start, used_ - start);
        }
    }

    template <class Emit> void end_word(const Tokenizer& how, const Emit& emit) {
        if (starts_.empty()) return;
        append(U' ', how, emit);
        // As in scikit-learn, a word shorter than the shortest n-gram counts as one.
        if (starts_.size() + dropped_ < how.shortest) emit(scratch_.begin(), used_);
        begin_word();
    }
};

// Tokens to runs of n tokens with spaces between them.
class Window {
public:
    void clear() {
        starts_.clear();
        used_ = 0;
    }

    template <class Emit>
    void add(const char* token, std::size_t size, const Tokenizer& how, const Emit& emit) {
        if (starts_.size() >= 256 + how.longest) {
            const std::size_t cut = starts_.size() - how.longest, from = starts_[cut];
            std::memmove(scratch_.begin(), scratch_.begin() + from, used_ - from);
            starts_.erase(starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(cut));
            for (auto& start : starts_) start -= from;
            used_ -= from;
        }
        char* out = scratch_.reserve(used_ + size + 1);
        if (!starts_.empty()) out[used_++] = ' ';
        starts_.push_back(used_);
        std::memcpy(out + used_, token, size);
        used_ += size;
        for (std::size_t n = how.shortest; n <= how.longest && n <= starts_.size(); ++n) {
            const std::size_t start = starts_[starts_.size() - n];
            emit(scratch_.begin() + start, used_ - start);
        }
    }

private:
    Scratch scratch_;
    std::vector<std::size_t> starts_;
    std::size_t used_ = 0;
};

}  // namespace genus
