// Links and addresses in texts and pages, as tokens.
#pragma once

#include <unordered_set>

#include "letters.hpp"

namespace genus::mail {

// Letters of the groups of their tokens.
struct LinkGroups {
    char links, structure;
};

// Finds the first `most` distinct texts, which must outlive it.
class Different {
public:
    explicit Different(std::size_t most) : most_(most) {}

    bool is_new(View text) { return seen_.size() < most_ && seen_.insert(text).second; }

private:
    std::size_t most_;
    std::unordered_set<View> seen_;
};

class LinkTokens {
public:
    // Reads at most `most` distinct links of a text, and marks of a page.
    LinkTokens(const LinkGroups& groups, std::size_t most) : group_(groups), most_(most) {}

    const std::string& lines() const { return tokens_.lines(); }

    // A text with its links removed; each is replaced by \1 and a letter.
    std::string take(View given) {
        std::string text(given);
        std::replace(text.begin(), text.end(), '\1', ' ');
        if (text.find("://") != std::string::npos) text = without_links(text);
        if (text.find("ww.") != std::string::npos || text.find("WW.") != std::string::npos)
            text = without_bare_links(text);
        if (text.find('@') != std::string::npos) text = without_addresses(text);
        return text;
    }

    // Marks of a page, one per line: tags, attributes, and links after =.
    void add_marks(View marks) {
        Different different(most_);
        for (std::size_t at = 0; at < marks.size();) {
            const auto end = std::min(marks.find('\n', at), marks.size());
            const View each = marks.substr(at, end - at);
            at = end + 1;
            if (!different.is_new(each)) continue;
            if (each.starts_with('='))
                page_link(each.substr(1));
            else
                tokens_.add(group_.structure, each);
        }
    }

private:
    LinkGroups group_;
    std::size_t most_;
    Tokens tokens_;

    // Where a link ends that continues at a position.
    static std::size_t link_end(View text, std::size_t at) {
        while (at < text.size()) {
            if (View("\"'<>()").find(text[at]) != View::npos || space_at(text, at)) break;
            at += size_at(text, at);
        }
        return at;
    }

    std::string without_links(View text) {
        Different different(most_);
        std::string kept;
        std::size_t from = 0;
        for (auto at = text.find("://"); at != View::npos; at = text.find("://", at)) {
            const auto end = link_end(text, at + 3);
            if (end == at + 3) {
                ++at;
                continue;
            }
            const View rest = text.substr(at + 3, end - at - 3);
            if (different.is_new(rest)) link(rest);
            kept += text.substr(from, at - from);
            kept += " \1u ";
            from = at = end;
        }
        kept += text.substr(from);
        return kept;
    }

    std::string without_bare_links(View text) {
        Different different(most_);
        std::string kept;
        std::size_t from = 0;
        for (auto at = text.find('.'); at != View::npos; at = text.find('.', at)) {
            const bool is_bare = at >= from + 3 && lower(text[at - 1]) == 'w' &&
                                 lower(text[at - 2]) == 'w' && lower(text[at - 3]) == 'w';
            const auto end = is_bare ? link_end(text, at + 1) : at + 1;
            if (end == at + 1) {
                ++at;
                continue;
            }
            const View rest = text.substr(at, end - at);
            if (different.is_new(rest)) link("www" + std::string(rest));
            kept += text.substr(from, at - 3 - from);
            kept += " \1u ";
            from = at = end;
        }
        kept += text.substr(from);
        return kept;
    }

    std::string without_addresses(View text) {
        Different different(most_);
        std::string kept;
        std::size_t from = 0;
        for (auto at = text.find('@'); at != View::npos; at = text.find('@', at)) {
            std::size_t label = 0;
            const auto end = host_end(text, at + 1, label);
            if (end == 0) {
                ++at;
                continue;
            }
            const View host = text.substr(at + 1, end - at - 1);
            if (different.is_new(host)) add_host("@", host);
            kept += text.substr(from, at - from);
            kept += " \1m ";
            from = at = end;
        }
        kept += text.substr(from);
        return kept;
    }

    void page_link(View url) {
        const auto colon = std::min(url.find(':'), url.size());
        const View rest = url.substr(std::min(colon + 1, url.size()));
        std::string scheme;
        append_lower(scheme, url.substr(0, colon));
        if (scheme == "mailto") {
            tokens_.add(group_.links, "mailto");
            for (auto at = rest.find('@'); at != View::npos; at = rest.find('@', at + 1)) {
                std::size_t label = 0;
                if (const auto end = host_end(rest, at + 1, label)) {
                    add_host("@", rest.substr(at + 1, end - at - 1));
                    return;
                }
            }
        } else if (scheme == "cid") {
            tokens_.add(group_.links, "cid");
        } else if (rest.starts_with("//") || url.starts_with("//")) {
            link(url.substr(url.find("//") + 2));
        } else {
            tokens_.add(group_.links, "relative");
        }
    }

    // What follows the scheme: user@host:port/path; all but the host may be missing.
    void link(View url) {
        const auto before = std::min(url.find_first_of("/@?#"), url.size());
        if (before < url.size() && url[before] == '@') {
            tokens_.add(group_.links, "user@");
            url.remove_prefix(before + 1);
        }
        const auto end = std::min(url.find_first_of("/:?#"), url.size());
        const View host = url.substr(0, end);
        url.remove_prefix(end);
        if (url.size() > 1 && url[0] == ':' && is_digit(url[1])) {
            tokens_.add(group_.links, "port");
            url.remove_prefix(1);
            while (!url.empty() && is_digit(url[0])) url.remove_prefix(1);
        }
        if (host.find('%') != View::npos) tokens_.add(group_.links, "escaped host");
        add_host("", host);
        path_words(first(url, 300));
        if (url.find('?') != View::npos) tokens_.add(group_.links, "query");
    }

    void path_words(View path) {
        std::size_t count = 0;
        for (std::size_t at = 0; at < path.size() && count < 8;) {
            const auto start = at;
            while (at < path.size() && at - start < 20 && is_letter(path[at])) ++at;
            if (at - start >= 3) {
                ++count;
                tokens_.add_lower(group_.links, "/", path.substr(start, at - start));
            }
            if (at == start) ++at;
        }
    }

    void add_host(View before, View host) {
        hosts(host, [&](View each) { tokens_.add(group_.links, before, each); });
    }
};

}  // namespace genus::mail
