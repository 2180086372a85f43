// The binding for reading mail: headers and links to tokens, HTML to text, texts to hashes.
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "binding.hpp"
#include "blocks.hpp"
#include "buckets.hpp"
#include "headers.hpp"
#include "html.hpp"
#include "links.hpp"
#include "packs.hpp"
#include "shingles.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace genus::binding {

namespace {

std::string_view view(const nb::bytes& bytes) {
    return {bytes.c_str(), bytes.size()};
}

// An array that owns these numbers.
template <class T> nb::object give_all(std::vector<T> numbers) {
    auto owned = std::make_unique<std::vector<T>>(std::move(numbers));
    T* const data = owned->data();
    const std::size_t size = owned->size();
    const nb::capsule owner(owned.get(),
                            [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    owned.release();
    return nb::cast(nb::ndarray<nb::numpy, T>(data, {size}, owner));
}

// For a short text, releasing the GIL would take longer than the work.
template <class Work> auto without_gil_if_long(std::size_t size, const Work& work) {
    return size < (1u << 16) ? work() : without_gil(work);
}

nb::bytes bytes(const std::string& text) {
    return nb::bytes(text.data(), text.size());
}

// Visible text of at most `most_seen` bytes; hidden text and marks of at most `most_others` each.
nb::tuple read_html(const nb::bytes& text, std::size_t most_seen, std::size_t most_others) {
    const auto page = without_gil_if_long(text.size(), [&] {
        auto found = html::Scanner(view(text)).scan();
        found.lost = html::bound(found.seen, most_seen);
        html::bound(found.hidden, most_others);
        if (found.marks.size() > most_others)
            found.marks.resize(found.marks.rfind('\n', most_others - 1) + 1);
        return found;
    });
    return nb::make_tuple(bytes(page.seen), bytes(page.hidden), bytes(page.marks), page.comments,
                          page.lost);
}

nb::str string(const std::string& text) {
    return nb::str(text.data(), text.size());
}

// Names and values; whether a value was cut; and whether there are more headers. `decode` is called
// with the bytes of values that must be decoded.
nb::tuple read_fields(const nb::bytes& head, std::size_t lines, std::size_t most,
                      std::size_t longest, const nb::callable& decode) {
    nb::list found;
    bool cut = false, more = false;
    std::string text;
    mail::each_field(view(head), lines, [&](const std::string& name, std::string_view value) {
        more = found.size() == most;
        if (more) return false;
        cut |= value.size() > longest;
        mail::unfold(value.substr(0, longest), text);
        const auto shown = mail::is_plain(text) ? nb::object(string(text)) : decode(bytes(text));
        found.append(nb::make_tuple(string(name), shown));
        return true;
    });
    return nb::make_tuple(found, cut, more);
}

// The first headers in the form that is hashed, without those whose name `is_added`.
nb::bytes sent_head(const nb::bytes& head, std::size_t lines, std::size_t most, std::size_t longest,
                    const nb::callable& is_added) {
    std::string found;
    mail::each_field(view(head), lines, [&](const std::string& name, std::string_view value) {
        if (nb::cast<bool>(is_added(string(name)))) return true;
        if (most == 0) return false;
        --most;
        mail::add_sent_line(name, value.substr(0, longest), found);
        return true;
    });
    return bytes(found);
}

using Header = std::tuple<std::string_view, std::string_view>;

nb::bytes header_tokens(const nb::list& headers, std::tuple<char, char, char> groups) {
    const auto [people, route, form] = groups;
    mail::HeaderTokens tokens({people, route, form});
    for (nb::handle each : headers) {
        const auto [name, value] = nb::cast<Header>(each);
        tokens.add(name, value);
    }
    return bytes(tokens.lines());
}

// The text without its links, and the tokens of the links.
nb::tuple link_tokens(const nb::bytes& text, std::tuple<char, char> groups, std::size_t most) {
    const auto [links, structure] = groups;
    mail::LinkTokens tokens({links, structure}, most);
    const auto rest = without_gil_if_long(text.size(), [&] { return tokens.take(view(text)); });
    return nb::make_tuple(bytes(rest), bytes(tokens.lines()));
}

nb::bytes mark_tokens(const nb::bytes& marks, std::tuple<char, char> groups, std::size_t most) {
    const auto [links, structure] = groups;
    mail::LinkTokens tokens({links, structure}, most);
    without_gil_if_long(marks.size(), [&] { tokens.add_marks(view(marks)); });
    return bytes(tokens.lines());
}

nb::list domains(std::string_view host) {
    nb::list found;
    mail::hosts(host,
                [&](std::string_view each) { found.append(nb::str(each.data(), each.size())); });
    return found;
}

using Kinds = std::tuple<int, int, int, int, int, int>;

shingles::Plan plan_of(const nb::bytes& text, const Kinds& kinds, std::size_t opening_size) {
    const auto [word, capitals, mark, pair, opening, mixed] = kinds;
    for (int kind : {word, capitals, mark, pair, opening, mixed})
        require(kind < static_cast<int>(shingles::kinds), "There are only 16 kinds of tokens.");
    require(text.size() < (1u << 31), "The text is too long.");
    return {word, capitals, mark, pair, opening, mixed, opening_size};
}

// ids (n,), or ids with starts and ends (n, 3).
nb::object hash_words(const nb::bytes& text, const Kinds& kinds, std::size_t opening_size,
                      bool places) {
    const auto plan = plan_of(text, kinds, opening_size);
    const auto found = without_gil([&] { return shingles::Reader(view(text), plan).read(); });
    const std::size_t n = found.size(), width = places ? 3 : 1;
    auto ids = zeros<std::uint32_t>(n * width);
    for (std::size_t i = 0; i < n; ++i) {
        ids[i * width] = found[i].id;
        if (places) ids[i * width + 1] = found[i].start, ids[i * width + 2] = found[i].end;
    }
    return places ? give(std::move(ids), {n, width}) : give(std::move(ids), {n});
}

nb::object hash_lines(const nb::bytes& lines) {
    return give_all(without_gil([&] { return shingles::ids_of_lines(view(lines)); }));
}

// Distinct ids of lines and texts, ascending. A text is given with its kinds and opening size.
nb::object hash_message(const nb::bytes& lines, const nb::list& texts) {
    std::vector<std::uint32_t> every = shingles::ids_of_lines(view(lines));
    for (nb::handle each : texts) {
        const auto [text, kinds, opening_size] =
            nb::cast<std::tuple<nb::bytes, Kinds, std::size_t>>(each);
        const auto plan = plan_of(text, kinds, opening_size);
        for (const auto& found : shingles::Reader(view(text), plan).read())
            every.push_back(found.id);
    }
    return give_all(shingles::distinct(std::move(every)));
}

using Ids = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Changes = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Bucket = std::tuple<std::int64_t, nb::bytes>;

// Distinct ids, ascending, and the position of each id among them.
nb::tuple rank_ids(const Ids& ids) {
    require(ids.shape(0) < (std::size_t{1} << 31), "There are too many ids.");
    auto ranks = without_gil([&] { return ranks_of(ids.data(), ids.shape(0)); });
    return nb::make_tuple(give_all(std::move(ranks.distinct)), give_all(std::move(ranks.at)));
}

// Distinct tokens of lessons, ascending; the changes of their ham and spam counts, (k, 2), summed
// from the changes `by` of each lesson, (m, 2); and the position of each token among them.
nb::tuple sum_lessons(const nb::list& lessons, const Changes& by) {
    require(lessons.size() == by.shape(0), "Each lesson needs its changes.");
    std::size_t number = 0;
    for (nb::handle each : lessons) number += nb::cast<Ids>(each).shape(0);
    std::vector<std::uint32_t> tokens;
    tokens.reserve(number);
    std::vector<std::size_t> ends;
    for (nb::handle each : lessons) {
        const auto held = nb::cast<Ids>(each);
        tokens.insert(tokens.end(), held.data(), held.data() + held.shape(0));
        ends.push_back(tokens.size());
    }
    require(tokens.size() < (std::size_t{1} << 31), "There are too many tokens.");
    auto ranks = without_gil([&] { return ranks_of(tokens.data(), tokens.size()); });
    std::vector<std::uint32_t>().swap(tokens);
    const std::size_t k = ranks.distinct.size();
    auto sums = zeros<std::int64_t>(2 * k);
    for (std::size_t i = 0, at = 0; i < ends.size(); ++i)
        for (; at < ends[i]; ++at)
            for (std::size_t c = 0; c < 2; ++c) sums[2 * ranks.at[at] + c] += by.data()[2 * i + c];
    return nb::make_tuple(give_all(std::move(ranks.distinct)), give(std::move(sums), {k, 2}),
                          give_all(std::move(ranks.at)));
}

nb::bytes pack_lessons(const Ids& tokens, const Ids& sizes) {
    require(tokens.shape(0) < (std::size_t{1} << 31), "There are too many tokens.");
    const std::vector<std::uint32_t> of(sizes.data(), sizes.data() + sizes.shape(0));
    std::size_t sum = 0;
    for (const auto size : of) sum += size;
    require(sum == tokens.shape(0), "Sizes must add up to the number of tokens.");
    return bytes(without_gil([&] { return packs::packed(tokens.data(), tokens.shape(0), of); }));
}

nb::tuple unpack_lessons(const nb::bytes& pack) {
    auto found = without_gil([&] { return packs::unpacked(view(pack)); });
    require(found.has_value(), "a pack of lessons is damaged");
    return nb::make_tuple(give_all(std::move(found->tokens)), give_all(std::move(found->sizes)));
}

constexpr const char* damage = "counts of tokens are damaged";

// The number and the content of a bucket; an error if it is not a bucket.
std::tuple<std::uint32_t, nb::bytes> bucket_of(nb::handle given) {
    try {
        const auto [number, content] = nb::cast<Bucket>(given, false);
        require(number >= 0 && number <= 0xFFFF, damage);
        return {static_cast<std::uint32_t>(number), content};
    } catch (const nb::cast_error&) {
        throw nb::value_error(damage);
    }
}

// Tokens (n,) and counts (n, 2) of buckets.
nb::tuple read_buckets(const nb::list& given) {
    std::vector<buckets::Entry> entries;
    for (nb::handle each : given) {
        const auto [number, content] = bucket_of(each);
        require(buckets::read(number, view(content), entries), damage);
    }
    const std::size_t n = entries.size();
    auto tokens = zeros<std::uint32_t>(n);
    auto counts = zeros<std::int64_t>(2 * n);
    for (std::size_t i = 0; i < n; ++i) {
        tokens[i] = entries[i].token;
        counts[2 * i] = entries[i].ham, counts[2 * i + 1] = entries[i].spam;
    }
    return nb::make_tuple(give(std::move(tokens), {n}), give(std::move(counts), {n, 2}));
}

// The buckets of these tokens with changes (n, 2) added to their counts; a bucket without counts is
// empty. `given` are the existing buckets of the tokens. All are ascending.
nb::list shift_buckets(const nb::list& given, const Ids& tokens, const Changes& by) {
    const std::size_t n = tokens.shape(0);
    require(by.shape(0) == n, "Each token needs its changes.");
    nb::list found;
    std::vector<buckets::Entry> held, more, merged;
    std::size_t next = 0;
    for (std::size_t i = 0; i < n;) {
        const std::uint32_t number = tokens.data()[i] >> 16;
        more.clear(), held.clear();
        for (; i < n && tokens.data()[i] >> 16 == number; ++i)
            more.push_back({tokens.data()[i], by.data()[2 * i], by.data()[2 * i + 1]});
        if (next < given.size()) {
            const auto [told, content] = bucket_of(given[next]);
            if (told == number) {
                require(buckets::read(number, view(content), held), damage);
                ++next;
            }
        }
        require(buckets::merge(held, more.data(), more.size(), merged), "counts would be negative");
        const bool is_empty = merged.empty();
        const auto content =
            is_empty ? std::string() : buckets::written(number, merged.data(), merged.size());
        found.append(nb::make_tuple(number, bytes(content)));
    }
    require(next == given.size(), "Some buckets belong to none of the tokens.");
    return found;
}

using Pairs = nb::ndarray<const double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Scale = std::tuple<double, double, double, double, double, double>;

// Sums of log-odds (m, groups), numbers of tokens (m, groups), and numbers of new tokens (m,).
nb::tuple evidence_without_block(const Ids& rows, const Integers& sizes, const Integers& block,
                                 const Integers& spam, const Vector& weight, const Ids& ids,
                                 const Changes& counts, const Ids& examples,
                                 const Pairs& example_counts, std::size_t groups,
                                 const Scale& scale) {
    const std::size_t m = sizes.shape(0), k = ids.shape(0);
    require(block.shape(0) == m && spam.shape(0) == m && weight.shape(0) == m,
            "Each lesson needs a block, a class and a weight.");
    require(counts.shape(0) == k && example_counts.shape(0) == examples.shape(0),
            "Each token needs its counts.");
    bool fine = groups > 0;
    std::size_t sum = 0;
    for (std::size_t i = 0; i < m; ++i) {
        fine &= sizes.data()[i] >= 0 && (spam.data()[i] == 0 || spam.data()[i] == 1);
        sum += static_cast<std::size_t>(sizes.data()[i]);
    }
    for (std::size_t i = 0; i < rows.shape(0); ++i) fine &= rows.data()[i] < k;
    require(fine && sum == rows.shape(0), "Rows, sizes and classes must agree.");
    const auto [ham, spams, ham_examples, spam_examples, unit, pseudo] = scale;
    const blocks::Scale scaled{{ham, spams}, {ham_examples, spam_examples}, unit, pseudo};
    auto found = without_gil([&] {
        return blocks::without_block(
            {rows.data(), sizes.data(), block.data(), spam.data(), weight.data(), m},
            {ids.data(), counts.data(), k, examples.data(), example_counts.data(),
             examples.shape(0), groups},
            scaled);
    });
    return nb::make_tuple(give_all(std::move(found.sums)), give_all(std::move(found.numbers)),
                          give_all(std::move(found.fresh)));
}

// Return free memory to the system, if the C library does not do so by itself.
void release_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

}  // namespace

void bind_mail(nb::module_& m) {
    m.def("evidence_without_block", &evidence_without_block, "rows"_a, "sizes"_a, "block"_a,
          "spam"_a, "weight"_a, "ids"_a, "counts"_a, "examples"_a, "example_counts"_a, "groups"_a,
          "scale"_a);
    m.def("release_memory", &release_memory);
    m.def("rank_ids", &rank_ids, "ids"_a);
    m.def("sum_lessons", &sum_lessons, "lessons"_a, "by"_a);
    m.def("pack_lessons", &pack_lessons, "tokens"_a, "sizes"_a);
    m.def("unpack_lessons", &unpack_lessons, "pack"_a);
    m.def("read_buckets", &read_buckets, "buckets"_a);
    m.def("shift_buckets", &shift_buckets, "buckets"_a, "tokens"_a, "by"_a);
    m.def("read_fields", &read_fields, "head"_a, "lines"_a, "most"_a, "longest"_a, "decode"_a);
    m.def("sent_head", &sent_head, "head"_a, "lines"_a, "most"_a, "longest"_a, "is_added"_a);
    m.def("header_tokens", &header_tokens, "headers"_a, "groups"_a);
    m.def("link_tokens", &link_tokens, "text"_a, "groups"_a, "most"_a);
    m.def("mark_tokens", &mark_tokens, "marks"_a, "groups"_a, "most"_a);
    m.def("domains", &domains, "host"_a);
    m.def("hash_message", &hash_message, "lines"_a, "texts"_a);
    m.def("read_html", &read_html, "text"_a, "most_seen"_a, "most_others"_a);
    m.def("hash_words", &hash_words, "text"_a, "kinds"_a, "opening_size"_a, "places"_a);
    m.def("hash_lines", &hash_lines, "lines"_a);
}

}  // namespace genus::binding
