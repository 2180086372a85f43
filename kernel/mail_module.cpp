// The binding of what mail is read with: HTML to text, texts to hashes.
#include <nanobind/stl/tuple.h>

#include "binding.hpp"
#include "html.hpp"
#include "shingles.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace genus::binding {

namespace {

std::string_view view(const nb::bytes& bytes) {
    return {bytes.c_str(), bytes.size()};
}

nb::bytes bytes(const std::string& text) {
    return nb::bytes(text.data(), text.size());
}

// At most so many bytes of what is seen, and of what is not, and of marks.
nb::tuple read_html(const nb::bytes& text, std::size_t most_seen, std::size_t most_others) {
    const auto page = without_gil([&] {
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

// ids (n,), or ids with starts and ends (n, 3).
nb::object hash_words(const nb::bytes& text, std::tuple<int, int, int, int, int, int> kinds,
                      std::size_t opening_size, bool places) {
    const auto [word, capitals, mark, pair, opening, mixed] = kinds;
    for (int kind : {word, capitals, mark, pair, opening, mixed})
        require(kind < static_cast<int>(shingles::kinds), "There are but 16 kinds of tokens.");
    require(text.size() < (1u << 31), "The text is too long.");
    const shingles::Plan plan{word, capitals, mark, pair, opening, mixed, opening_size};
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
    const auto found = without_gil([&] { return shingles::ids_of_lines(view(lines)); });
    auto ids = zeros<std::uint32_t>(found.size());
    std::copy(found.begin(), found.end(), ids.get());
    return give(std::move(ids), {found.size()});
}

}  // namespace

void bind_mail(nb::module_& m) {
    m.def("read_html", &read_html, "text"_a, "most_seen"_a, "most_others"_a);
    m.def("hash_words", &hash_words, "text"_a, "kinds"_a, "opening_size"_a, "places"_a);
    m.def("hash_lines", &hash_lines, "lines"_a);
}

}  // namespace genus::binding
