// Hashes of the tokens of a text: words, words in capitals, marks such as $00 or !!!, and pairs of
// neighbours. An id is 28 bits of the hash above 4 bits for the kind of token.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ranks.hpp"

namespace genus::shingles {

constexpr std::size_t kinds = 16;
constexpr std::size_t longest_word = 24;  // characters; longer words are their first 8 and a length
constexpr std::size_t longest_number = 12;  // characters of its shape

struct Found {
    std::uint32_t id, start, end;  // position, in bytes
};

// The kinds of tokens to produce, as numbers below `kinds`; negative for none.
struct Plan {
    int word, capitals, mark, pair, opening;
    int mixed;                 // one token for all words of mixed scripts
    std::size_t opening_size;  // words at the beginning that also count as `opening`
};

// FNV-1a, in 64 bits.
constexpr std::uint64_t basis = 14695981039346656037u, prime = 1099511628211u;

inline std::uint64_t hash(std::string_view text, std::uint64_t before = basis) {
    for (unsigned char c : text) before = (before ^ c) * prime;
    return before;
}

// The last step of SplitMix64 (Steele, Lea & Flood 2014): every bit of x affects the whole result.
inline std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

inline std::uint32_t id_of(std::uint64_t hashed, int kind) {
    return static_cast<std::uint32_t>(mixed(hashed) >> 36 << 4) | static_cast<std::uint32_t>(kind);
}

inline bool is_digit(unsigned char c) {
    return c >= '0' && c <= '9';
}

inline bool is_upper(unsigned char c) {
    return c >= 'A' && c <= 'Z';
}

// Which bytes are marks, and which are always part of a word: ASCII letters, and digits.
struct Bytes {
    bool mark[256] = {}, inside[256] = {};

    constexpr Bytes() {
        for (unsigned char c : std::string_view("!?$*#=_.~-")) mark[c] = true;
        for (int c = '0'; c <= '9'; ++c) inside[c] = true;
        for (int c = 'a'; c <= 'z'; ++c) inside[c] = inside[c - 32] = true;
    }
};

inline constexpr Bytes bytes;

inline bool is_mark(unsigned char c) {
    return bytes.mark[c];
}

// The relevant facts about a UTF-8 character: its length in bytes, and its class.
enum class Kind : std::uint8_t { other, letter, ideograph };

struct Character {
    std::size_t size;
    Kind kind;
};

// Letters are those of ASCII, and beyond it everything but spaces, punctuation and symbols in the
// ranges that occur in mail. Ideographs count as words, because spaces do not separate them.
inline Character character(std::string_view text, std::size_t at) {
    const unsigned char c = static_cast<unsigned char>(text[at]);
    if (c < 0x80) {
        const unsigned char low = c | 32;
        return {1, low >= 'a' && low <= 'z' ? Kind::letter : Kind::other};
    }
    std::size_t size = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
    size = std::min(size, text.size() - at);
    char32_t code = c & (0xFFu >> (size + 1));
    for (std::size_t i = 1; i < size; ++i)
        code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3Fu);
    const auto within = [code](char32_t first, char32_t last) {
        return code >= first && code <= last;
    };
    if (size == 1 || within(0x80, 0xBF) || code == 0xD7 || code == 0xF7 || within(0x2000, 0x2BFF) ||
        within(0x3000, 0x3020) || within(0xFE10, 0xFE6F) || within(0xFFF0, 0xFFFF) ||
        within(0xE000, 0xF8FF))
        return {size, Kind::other};
    if (within(0x0E00, 0x0EFF) || within(0x2E80, 0xA4CF) || within(0xF900, 0xFAFF) ||
        within(0x20000, 0x3FFFF))
        return {size, Kind::ideograph};
    return {size, Kind::letter};
}

// Signs of words that imitate others: a Latin letter next to a Cyrillic one, or next to a Greek one
// that looks Latin in lower or upper case (only lower case comes here). Letters for units and
// quantities are excluded: mu, omega, delta, pi.
enum class Script : std::uint8_t { unknown, latin, look_alike };

inline Script script(std::string_view letter) {
    if (letter.size() == 1) return Script::latin;
    if (letter.size() > 2) return Script::unknown;
    const char32_t code = (static_cast<unsigned char>(letter[0]) & 0x1Fu) << 6 |
                          (static_cast<unsigned char>(letter[1]) & 0x3Fu);
    if (code >= 0x400 && code <= 0x52F) return Script::look_alike;
    constexpr std::u32string_view greek =
        U"\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03f2"
        U"\u03f3";
    const bool is_greek =
        code >= 0x3B1 && code <= 0x3F3 && greek.find(code) != std::u32string_view::npos;
    return is_greek ? Script::look_alike : Script::unknown;
}

class Reader {
public:
    Reader(std::string_view text, const Plan& plan) : text_(text), plan_(plan) {}

    std::vector<Found> read() {
        found_.reserve(text_.size() / 3);
        while (at_ < text_.size()) {
            const unsigned char c = static_cast<unsigned char>(text_[at_]);
            const auto next = character(text_, at_);
            if (next.kind == Kind::letter) {
                word();
            } else if (next.kind == Kind::ideograph) {
                ideographs();
            } else if (is_digit(c)) {
                number(at_, at_);
            } else if (c == '$' && amount_at() != 0) {
                number(at_, amount_at());
            } else if (is_mark(c)) {
                marks();
            } else if (c == 1) {
                placeholder();
            } else {
                at_ += next.size;
            }
        }
        return std::move(found_);
    }

private:
    struct Seen {
        std::uint64_t hashed;
        std::size_t start;
    };

    std::string_view text_;
    Plan plan_;
    std::size_t at_ = 0, words_ = 0;
    std::vector<Found> found_;
    Seen last_{};
    std::string shape_;

    void emit(std::uint64_t hashed, int kind, std::size_t start, std::size_t end) {
        if (kind >= 0)
            found_.push_back({id_of(hashed, kind), static_cast<std::uint32_t>(start),
                              static_cast<std::uint32_t>(end)});
    }

    // Emit the pair of a token with the one before it and, near the beginning, an opening token.
    void follow(std::uint64_t hashed, std::size_t start, std::size_t end) {
        if (words_ < plan_.opening_size) emit(hashed, plan_.opening, start, end);
        if (words_ > 0) emit(mixed(last_.hashed) * 3 + hashed, plan_.pair, last_.start, end);
        last_ = {hashed, start};
        ++words_;
    }

    bool is_word_at(std::size_t at) const {
        if (at >= text_.size()) return false;
        return is_digit(static_cast<unsigned char>(text_[at])) ||
               character(text_, at).kind == Kind::letter;
    }

    void word() {
        const auto start = at_;
        std::size_t length = 0, capitals = 0, small = 0, eighth = 0;
        std::uint64_t hashed = basis;
        Script before = Script::unknown;
        bool mixed = false;
        while (at_ < text_.size()) {
            const unsigned char c = static_cast<unsigned char>(text_[at_]);
            if (bytes.inside[c] && (before != Script::look_alike || is_digit(c))) {
                if (length == 8) eighth = at_;
                capitals += is_upper(c);
                small += c >= 'a';
                before = is_digit(c) ? Script::unknown : Script::latin;
                hashed = (hashed ^ (is_upper(c) ? c + 32u : c)) * prime;
                ++length, ++at_;
                continue;
            }
            const auto next = character(text_, at_);
            const bool inside = next.kind == Kind::letter || is_digit(c) ||
                                ((c == '\'' || c == '-' || c == '_') && is_word_at(at_ + 1));
            if (!inside) break;
            if (is_upper(c)) {
                ++capitals;
            } else if (next.kind == Kind::letter) {
                ++small;
            }
            const auto now =
                next.kind == Kind::letter ? script(text_.substr(at_, next.size)) : Script::unknown;
            mixed |= now != before && now != Script::unknown && before != Script::unknown;
            before = now;
            if (length == 8) eighth = at_;
            for (std::size_t i = 0; i < next.size; ++i) {
                const unsigned char b = static_cast<unsigned char>(text_[at_ + i]);
                hashed = (hashed ^ (is_upper(b) ? b + 32u : b)) * prime;
            }
            ++length;
            at_ += next.size;
        }
        if (length < 2) return;
        if (length > longest_word) hashed = shortened(text_.substr(start, eighth - start), length);
        emit(hashed, plan_.word, start, at_);
        if (mixed) emit(hash("mixed scripts"), plan_.mixed, start, at_);
        if (capitals > 2 && small == 0) emit(hash("^", hashed), plan_.capitals, start, at_);
        follow(hashed, start, at_);
    }

    std::uint64_t shortened(std::string_view beginning, std::size_t length) {
        shape_.assign(beginning);
        for (char& c : shape_) c = is_upper(static_cast<unsigned char>(c)) ? c + 32 : c;
        shape_ += '~';
        shape_ += static_cast<char>('0' + std::min<std::size_t>(length / 8, 9));
        return hash(shape_);
    }

    // Where the digits of an amount next to a dollar sign begin; 0 if there are none.
    std::size_t amount_at() const {
        auto at = at_ + 1;
        if (at < text_.size() && text_[at] == ' ') ++at;
        return at < text_.size() && is_digit(static_cast<unsigned char>(text_[at])) ? at : 0;
    }

    // The shape of a number: 0 for each digit, at most four in a row.
    void number(std::size_t start, std::size_t digits) {
        shape_.assign(start == digits ? "" : "$");
        std::size_t run = 0, kept = 0;
        at_ = digits;
        for (; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            const bool digit = is_digit(static_cast<unsigned char>(c));
            if (!digit && std::string_view(".,:/-").find(c) == std::string_view::npos) break;
            run = digit ? run + 1 : 0;
            if (run <= 4 && shape_.size() < longest_number) shape_ += digit ? '0' : c;
            if (digit) kept = std::min(shape_.size(), longest_number);
        }
        shape_.resize(std::max<std::size_t>(kept, 1));
        if (at_ < text_.size() && text_[at_] == '%') shape_ += text_[at_++];
        const auto hashed = hash(shape_);
        emit(hashed, plan_.mark, start, at_);
        follow(hashed, start, at_);
    }

    // A run of marks, or one exclamation mark: the first mark, at most four times.
    void marks() {
        const auto start = at_;
        while (at_ < text_.size() && is_mark(static_cast<unsigned char>(text_[at_]))) ++at_;
        const char first = text_[start];
        if (at_ - start == 1 && first != '!') return;
        shape_.assign(std::min<std::size_t>(at_ - start, 4), first);
        const auto hashed = hash(shape_);
        emit(hashed, plan_.mark, start, at_);
        if (first == '!' || first == '?' || first == '$') follow(hashed, start, at_);
    }

    // \1 and a letter, which stand for an address in a text: only in pairs and as an opening.
    void placeholder() {
        const auto start = at_;
        at_ = std::min(at_ + 2, text_.size());
        follow(hash(text_.substr(start, at_ - start)), start, at_);
    }

    // Emit each ideograph, and each pair of neighbours.
    void ideographs() {
        std::size_t before = at_;
        bool first = true;
        while (at_ < text_.size()) {
            const auto next = character(text_, at_);
            if (next.kind != Kind::ideograph) break;
            const auto end = at_ + next.size;
            emit(hash(text_.substr(at_, next.size)), plan_.word, at_, end);
            if (!first) emit(hash(text_.substr(before, end - before)), plan_.word, before, end);
            before = at_;
            at_ = end;
            first = false;
        }
    }
};

// Distinct ids, ascending.
inline std::vector<std::uint32_t> distinct(std::vector<std::uint32_t> ids) {
    std::vector<std::uint32_t> other;
    sort_bytes(ids, other);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    ids.shrink_to_fit();  // thousands are in memory together
    return ids;
}

// The ids of whole tokens, one per line, each after a letter for its kind: A for 0, B for 1 …
inline std::vector<std::uint32_t> ids_of_lines(std::string_view lines) {
    std::vector<std::uint32_t> ids;
    while (!lines.empty()) {
        const auto end = std::min(lines.find('\n'), lines.size());
        const auto line = lines.substr(0, end);
        if (!line.empty())
            ids.push_back(id_of(hash(line.substr(1)), (line.front() - 'A') & int(kinds - 1)));
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    return ids;
}

}  // namespace genus::shingles
