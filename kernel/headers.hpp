// The headers of a message: as they are, and as tokens.
#pragma once

#include <utility>
#include <vector>

#include "letters.hpp"

namespace genus::mail {

// ASCII white space, as in Python's bytes.
inline bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

inline View without_blanks(View text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

// The bytes of a line and its continuation lines, from a position on.
inline View folded_line(View head, std::size_t at) {
    std::size_t end = at;
    do {
        end = head.find('\n', end);
        if (end == View::npos) return head.substr(at);
        ++end;
    } while (end < head.size() && (head[end] == ' ' || head[end] == '\t'));
    return head.substr(at, end - 1 - at);
}

// Up to 76 printable characters without a colon; blanks may follow. Empty if it is not a name.
inline View name_of(View text) {
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    const bool is_long = text.size() > 76;
    for (char c : text)
        if (c < '!' || c > '~' || c == ':' || is_long) return {};
    return text;
}

// Whether a value is ASCII without encoded words (RFC 2047).
inline bool is_plain(View value) {
    return std::all_of(value.begin(), value.end(), is_ascii) && value.find("=?") == View::npos;
}

// Call a function with the name, in lower case, and the value of each header in the first lines,
// until it returns false. Other lines are skipped; folded ones count as one.
template <class Work> void each_field(View head, std::size_t lines, const Work& work) {
    std::string name;
    for (std::size_t at = 0; at < head.size() && lines > 0; --lines) {
        const View line = folded_line(head, at);
        at += line.size() + 1;
        const auto colon = line.find(':');
        if (colon == View::npos) continue;
        const View named = name_of(line.substr(0, colon));
        if (named.empty()) continue;
        name.clear();
        append_lower(name, named);
        if (!work(name, line.substr(colon + 1))) return;
    }
}

// Put a value on one line.
inline void unfold(View value, std::string& to) {
    to.clear();
    value = without_blanks(value);
    for (std::size_t from = 0; from < value.size();) {
        const auto end = std::min(value.find('\n', from), value.size());
        to += value.substr(from, end - from);
        if (end == value.size()) break;
        to += ' ';
        from = end + 1;
        while (from < value.size() && (value[from] == ' ' || value[from] == '\t')) ++from;
    }
}

// Add a header in the form that is hashed: its name, and its value with runs of blanks collapsed.
inline void add_sent_line(View name, View value, std::string& to) {
    to += name;
    to += ':';
    const std::size_t start = to.size();
    for (std::size_t at = 0; at < value.size();) {
        if (is_blank(value[at])) {
            ++at;
            continue;
        }
        std::size_t end = at;
        while (end < value.size() && !is_blank(value[end])) ++end;
        if (to.size() > start) to += ' ';
        to += value.substr(at, end - at);
        at = end;
    }
    to += '\n';
}

// Letters of the groups of header tokens.
struct HeaderGroups {
    char people, route, form;
};

class HeaderTokens {
public:
    explicit HeaderTokens(const HeaderGroups& groups) : group_(groups) {}

    // Values are UTF-8, with letters beyond ASCII in lower case; names must outlive this.
    void add(View name, View value) {
        if (!is_in(names_, name)) {
            names_.push_back(name);
            tokens_.add(group_.form, "has:", first(name, 30));
        } else if (is_once(name)) {
            return;
        }
        if (name == "from" || name == "reply-to" || name == "to" || name == "cc") {
            const std::size_t count = people(name, value);
            if (name == "to" || name == "cc")
                tokens_.add(group_.people, name, ":n", std::to_string(bits(count)));
        } else if (name == "received") {
            ++hops_;
            hop(value);
        } else if (name == "message-id") {
            message_id(value);
        } else if (name == "x-mailer" || name == "user-agent" || name == "x-mimeole" ||
                   name == "x-newsreader") {
            program(name, value);
        } else if (name == "date") {
            date(value);
        }
    }

    // After the last header: tokens for missing headers.
    const std::string& lines() {
        tokens_.add(group_.form, "hops:", std::to_string(std::min<std::size_t>(hops_, 8)));
        for (View name : {"from", "to", "subject", "date", "message-id", "mime-version",
                          "content-type", "reply-to", "cc", "x-mailer"})
            if (!is_in(names_, name)) tokens_.add(group_.form, "no:", name);
        return tokens_.lines();
    }

private:
    static constexpr std::size_t most_people = 40, most_words = 10;

    HeaderGroups group_;
    Tokens tokens_;
    std::vector<View> names_, hosts_;
    std::size_t hops_ = 0;
    std::string rest_, before_;

    static bool is_in(const std::vector<View>& few, View text) {
        return std::find(few.begin(), few.end(), text) != few.end();
    }

    // Headers that should occur once; mail readers show the first.
    static bool is_once(View name) {
        return name == "subject" || name == "from" || name == "reply-to" || name == "date" ||
               name == "message-id";
    }

    static std::size_t bits(std::size_t number) {
        std::size_t found = 0;
        for (; number > 0 && found < 6; number >>= 1) ++found;
        return found;
    }

    // Addresses, their hosts and names, and the number of addresses.
    std::size_t people(View header, View value) {
        std::size_t count = 0, from = 0;
        rest_.clear();
        before_.assign(header);
        before_ += ':';
        for (auto at = value.find('@'); at != View::npos; at = value.find('@', at + 1)) {
            std::size_t end = at + 1;
            while (end < value.size() && end - at <= 255 && is_host(value[end])) ++end;
            const auto start = local_start(value, from, at);
            if (start == at || end == at + 1) continue;
            if (count++ < most_people)
                person(value.substr(start, at - start), value.substr(at + 1, end - at - 1));
            rest_ += value.substr(from, start - from);
            rest_ += ' ';
            from = end;
            at = end - 1;
        }
        rest_ += value.substr(from);
        names(rest_);
        return count;
    }

    static bool is_host(char c) { return is_label(c) || c == '.'; }

    // Where the characters before an @ begin: at most 64.
    static std::size_t local_start(View value, std::size_t from, std::size_t at) {
        std::size_t start = at;
        for (std::size_t characters = 0; start > from && characters < 64; ++characters) {
            std::size_t before = start - 1;
            while (before > from && (static_cast<unsigned char>(value[before]) & 0xC0) == 0x80)
                --before;
            if (View("<>,;:\"()@").find(value[before]) != View::npos || space_at(value, before))
                break;
            start = before;
        }
        return start;
    }

    void person(View who, View host) {
        std::string address(before_);
        append_lower(address, first(who, 24));
        address += '@';
        append_lower(address, first(host, 40));
        tokens_.add(group_.people, address);
        hosts(host, [&](View each) { tokens_.add(group_.people, before_, "@", each); });
        std::size_t digits = 0;
        for (char c : who) digits += is_digit(c);
        if (digits > 2) tokens_.add(group_.people, before_, "digits");
    }

    // Words of two characters or more, which may have apostrophes in them.
    void names(View text) {
        std::size_t count = 0;
        for (std::size_t at = 0; at < text.size() && count < most_people;) {
            const auto start = at;
            auto size = text[at] == '_' ? 0 : word_at(text, at);
            if (size == 0) {
                at += size_at(text, at);
                continue;
            }
            at += size;
            const auto second = at;
            while (at < text.size() && (size = text[at] == '\'' ? 1 : word_at(text, at)) > 0)
                at += size;
            if (at == second) continue;
            ++count;
            tokens_.add_lower(group_.people, before_, first(text.substr(start, at - start), 24));
        }
    }

    // The hosts, the greeting (HELO) and the protocol in a Received header.
    void hop(View value) {
        hosts_.clear();
        for (std::size_t at = 0; at < value.size();) {
            std::size_t label = 0;
            const auto end = host_end(value, at, label);
            const View host = value.substr(at, end > 0 ? end - at : 0);
            if (end > 0 && !is_in(hosts_, host)) {
                hosts_.push_back(host);
                hosts(host, [&](View each) { tokens_.add(group_.route, each); });
            }
            at = end > 0 ? end : std::max(label, at + 1);
        }
        if (value.starts_with("from ")) {
            std::size_t end = 5;
            while (end < value.size() && !space_at(value, end)) end += size_at(value, end);
            if (end > 5) helo(value.substr(5, end - 5));
        }
        protocol(value);
        for (View word : {"may be forged", "unknown"})
            if (value.find(word) != View::npos) tokens_.add(group_.route, word);
    }

    void helo(View name) {
        const auto dot = name.rfind('.');
        if (dot == View::npos)
            tokens_.add(group_.route, "helo:", shape(name));
        else
            tokens_.add_lower(group_.route, "helo:.", first(name.substr(dot + 1), 6));
    }

    void protocol(View value) {
        for (auto at = value.find("with "); at != View::npos; at = value.find("with ", at + 1)) {
            if (at > 0 && is_ascii_word(value[at - 1])) continue;
            std::size_t end = at + 5;
            while (end < value.size() && is_ascii_word(value[end])) ++end;
            if (end == at + 5) continue;
            tokens_.add_lower(group_.route,
                              "with:", value.substr(at + 5, end - at - 5).substr(0, 20));
            return;
        }
    }

    void message_id(View value) {
        const std::string cleaned = clean(value);
        const View id = stripped(cleaned, "<>");
        const auto at = std::min(id.find('@'), id.size());
        const View local = id.substr(0, at);
        tokens_.add(group_.form, "id:", shape(local));
        tokens_.add(group_.form, "id#",
                    std::to_string(std::min<std::size_t>(length(local) / 6, 9)));
        if (at < id.size())
            hosts(id.substr(at + 1), [&](View each) { tokens_.add(group_.form, "id@", each); });
    }

    // The words and version numbers in the name of the sender's program.
    void program(View header, View value) {
        before_.assign(header);
        before_ += ':';
        tokens_.add_lower(group_.form, before_, clean(first(value, 30)));
        const View text = first(value, 300);
        std::size_t count = 0;
        for (std::size_t at = 0; at < text.size() && count < most_words;) {
            const auto start = at;
            if (is_letter(text[at])) {
                while (at < text.size() && is_letter(text[at])) ++at;
                if (at - start < 2) continue;
            } else if (is_digit(text[at])) {
                while (at < text.size() && is_digit(text[at])) ++at;
                if (at + 1 >= text.size() || text[at] != '.' || !is_digit(text[at + 1])) continue;
                for (++at; at < text.size() && is_digit(text[at]);) ++at;
            } else {
                ++at;
                continue;
            }
            ++count;
            tokens_.add_lower(group_.form, before_, text.substr(start, at - start).substr(0, 24));
        }
    }

    void date(View value) {
        std::string form = clean(value);
        for (std::size_t at = 0; at < form.size(); ++at) {
            if (at + 2 < form.size() && is_capital(form[at]) && is_small(form[at + 1]) &&
                is_small(form[at + 2])) {
                form.replace(at, 3, "Aaa");
                at += 2;
            } else if (is_digit(form[at])) {
                form[at] = '0';
            }
        }
        tokens_.add(group_.form, "date:", first(form, 40));
        for (std::size_t at = 0; at + 5 <= value.size(); ++at) {
            if (value[at] != '+' && value[at] != '-') continue;
            const View zone = value.substr(at, 5);
            if (is_digit(zone[1]) && is_digit(zone[2]) && is_digit(zone[3]) && is_digit(zone[4])) {
                tokens_.add(group_.form, "zone:", zone);
                return;
            }
        }
        tokens_.add(group_.form, "zone:none");
    }
};

}  // namespace genus::mail
