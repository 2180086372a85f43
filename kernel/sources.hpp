// Sources of texts, and how they are read: text by text, token by token.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "tokens.hpp"
#include "words.hpp"

namespace genus {

// Sources of texts. `text(i)` is empty if there is none, such as for a number among strings.

struct Utf8Texts {  // Arrow strings: text i is from offsets[i] to offsets[i + 1]
    const char* bytes;
    const void* offsets;
    bool wide;  // 64 bits, else 32
    std::size_t size;

    std::size_t offset(std::size_t i) const {
        return wide ? static_cast<std::size_t>(static_cast<const std::int64_t*>(offsets)[i])
                    : static_cast<std::size_t>(static_cast<const std::int32_t*>(offsets)[i]);
    }

    std::optional<Text> text(std::size_t i) const {
        return Text{bytes + offset(i), offset(i + 1) - offset(i), Encoding::utf8};
    }
};

struct ViewedTexts {  // Arrow string views: a length, then the bytes or their position
    struct View {
        std::int32_t size;
        std::int32_t prefix;
        std::int32_t buffer, offset;
    };

    struct Bytes {
        const char* bytes;
        std::size_t size;
    };

    const View* views;
    std::vector<Bytes> buffers;
    std::size_t size;

    std::optional<Text> text(std::size_t i) const {
        const View& view = views[i];
        const auto length = static_cast<std::size_t>(view.size);
        if (view.size >= 0 && length <= 12)
            return Text{reinterpret_cast<const char*>(&view) + 4, length, Encoding::utf8};
        const auto buffer = static_cast<std::size_t>(view.buffer);
        const auto offset = static_cast<std::size_t>(view.offset);
        if (view.size < 0 || view.offset < 0 || buffer >= buffers.size() ||
            offset + length > buffers[buffer].size)
            return {};
        return Text{buffers[buffer].bytes + offset, length, Encoding::utf8};
    }
};

// Tokens from Python: those of text i end at ends[rows[i]] … ends[rows[i + 1] - 1].
struct GivenTokens {
    const char* bytes;
    const std::int64_t *ends, *rows;
    std::size_t size;
};

// Python strings, found by the binding; `owner` keeps those that had to be copied.
struct Strings {
    std::vector<std::optional<Text>> texts;
    std::shared_ptr<const void> owner;
    std::size_t size = texts.size();

    std::optional<Text> text(std::size_t i) const { return texts[i]; }
};

using Chunk = std::variant<Utf8Texts, ViewedTexts, GivenTokens, Strings>;

struct Texts {
    std::vector<Chunk> chunks;
    std::vector<std::size_t> starts = {0};  // of the chunks, and the end

    void add(Chunk chunk) {
        starts.push_back(starts.back() + std::visit([](const auto& c) { return c.size; }, chunk));
        chunks.push_back(std::move(chunk));
    }

    std::size_t size() const { return starts.back(); }
};

// The first error: the text, and the position in it (or `no_text`).
struct Problem {
    static constexpr std::size_t none = static_cast<std::size_t>(-1), no_text = none - 1;

    std::size_t row = none, place = none;

    void note(std::size_t at, std::size_t where) {
        if (at < row) row = at, place = where;
    }
};

// Write the name of a token's hash bucket: # and hexadecimal digits, after a space if the token is
// a run of several words.
inline std::size_t bucket_name(std::string_view token, int bits, char* out) {
    const std::uint64_t bucket = stable_hash(token) >> (64 - bits);
    std::size_t size = 0;
    out[size++] = '#';
    if (token.find(' ') != std::string_view::npos) out[size++] = ' ';
    for (int shift = (bits - 1) / 4 * 4; shift >= 0; shift -= 4)
        out[size++] = "0123456789abcdef"[bucket >> shift & 15];
    return size;
}

// Reads texts one by one and passes on their tokens, or runs of tokens.
class Reader {
public:
    explicit Reader(const Tokenizer& how) : how_(how) {}

    // emit(bytes, size) for every token of texts begin … end - 1, and done(row) after each.
    template <class Emit, class Done, class Pause>
    Problem read(const Texts& texts, std::size_t begin, std::size_t end, const Emit& emit,
                 const Done& done, const Pause& pause) {
        if (how_.bits == 0) return read_tokens(texts, begin, end, emit, done, pause);
        const auto name_bucket = [&](const char* token, std::size_t size) {
            char name[short_word] = {};
            emit(name, bucket_name({token, size}, how_.bits, name));
        };
        return read_tokens(texts, begin, end, name_bucket, done, pause);
    }

private:
    Tokenizer how_;
    WordReader words_;
    CharacterReader characters_;
    Window window_;

    template <class Emit, class Done, class Pause>
    Problem read_tokens(const Texts& texts, std::size_t begin, std::size_t end, const Emit& emit,
                        const Done& done, const Pause& pause) {
        const auto after = std::upper_bound(texts.starts.begin(), texts.starts.end(), begin);
        auto chunk = static_cast<std::size_t>(after - texts.starts.begin()) - 1;
        for (std::size_t row = begin; row < end; ++chunk) {
            const std::size_t stop = std::min(end, texts.starts[chunk + 1]);
            const std::size_t start = texts.starts[chunk];
            Problem problem = std::visit(
                [&](const auto& source) {
                    for (; row < stop; ++row) {
                        const std::size_t place = one(source, row - start, emit, pause);
                        if (place != fine) return Problem{row, place};
                        done(row);
                    }
                    return Problem{};
                },
                texts.chunks[chunk]);
            if (problem.row != Problem::none) return problem;
        }
        return {};
    }

    template <class Source, class Emit, class Pause>
    std::size_t one(const Source& source, std::size_t i, const Emit& emit, const Pause& pause) {
        const std::optional<Text> text = source.text(i);
        if (!text) return Problem::no_text;
        if (how_.characters) return characters_.read(*text, how_, emit, pause);
        if (how_.longest == 1) return words_.read(*text, how_, emit, pause);
        window_.clear();
        const auto run = [&](const char* token, std::size_t size) {
            window_.add(token, size, how_, emit);
        };
        return words_.read(*text, how_, run, pause);
    }

    template <class Emit, class Pause>
    std::size_t one(const GivenTokens& given, std::size_t i, const Emit& emit, const Pause& pause) {
        window_.clear();
        for (auto token = given.rows[i]; token < given.rows[i + 1]; ++token) {
            if (token % 65536 == 65535 && pause()) return fine;
            const auto begin = token ? given.ends[token - 1] : 0;
            window_.add(given.bytes + begin, static_cast<std::size_t>(given.ends[token] - begin),
                        how_, emit);
        }
        return fine;
    }
};

}  // namespace genus
