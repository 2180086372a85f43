// The binding of texts: Arrow buffers, Python strings or tokens in, arrays out.
#include <nanobind/stl/string.h>

#include <random>

#include "arrow.hpp"
#include "binding.hpp"
#include "hashes.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace genus::binding {

namespace {

using Words64 = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Keys = nb::ndarray<const std::uint64_t, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
using Codes = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
static_assert(sizeof(Key) == 3 * sizeof(std::uint64_t));
static_assert(std::endian::native == std::endian::little, "keys keep the first byte lowest");

// Cast a Python object to its expected type without conversion; the caller keeps it alive.
template <class T> T as(nb::handle object) {
    try {
        return nb::cast<T>(object, false);
    } catch (const nb::cast_error&) {
        throw nb::type_error("An argument has the wrong type, or an array is not contiguous.");
    }
}

const char* chars(const Bytes& bytes) {
    return reinterpret_cast<const char*>(bytes.data());
}

using Copies = std::vector<nb::bytes>;

#ifdef Py_LIMITED_API
// The stable ABI gives access to ASCII characters in place. Other strings are copied as UTF-8, or
// as code points if they contain half a surrogate pair.
Text read_characters(nb::handle text, Copies& copies) {
    Py_ssize_t size;
    if (nb::cast<bool>(text.attr("isascii")()))
        if (const char* ascii = PyUnicode_AsUTF8AndSize(text.ptr(), &size))
            return {ascii, static_cast<std::size_t>(size), Encoding::utf8};
    PyObject* copy = PyUnicode_AsUTF8String(text.ptr());
    const bool is_utf8 = copy != nullptr;
    if (!is_utf8) {
        PyErr_Clear();
        copy = PyUnicode_AsEncodedString(text.ptr(), "utf-32-le", "surrogatepass");
        if (!copy) nb::raise_python_error();
    }
    copies.push_back(nb::steal<nb::bytes>(copy));
    const auto& bytes = copies.back();
    return is_utf8 ? Text{bytes.c_str(), bytes.size(), Encoding::utf8}
                   : Text{bytes.c_str(), bytes.size() / 4, Encoding::ucs4};
}
#else
Text read_characters(nb::handle text, Copies&) {
    const auto size = static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr()));
    const void* data = PyUnicode_DATA(text.ptr());
    if (PyUnicode_IS_ASCII(text.ptr())) return {data, size, Encoding::ascii};
    switch (PyUnicode_KIND(text.ptr())) {
        case PyUnicode_1BYTE_KIND:
            return {data, size, Encoding::latin1};
        case PyUnicode_2BYTE_KIND:
            return {data, size, Encoding::ucs2};
        default:
            return {data, size, Encoding::ucs4};
    }
}
#endif

std::optional<Text> read_string(nb::handle object, Copies& copies) {
    if (PyUnicode_Check(object.ptr())) return read_characters(object, copies);
    char* bytes;
    Py_ssize_t size;
    if (PyBytes_Check(object.ptr()) && PyBytes_AsStringAndSize(object.ptr(), &bytes, &size) == 0)
        return Text{bytes, static_cast<std::size_t>(size), Encoding::utf8};
    return {};
}

// Whether numbers never decrease and lie between 0 and `most`.
template <class T> bool ascend(const T* numbers, std::size_t size, std::size_t most) {
    bool fine = size == 0 || numbers[0] >= 0;
    for (std::size_t i = 1; i < size; ++i) fine &= numbers[i - 1] <= numbers[i];
    return fine && (size == 0 || static_cast<std::size_t>(numbers[size - 1]) <= most);
}

Chunk strings_of(nb::handle given) {
    const auto strings = as<nb::tuple>(given);  // a tuple cannot change meanwhile
    std::vector<std::optional<Text>> texts;
    texts.reserve(strings.size());
    const auto copies = std::make_shared<Copies>();
    for (nb::handle string : strings) texts.push_back(read_string(string, *copies));
    return Strings{std::move(texts), copies};
}

Chunk utf8_of(nb::handle offsets_given, nb::handle bytes_given) {
    const auto offsets = as<Indices>(offsets_given);
    const auto bytes = as<Bytes>(bytes_given);
    const bool wide = offsets.dtype() == nb::dtype<std::int64_t>();
    if (!wide && offsets.dtype() != nb::dtype<std::int32_t>())
        throw nb::type_error("offsets must be int32 or int64.");
    require(offsets.shape(0) > 0, "offsets must include the end of the last text.");
    const std::size_t n = offsets.shape(0), most = bytes.shape(0);
    const bool sound = without_gil([&] {
        return wide ? ascend(static_cast<const std::int64_t*>(offsets.data()), n, most)
                    : ascend(static_cast<const std::int32_t*>(offsets.data()), n, most);
    });
    require(sound, "offsets must ascend within the bytes.");
    return Utf8Texts{chars(bytes), offsets.data(), wide, n - 1};
}

Chunk views_of(nb::handle views_given, nb::handle buffers_given) {
    const auto views = as<Bytes>(views_given);
    require(views.shape(0) % sizeof(ViewedTexts::View) == 0, "a view has 16 bytes.");
    require(reinterpret_cast<std::uintptr_t>(views.data()) % alignof(ViewedTexts::View) == 0,
            "views must be aligned.");
    ViewedTexts texts{reinterpret_cast<const ViewedTexts::View*>(views.data()),
                      {},
                      views.shape(0) / sizeof(ViewedTexts::View)};
    for (nb::handle buffer : as<nb::list>(buffers_given)) {
        const auto bytes = as<Bytes>(buffer);
        texts.buffers.push_back({chars(bytes), bytes.shape(0)});
    }
    return texts;
}

Chunk tokens_of(nb::handle bytes_given, nb::handle ends_given, nb::handle rows_given) {
    const auto bytes = as<Bytes>(bytes_given);
    const auto ends = as<Integers>(ends_given), rows = as<Integers>(rows_given);
    require(ascend(ends.data(), ends.shape(0), bytes.shape(0)),
            "ends must ascend within the bytes.");
    require(rows.shape(0) > 0 && ascend(rows.data(), rows.shape(0), ends.shape(0)),
            "rows must ascend within the ends.");
    return GivenTokens{chars(bytes), ends.data(), rows.data(), rows.shape(0) - 1};
}

// Chunks of texts, each a kind and its arguments; the caller keeps them alive.
Texts texts_of(const nb::list& chunks) {
    Texts texts;
    for (nb::handle given : chunks) {
        const auto chunk = as<nb::tuple>(given);
        require(chunk.size() > 0, "a chunk of texts begins with its kind.");
        const auto name = as<nb::str>(chunk[0]);
        const std::string_view kind = name.c_str();
        if (kind == "strings" && chunk.size() == 2)
            texts.add(strings_of(chunk[1]));
        else if (kind == "utf8" && chunk.size() == 3)
            texts.add(utf8_of(chunk[1], chunk[2]));
        else if (kind == "views" && chunk.size() == 3)
            texts.add(views_of(chunk[1], chunk[2]));
        else if (kind == "tokens" && chunk.size() == 4)
            texts.add(tokens_of(chunk[1], chunk[2], chunk[3]));
        else
            throw nb::type_error("texts are strings, utf8, views or tokens.");
    }
    return texts;
}

// `how` is an alphabet, whether to lower-case, whether characters are tokens, n-grams, and bits.
Tokenizer tokenizer_of(const nb::tuple& how) {
    require(how.size() == 6, "a tokenizer has six parts.");
    const auto alphabet = as<Codes>(how[0]);  // the caller keeps it alive
    const auto shortest = as<std::size_t>(how[3]), longest = as<std::size_t>(how[4]);
    require(alphabet.shape(0) == Alphabet::size, "alphabet must have an entry per code point.");
    require(1 <= shortest && shortest <= longest && longest <= 1024,
            "n-grams must be of 1 to 1024, ascending.");
    const auto bits = as<int>(how[5]);
    require(0 <= bits && bits <= 32, "bits must be 0 to 32.");
    return {{alphabet.data()}, as<bool>(how[1]), as<bool>(how[2]), shortest, longest, bits};
}

std::uint64_t seed() {
    static const std::uint64_t value = [] {
        std::random_device random;
        return std::uint64_t{random()} << 32 | random();
    }();
    return value;
}

bool interrupted() {
    nb::gil_scoped_acquire acquire;
    return PyErr_CheckSignals() != 0;
}

// Work without the GIL in a team of threads, which a signal such as Ctrl-C stops.
template <class Work> auto by_team(const Texts& texts, std::size_t threads, const Work& work) {
    Team team(team_size(texts.size(), threads), &interrupted);
    auto result = without_gil([&] { return work(team); });
    if (PyErr_Occurred()) throw nb::python_error();
    return result;
}

nb::tuple give_problem(const Problem& problem) {
    return nb::make_tuple(static_cast<std::int64_t>(problem.row),
                          static_cast<std::int64_t>(problem.place));
}

nb::tuple give_words(OwnWords words) {
    const std::size_t length = words.length(), size = words.size;
    Buffer<std::uint8_t> bytes(reinterpret_cast<std::uint8_t*>(words.bytes.release()));
    return nb::make_tuple(give(std::move(bytes), {length}), give(std::move(words.ends), {size}));
}

SortedWords words_of(const Bytes& bytes, const Integers& ends) {
    const SortedWords words{chars(bytes), ends.data(), ends.shape(0)};
    require(words.within(bytes.shape(0)), "ends must ascend within the bytes.");
    return words;
}

// The arrays that index_words made, and the bytes of the words.
Index index_of(const nb::tuple& index) {
    require(index.size() == 3, "an index has three parts.");
    const auto slots = as<Words64>(index[0]);
    const auto keys = as<Keys>(index[1]);
    const auto bytes = as<Bytes>(index[2]);
    const std::size_t size = keys.shape(0);
    require(slots.shape(0) == 1 + slots_for(size), "slots do not belong to the keys.");
    return {{slots.data() + 1, slots.shape(0) - 1},
            reinterpret_cast<const Key*>(keys.data()),
            {chars(bytes), bytes.shape(0)},
            size,
            {slots.data()[0]},
            shift_of(slots_for(size))};
}

nb::tuple count(const nb::list& chunks, const nb::tuple& how_given, const Integers& y,
                const Weight& weight, std::size_t n_classes, std::size_t threads) {
    const Texts texts = texts_of(chunks);
    const Tokenizer how = tokenizer_of(how_given);
    const Labels labels = labels_of(y, weight, texts.size(), n_classes);
    auto r = by_team(texts, threads,
                     [&](Team& team) { return count_texts(texts, how, labels, team, seed()); });
    const std::size_t V = r.words.size;
    return nb::make_tuple(
        give_words(std::move(r.words)), give(std::move(r.occurrences), {V ? n_classes : 0, V}),
        give(std::move(r.documents), {V ? n_classes : 0, V}), give_problem(r.problem));
}

nb::tuple give_rows(EncodedTexts r, std::size_t rows) {
    const std::size_t entries = r.entries;
    const std::size_t starts = r.problem.row == Problem::none ? rows + 1 : 0;
    return nb::make_tuple(give_words(std::move(r.words)), give(std::move(r.starts), {starts}),
                          give(std::move(r.indices), {entries}),
                          give(std::move(r.counts), {entries}), give_problem(r.problem));
}

nb::tuple encode(const nb::list& chunks, const nb::tuple& how_given, std::size_t threads) {
    const Texts texts = texts_of(chunks);
    const Tokenizer how = tokenizer_of(how_given);
    auto r =
        by_team(texts, threads, [&](Team& team) { return encode_texts(texts, how, team, seed()); });
    return give_rows(std::move(r), texts.size());
}

nb::tuple encode_with(const nb::list& chunks, const nb::tuple& how_given,
                      const nb::tuple& index_given, std::size_t threads) {
    const Texts texts = texts_of(chunks);
    const Tokenizer how = tokenizer_of(how_given);
    const Index index = index_of(index_given);
    auto r =
        by_team(texts, threads, [&](Team& team) { return encode_known(texts, how, index, team); });
    return give_rows(std::move(r), texts.size());
}

Weighting weighting_of(std::string_view name) {
    if (name == "occurrences") return Weighting::occurrences;
    if (name == "once") return Weighting::once;
    require(name == "logarithm", "weighting is occurrences, once or logarithm.");
    return Weighting::logarithm;
}

nb::tuple score(const nb::list& chunks, const nb::tuple& how_given, const nb::tuple& index_given,
                const Matrix& table, const char* weighting_given, double power,
                std::size_t threads) {
    const Texts texts = texts_of(chunks);
    const Tokenizer how = tokenizer_of(how_given);
    const Index index = index_of(index_given);
    require(table.shape(0) == index.size, "table must have a row for every word.");
    const Weighting weighting = weighting_of(weighting_given);
    const std::size_t K = table.shape(1);
    auto r = by_team(texts, threads, [&](Team& team) {
        return score_texts(texts, how, index, table.data(), K, weighting, power, team);
    });
    return nb::make_tuple(give(std::move(r.scores), {texts.size(), K}), give_problem(r.problem));
}

nb::tuple index_words(const Bytes& bytes, const Integers& ends) {
    const SortedWords words = words_of(bytes, ends);
    const std::size_t size = slots_for(words.size);
    auto slots = zeros<std::uint64_t>(1 + size);
    auto keys = zeros<std::uint64_t>(3 * words.size);
    without_gil([&] {
        build_index(words, seed(), slots.get(), reinterpret_cast<Key*>(keys.get()));
        return 0;
    });
    return nb::make_tuple(give(std::move(slots), {1 + size}),
                          give(std::move(keys), {words.size, std::size_t{3}}));
}

auto hash_of_words(const Bytes& bytes, const Integers& ends) {
    const SortedWords words = words_of(bytes, ends);
    auto hashes = zeros<std::uint64_t>(words.size);
    without_gil([&] {
        for (std::size_t i = 0; i < words.size; ++i) hashes[i] = stable_hash(words[i]);
        return 0;
    });
    return give(std::move(hashes), {words.size});
}

nb::tuple hash_of_texts(const nb::list& chunks, const nb::tuple& how_given, std::size_t threads) {
    const Texts texts = texts_of(chunks);
    const Tokenizer how = tokenizer_of(how_given);
    auto r = by_team(texts, threads, [&](Team& team) { return hash_texts(texts, how, team); });
    return nb::make_tuple(give(std::move(r.hashes), {texts.size()}), give_problem(r.problem));
}

nb::tuple merge(const Bytes& bytes, const Integers& ends, const Bytes& other_bytes,
                const Integers& other_ends) {
    const SortedWords a = words_of(bytes, ends), b = words_of(other_bytes, other_ends);
    auto r = without_gil([&] { return merge_words(a, b); });
    return nb::make_tuple(give_words(std::move(r.words)), give(std::move(r.left), {a.size}),
                          give(std::move(r.right), {b.size}));
}

// Part of an Arrow chunk as an array that keeps the chunk alive.
template <class T>
nb::object share(const std::shared_ptr<arrow::Owned<ArrowArray>>& chunk, const void* data,
                 std::size_t size) {
    using Owner = std::shared_ptr<arrow::Owned<ArrowArray>>;
    nb::capsule owner(new Owner(chunk), [](void* p) noexcept { delete static_cast<Owner*>(p); });
    static const T nothing{};
    const T* start = size ? static_cast<const T*>(data) : &nothing;
    return nb::cast(nb::ndarray<nb::numpy, const T>(start, {size}, owner));
}

using SharedChunk = std::shared_ptr<arrow::Owned<ArrowArray>>;

template <class Offset>
nb::tuple share_strings(const arrow::Column& column, const SharedChunk& chunk) {
    const ArrowArray& own = column.of(*chunk);
    const auto* offsets = static_cast<const Offset*>(own.buffers[1]) + column.offset(*chunk);
    const auto length = static_cast<std::size_t>(chunk->length);
    return nb::make_tuple(
        "utf8", share<Offset>(chunk, offsets, length + 1),
        share<std::uint8_t>(chunk, own.buffers[2], static_cast<std::size_t>(offsets[length])));
}

nb::tuple share_views(const arrow::Column& column, const SharedChunk& chunk) {
    const ArrowArray& own = column.of(*chunk);
    const auto* views =
        static_cast<const ViewedTexts::View*>(own.buffers[1]) + column.offset(*chunk);
    const auto bytes = static_cast<std::size_t>(chunk->length) * sizeof *views;
    const auto buffers = static_cast<std::size_t>(own.n_buffers) - 3;
    const auto* sizes = static_cast<const std::int64_t*>(own.buffers[buffers + 2]);
    nb::list contents;
    for (std::size_t i = 0; i < buffers; ++i)
        contents.append(
            share<std::uint8_t>(chunk, own.buffers[i + 2], static_cast<std::size_t>(sizes[i])));
    return nb::make_tuple("views", share<std::uint8_t>(chunk, views, bytes), contents);
}

// The format of a column, its chunks as `texts_of` reads them (None if it holds no strings), and
// the first row that is null.
nb::tuple share_column(const arrow::Column& column) {
    if (column.layout == arrow::Layout::other) return nb::make_tuple(column.format, nb::none(), -1);
    nb::list chunks;
    std::int64_t rows = 0, null = -1;
    for (const auto& chunk : column.chunks) {
        const std::int64_t first = arrow::first_null(column, *chunk);
        if (first >= 0 && null < 0) null = rows + first;
        rows += chunk->length;
        if (chunk->length == 0) continue;  // its buffers may be missing
        chunks.append(column.layout == arrow::Layout::views ? share_views(column, chunk)
                      : column.layout == arrow::Layout::utf8
                          ? share_strings<std::int32_t>(column, chunk)
                          : share_strings<std::int64_t>(column, chunk));
    }
    return nb::make_tuple(column.format, chunks, null);
}

template <class T> T* pointer_in(const nb::capsule& capsule, const char* name) {
    require(capsule.name() && std::string_view(capsule.name()) == name,
            "This is not a capsule of Arrow's C data interface.");
    auto* pointer = static_cast<T*>(capsule.data());
    require(pointer->release, "The Arrow data has already been read.");
    return pointer;
}

nb::tuple strings_of_stream(const nb::capsule& stream) {
    return share_column(
        arrow::read_stream(pointer_in<ArrowArrayStream>(stream, "arrow_array_stream")));
}

nb::tuple strings_of_array(const nb::capsule& schema, const nb::capsule& array) {
    return share_column(arrow::read_array(pointer_in<ArrowSchema>(schema, "arrow_schema"),
                                          pointer_in<ArrowArray>(array, "arrow_array")));
}

}  // namespace

void bind_texts(nb::module_& m) {
    m.def("count_texts", &count, "chunks"_a, "how"_a, "y"_a, "weight"_a.none(), "n_classes"_a,
          "threads"_a);
    m.def("encode_texts", &encode, "chunks"_a, "how"_a, "threads"_a);
    m.def("encode_known", &encode_with, "chunks"_a, "how"_a, "index"_a, "threads"_a);
    m.def("score_texts", &score, "chunks"_a, "how"_a, "index"_a, "table"_a, "weighting"_a,
          "power"_a, "threads"_a);
    m.def("strings_of_stream", &strings_of_stream, "stream"_a);
    m.def("strings_of_array", &strings_of_array, "schema"_a, "array"_a);
    m.def("index_words", &index_words, "bytes"_a, "ends"_a);
    m.def("hash_vocabulary", &hash_of_words, "bytes"_a, "ends"_a);
    m.def("hash_texts", &hash_of_texts, "chunks"_a, "how"_a, "threads"_a);
    m.def("merge_words", &merge, "bytes"_a, "ends"_a, "other_bytes"_a, "other_ends"_a);
}

}  // namespace genus::binding
