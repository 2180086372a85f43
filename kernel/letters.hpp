// Letters for mail's tokens, in UTF-8: white space, words, and a normal form of texts.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "shingles.hpp"

namespace genus::mail {

using View = std::string_view;

inline bool is_small(char c) {
    return c >= 'a' && c <= 'z';
}

inline bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

inline bool is_capital(char c) {
    return c >= 'A' && c <= 'Z';
}

inline bool is_letter(char c) {
    return is_small(c) || is_capital(c);
}

inline bool is_ascii(char c) {
    return static_cast<unsigned char>(c) < 0x80;
}

inline bool is_ascii_word(char c) {
    return is_letter(c) || is_digit(c) || c == '_';
}

// The characters of a host's label.
inline bool is_label(char c) {
    return is_letter(c) || is_digit(c) || c == '-';
}

inline char lower(char c) {
    return is_capital(c) ? static_cast<char>(c + 32) : c;
}

inline void append_lower(std::string& to, View text) {
    for (char c : text) to += lower(c);
}

// The bytes of the character at a position, by its first byte; at most what is left.
inline std::size_t size_at(View text, std::size_t at) {
    const auto c = static_cast<unsigned char>(text[at]);
    const std::size_t size = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
    return std::min(size, text.size() - at);
}

// The bytes of the white space at a position, by Unicode as in Python; 0 if there is none.
inline std::size_t space_at(View text, std::size_t at) {
    const char c = text[at];
    if (is_ascii(c)) return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F);
    for (View space : {"\xC2\x85", "\xC2\xA0", "\xE1\x9A\x80", "\xE2\x80\xA8", "\xE2\x80\xA9",
                       "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"})
        if (text.substr(at).starts_with(space)) return space.size();
    const bool is_en_to_hair = text.substr(at).starts_with("\xE2\x80") && at + 2 < text.size() &&
                               static_cast<unsigned char>(text[at + 2]) >= 0x80 &&
                               static_cast<unsigned char>(text[at + 2]) <= 0x8A;
    return is_en_to_hair ? 3 : 0;
}

// The bytes of the letter, digit or underscore at a position; 0 if there is none.
inline std::size_t word_at(View text, std::size_t at) {
    if (is_ascii(text[at])) return is_ascii_word(text[at]);
    const auto found = shingles::character(text, at);
    return found.kind == shingles::Kind::other ? 0 : found.size;
}

// The first characters, at most this many.
inline View first(View text, std::size_t most) {
    std::size_t at = 0;
    if (text.size() <= most) return text;
    for (; most > 0 && at < text.size(); --most) at += size_at(text, at);
    return text.substr(0, at);
}

inline std::size_t length(View text) {
    std::size_t found = 0;
    for (char c : text) found += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return found;
}

// On one line: runs of white space become one blank, and are removed at the ends.
inline std::string clean(View text) {
    std::string kept;
    bool gap = false;
    for (std::size_t at = 0; at < text.size();) {
        if (const auto space = space_at(text, at)) {
            gap = !kept.empty();
            at += space;
            continue;
        }
        if (gap) kept += ' ';
        gap = false;
        const auto size = size_at(text, at);
        kept += text.substr(at, size);
        at += size;
    }
    return kept;
}

inline View stripped(View text, View of) {
    while (!text.empty() && of.find(text.front()) != View::npos) text.remove_prefix(1);
    while (!text.empty() && of.find(text.back()) != View::npos) text.remove_suffix(1);
    return text;
}

// Runs of capitals, small letters and digits as A, a and 0; mixed runs as x.
inline std::string shape(View text) {
    text = first(text, 80);
    std::string found;
    char run = 0;
    for (char c : text) {
        const char kind = is_capital(c) ? 'A' : is_small(c) ? 'a' : is_digit(c) ? '0' : 0;
        if (kind == 0) {
            found += c;
        } else if (run == 0) {
            found += kind;
        } else if (found.back() != kind) {
            found.back() = 'x';
        }
        run = kind;
    }
    return std::string(first(found, 24));
}

// A host and its parent domains, or an address and its networks.
template <class Give> void hosts(View name, const Give& give) {
    std::string lowered;
    append_lower(lowered, stripped(name, ".[]"));
    for (char c : lowered)
        if (!is_ascii(c) || c <= ' ') {
            lowered = clean(lowered);
            break;
        }
    const View host = first(lowered, 100);
    if (host.empty()) return;
    std::size_t dots = 0, run = 0, digits = 0;
    bool is_address = true;  // numbers of one to three digits
    for (char c : host) {
        if (c == '.') {
            is_address &= run > 0;
            ++dots, run = 0;
        } else {
            digits += is_digit(c);
            is_address &= is_digit(c) && ++run <= 3;
        }
    }
    if (is_address && dots == 3 && run > 0) {
        give("ip");
        give(host);
        for (std::size_t at = host.find('.'); at != View::npos; at = host.find('.', at + 1))
            give(host.substr(0, at));
        return;
    }
    if (digits > 0 && digits + dots == host.size()) return;
    std::size_t start = 0;
    for (; dots > 4; --dots) start = host.find('.', start) + 1;
    for (;; start = host.find('.', start) + 1) {
        give(host.substr(start));
        if (host.find('.', start) == View::npos) return;
    }
}

// Where a host ends that begins at a position: two or more labels with dots between them. 0 if
// there is none; `label` is then where its first label ends.
inline std::size_t host_end(View text, std::size_t at, std::size_t& label) {
    const auto after_label = [text](std::size_t from) {
        while (from < text.size() && is_label(text[from])) ++from;
        return from;
    };
    label = after_label(at);
    if (label == at) return 0;
    std::size_t end = label;
    while (end + 1 < text.size() && text[end] == '.' && is_label(text[end + 1]))
        end = after_label(end + 1);
    return end == label ? 0 : end;
}

// Whole tokens, one per line, each after a letter for its group.
class Tokens {
public:
    template <class... Parts> void add(char group, const Parts&... parts) {
        lines_ += group;
        (lines_.append(parts), ...);
        lines_ += '\n';
    }

    // Add a token, with its second part in lower case.
    void add_lower(char group, View before, View text) {
        lines_ += group;
        lines_ += before;
        append_lower(lines_, text);
        lines_ += '\n';
    }

    const std::string& lines() const { return lines_; }

private:
    std::string lines_;
};

}  // namespace genus::mail
