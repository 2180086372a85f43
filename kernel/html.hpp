// HTML as a reader of mail sees it: visible text, hidden text, tags and links.
//
// A scanner, not a parser: the HTML in mail is seldom well-formed, and time must be linear for any
// input. Tags within a line leave no trace in the text ("v<b></b>iagra" is one word), others end a
// line. Character references stay as they are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace genus::html {

struct Page {
    std::string seen, hidden;
    std::string marks;  // one per line: <tag, tag.attribute, attribute=value, or =URL
    std::size_t comments = 0;
    std::size_t lost = 0;  // visible characters that were cut off
};

constexpr std::size_t deepest = 200;  // open elements that are remembered
constexpr int unknown = -1;           // a colour

inline char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

inline bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

inline bool is_letter(char c) {
    return lower(c) >= 'a' && lower(c) <= 'z';
}

inline bool is_same(std::string_view text, std::string_view lower_case) {
    if (text.size() != lower_case.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (lower(text[i]) != lower_case[i]) return false;
    return true;
}

inline bool starts(std::string_view text, std::string_view lower_case) {
    return is_same(text.substr(0, lower_case.size()), lower_case);
}

inline std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

template <std::size_t N>
bool is_any(std::string_view name, const std::array<std::string_view, N>& names) {
    for (auto each : names)
        if (is_same(name, each)) return true;
    return false;
}

// Tags that end a line. All others leave no trace in the text, even those that no browser knows.
constexpr std::array<std::string_view, 60> of_lines{
    "address",  "article",  "aside",      "blockquote", "body",     "br",    "caption",
    "center",   "col",      "colgroup",   "dd",         "dir",      "div",   "dl",
    "dt",       "fieldset", "figcaption", "figure",     "footer",   "form",  "frame",
    "frameset", "h1",       "h2",         "h3",         "h4",       "h5",    "h6",
    "head",     "header",   "hr",         "html",       "iframe",   "img",   "input",
    "legend",   "li",       "main",       "menu",       "meta",     "nav",   "noframes",
    "noscript", "ol",       "optgroup",   "option",     "p",        "pre",   "section",
    "select",   "table",    "tbody",      "td",         "textarea", "tfoot", "th",
    "thead",    "title",    "tr",         "ul"};
constexpr std::array<std::string_view, 14> without_end{
    "area", "base",  "basefont", "br",   "col",   "embed",  "hr",
    "img",  "input", "link",     "meta", "param", "source", "wbr"};
constexpr std::array<std::string_view, 7> never_seen{"script", "style",    "template", "object",
                                                     "applet", "noscript", "title"};
constexpr std::array<std::string_view, 2> with_text{"alt", "title"};
constexpr std::array<std::string_view, 5> with_address{"href", "src", "action", "background",
                                                       "formaction"};

struct Colour {
    std::string_view name;
    int value;
};
constexpr std::array<Colour, 16> colours{{{"white", 0xFFFFFF},
                                          {"black", 0x000000},
                                          {"red", 0xFF0000},
                                          {"green", 0x008000},
                                          {"blue", 0x0000FF},
                                          {"yellow", 0xFFFF00},
                                          {"silver", 0xC0C0C0},
                                          {"gray", 0x808080},
                                          {"maroon", 0x800000},
                                          {"navy", 0x000080},
                                          {"purple", 0x800080},
                                          {"fuchsia", 0xFF00FF},
                                          {"lime", 0x00FF00},
                                          {"olive", 0x808000},
                                          {"teal", 0x008080},
                                          {"aqua", 0x00FFFF}}};

inline int digit(char c) {
    c = lower(c);
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// rgb(255, 255, 255), also with an alpha, which is ignored.
inline int rgb_of(std::string_view text) {
    int value = 0, channel = 0, channels = 0;
    bool digits = false;
    for (char c : text) {
        if (c >= '0' && c <= '9') {
            channel = std::min(channel * 10 + (c - '0'), 255);
            digits = true;
        } else if (digits) {
            value = value * 256 + channel;
            channel = 0;
            digits = false;
            if (++channels == 3) return value;
        }
    }
    return unknown;
}

inline int colour_of(std::string_view text) {
    text = trimmed(text);
    if (starts(text, "rgb")) return rgb_of(text);
    for (const auto& colour : colours)
        if (is_same(text, colour.name)) return colour.value;
    if (!text.empty() && text.front() == '#') text.remove_prefix(1);
    if (text.size() != 3 && text.size() != 6) return unknown;
    int value = 0;
    for (char c : text) {
        if (digit(c) < 0) return unknown;
        value = value * 16 + digit(c);
        if (text.size() == 3) value = value * 16 + digit(c);
    }
    return value;
}

// Whether two colours are indistinguishable: every channel within a sixteenth of its range.
inline bool is_same_colour(int a, int b) {
    for (int shift : {0, 8, 16})
        if (std::abs((a >> shift & 255) - (b >> shift & 255)) > 16) return false;
    return true;
}

struct Look {
    int ink = 0x000000, paper = 0xFFFFFF;
    bool hidden = false;

    bool is_hidden() const { return hidden || is_same_colour(ink, paper); }

    void take_style(std::string_view style) {
        while (!style.empty()) {
            const auto end = std::min(style.find(';'), style.size());
            const auto rule = style.substr(0, end);
            style.remove_prefix(std::min(end + 1, style.size()));
            const auto colon = rule.find(':');
            if (colon == rule.npos) continue;
            take_rule(trimmed(rule.substr(0, colon)), trimmed(rule.substr(colon + 1)));
        }
    }

    void take_rule(std::string_view name, std::string_view value) {
        if (is_same(name, "color")) set(ink, colour_of(value));
        if (is_same(name, "color")) hidden |= starts(value, "transparent");
        if (is_same(name, "height")) hidden |= is_nothing(value);
        if (is_same(name, "left") || is_same(name, "top") || is_same(name, "text-indent"))
            hidden |= is_far_out(value);
        if (is_same(name, "background-color")) set(paper, colour_of(value));
        if (is_same(name, "background"))
            set(paper, colour_of(starts(value, "rgb") ? value : value.substr(0, value.find(' '))));
        if (is_same(name, "display")) hidden |= starts(value, "none");
        if (is_same(name, "visibility")) hidden |= starts(value, "hidden");
        if (is_same(name, "mso-hide")) hidden |= starts(value, "all");
        if (is_same(name, "font-size")) hidden |= is_tiny(value);
        if (is_same(name, "opacity")) hidden |= is_nothing(value);
        if (is_same(name, "max-height")) hidden |= is_nothing(value);
    }

    void take(std::string_view name, std::string_view value) {
        if (is_same(name, "style")) take_style(value);
        if (is_same(name, "color") || is_same(name, "text")) set(ink, colour_of(value));
        if (is_same(name, "bgcolor")) set(paper, colour_of(value));
        if (is_same(name, "hidden")) hidden = true;
    }

    static void set(int& colour, int value) {
        if (value != unknown) colour = value;
    }

    // -999px and similar.
    static bool is_far_out(std::string_view value) {
        return value.size() > 4 && value.front() == '-' && digit(value[1]) >= 0 &&
               digit(value[2]) >= 0 && digit(value[3]) >= 0;
    }

    // 0, 0px, 0.0em …
    static bool is_nothing(std::string_view value) {
        if (value.empty() || value.front() != '0') return false;
        for (char c : value)
            if (c >= '1' && c <= '9') return false;
        return true;
    }

    // Up to one pixel or point.
    static bool is_tiny(std::string_view value) {
        if (starts(value, "0.") || starts(value, ".")) {
            // 0.9em is readable, 0.9px is not.
            const auto unit = value.find_last_of("0123456789.") + 1;
            return is_nothing(value) || starts(value.substr(unit), "px") ||
                   starts(value.substr(unit), "pt");
        }
        return is_nothing(value) || is_same(value, "1px") || is_same(value, "1pt") ||
               is_same(value, "1");
    }
};

// White space and characters without width, except rare ones.
inline bool is_blank(std::uint32_t code) {
    return (code >= 9 && code <= 13) || code == ' ' || code == 0xA0 || code == 0xAD ||
           code == 0x34F || code == 0x61C || (code >= 0x2000 && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202F) || (code >= 0x205F && code <= 0x206F) ||
           code == 0x2800 || code == 0x3000 || code == 0x3164 || code == 0xFEFF;
}

// The bytes of the blank character or reference at the start of a text, or 0.
inline std::size_t blank_size(std::string_view text) {
    constexpr std::array<std::string_view, 9> names{"&nbsp", "&zwnj",   "&zwj", "&shy",    "&ensp",
                                                    "&emsp", "&thinsp", "&tab", "&newline"};
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80 && text[0] != '&') return is_space(text[0]);
    if (text[0] != '&') {
        if (byte(0) >> 5 == 6 && text.size() > 1)
            return is_blank((byte(0) & 31u) << 6 | (byte(1) & 63u)) ? 2 : 0;
        if (byte(0) >> 4 == 14 && text.size() > 2)
            return is_blank((byte(0) & 15u) << 12 | (byte(1) & 63u) << 6 | (byte(2) & 63u)) ? 3 : 0;
        return 0;
    }
    std::size_t size = 0;
    if (text.size() > 2 && text[1] == '#') {
        const bool hex = lower(text[2]) == 'x';
        size = hex ? 3 : 2;
        std::uint32_t code = 0;
        for (; size < std::min<std::size_t>(text.size(), 10); ++size) {
            const int value = digit(text[size]);
            if (value < 0 || (!hex && value > 9)) break;
            code = code * (hex ? 16 : 10) + static_cast<std::uint32_t>(value);
        }
        if (!is_blank(code)) return 0;
    } else {
        for (auto name : names)
            if (starts(text, name)) size = name.size();
    }
    return size + (size && size < text.size() && text[size] == ';');
}

// Runs of nine blanks and more become one.
inline void squeeze(std::string& text) {
    std::size_t out = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto start = at;
        std::size_t blanks = 0;
        while (at < text.size()) {
            const auto size = blank_size(std::string_view(text).substr(at));
            if (size == 0) break;
            at += size;
            ++blanks;
        }
        if (blanks >= 9) {
            text[out++] = ' ';
        } else {
            at = std::max(at, start + 1);
            for (auto i = start; i < at; ++i) text[out++] = text[i];
        }
    }
    text.resize(out);
}

// A text cut to this many bytes, after runs of blanks are shortened if necessary; and the number of
// characters that were cut off.
inline std::size_t bound(std::string& text, std::size_t most) {
    const auto is_inside = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
    if (text.size() <= most) return 0;
    squeeze(text);
    if (text.size() <= most) return 0;
    for (int back = 0; back < 3 && most > 0 && is_inside(text[most]); ++back) --most;
    const auto rest = std::string_view(text).substr(most);
    const auto inside = std::count_if(rest.begin(), rest.end(), is_inside);
    const auto lost = std::max(rest.size() - static_cast<std::size_t>(inside), rest.size() / 4);
    text.resize(most);
    return lost;
}

class Scanner {
public:
    explicit Scanner(std::string_view text) : text_(text) {}

    Page scan() {
        while (at_ < text_.size()) {
            const auto tag = text_.find('<', at_);
            write(text_.substr(at_, tag == text_.npos ? text_.npos : tag - at_));
            if (tag == text_.npos) break;
            at_ = tag + 1;
            if (at_ == text_.size()) break;
            const char c = text_[at_];
            if (c == '!' || c == '?') {
                comment();
            } else if (c == '/') {
                end_tag();
            } else if (is_letter(c)) {
                start_tag();
            } else {
                write("<");
            }
        }
        return std::move(page_);
    }

private:
    struct Open {
        std::string_view name;
        Look look;
    };

    std::string_view text_;
    std::size_t at_ = 0;
    Page page_;
    Look look_;
    std::vector<Open> open_;  // with the style outside of each
    // If a search fails once, it also fails further on; remembering this keeps time linear.
    bool no_comment_ends_ = false;
    std::array<bool, 2> no_quote_ends_{};
    std::array<bool, never_seen.size()> no_element_ends_{};

    void write(std::string_view text) { (look_.is_hidden() ? page_.hidden : page_.seen) += text; }

    void comment() {
        ++page_.comments;
        const bool proper = text_.substr(at_, 3) == "!--";
        const auto end = !proper            ? text_.find('>', at_)
                         : no_comment_ends_ ? text_.npos
                                            : text_.find("-->", at_ + 1);
        if (proper && end == text_.npos) no_comment_ends_ = true;
        // An unclosed comment hides only its own tag.
        if (end == text_.npos) {
            const auto close = text_.find('>', at_);
            at_ = close == text_.npos ? text_.size() : close + 1;
        } else {
            at_ = end + (proper ? 3 : 1);
        }
    }

    std::string_view name() {
        const auto start = at_;
        while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != '>' &&
               text_[at_] != '/')
            ++at_;
        return text_.substr(start, at_ - start);
    }

    static constexpr std::size_t longest = 20;  // characters of a name or of a value in a mark

    void mark(std::string_view text) {
        for (char c : text.substr(0, longest)) page_.marks += is_space(c) ? ' ' : lower(c);
    }

    void end_tag() {
        ++at_;
        const auto closed = name();
        const auto end = text_.find('>', at_);
        at_ = end == text_.npos ? text_.size() : end + 1;
        if (is_any(closed, of_lines)) write("\n");
        for (auto i = open_.size(); i-- > 0;) {
            if (!is_same_name(open_[i].name, closed)) continue;
            look_ = open_[i].look;
            open_.resize(i);
            break;
        }
    }

    static bool is_same_name(std::string_view a, std::string_view b) {
        if (a.size() != b.size()) return false;
        for (std::size_t i = 0; i < a.size(); ++i)
            if (lower(a[i]) != lower(b[i])) return false;
        return true;
    }

    void start_tag() {
        const auto tag = name();
        page_.marks += '<';
        mark(tag);
        page_.marks += '\n';
        Look inside = look_;
        while (at_ < text_.size() && text_[at_] != '>') attribute(tag, inside);
        if (at_ < text_.size()) ++at_;
        if (is_any(tag, of_lines)) write("\n");
        if (is_any(tag, never_seen)) {
            skip_to_end_of(tag);
        } else if (!is_any(tag, without_end) && open_.size() < deepest) {
            open_.push_back({tag, look_});
            look_ = inside;
        }
    }

    void attribute(std::string_view tag, Look& look) {
        while (at_ < text_.size() && (is_space(text_[at_]) || text_[at_] == '/')) ++at_;
        const auto start = at_;
        while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != '>' &&
               text_[at_] != '=')
            ++at_;
        const auto key = text_.substr(start, at_ - start);
        while (at_ < text_.size() && is_space(text_[at_])) ++at_;
        std::string_view value;
        if (at_ < text_.size() && text_[at_] == '=') {
            ++at_;
            value = attribute_value();
        } else if (key.empty()) {
            return;
        }
        look.take(key, value);
        if (is_any(key, with_text)) {
            write(" ");
            write(value);
            write(" ");
            return;
        }
        mark(tag);
        page_.marks += '.';
        mark(key);
        page_.marks += '\n';
        if (is_any(key, with_address)) {
            page_.marks += '=';
            for (char c : trimmed(value.substr(0, 300))) page_.marks += is_space(c) ? ' ' : c;
        } else {
            mark(key);
            page_.marks += '=';
            mark(trimmed(value));
        }
        page_.marks += '\n';
    }

    std::string_view attribute_value() {
        while (at_ < text_.size() && is_space(text_[at_])) ++at_;
        if (at_ == text_.size()) return {};
        const char quote = text_[at_];
        const auto start = quote == '"' || quote == '\'' ? at_ + 1 : at_;
        std::size_t end = start;
        if (start > at_) {
            bool& none = no_quote_ends_[quote == '"'];
            end = none ? text_.npos : text_.find(quote, start);
            if (end != text_.npos) {
                at_ = end + 1;
                return text_.substr(start, end - start);
            }
            none = true;
            end = start;  // treat an unclosed quote as none
        }
        while (end < text_.size() && !is_space(text_[end]) && text_[end] != '>') ++end;
        at_ = end;
        return text_.substr(start, end - start);
    }

    void skip_to_end_of(std::string_view tag) {
        // A start without an end hides nothing.
        std::size_t which = 0;
        while (!is_same(tag, never_seen[which])) ++which;
        if (no_element_ends_[which]) return;
        for (auto at = text_.find("</", at_); at != text_.npos; at = text_.find("</", at + 2)) {
            if (!is_same_name(text_.substr(at + 2, tag.size()), tag)) continue;
            const auto end = text_.find('>', at);
            at_ = end == text_.npos ? text_.size() : end + 1;
            return;
        }
        no_element_ends_[which] = true;
    }
};

}  // namespace genus::html
