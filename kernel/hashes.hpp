// Hashes that are the same on every machine, which identify the rows of a sample.
#pragma once

#include "texts.hpp"

namespace genus {

// The token's key in a sample: the high half of its hash, whose lowest bit marks a run of several
// words.
inline std::uint32_t token_of(std::string_view word) {
    const auto high = static_cast<std::uint32_t>(stable_hash(word) >> 32);
    return (high & ~1u) | (word.find(' ') != std::string_view::npos);
}

// The sum of the mixed keys of each text's tokens, which is equal for texts with equal tokens.
struct TextHashes {
    Buffer<std::uint64_t> hashes;
    Problem problem;
};

inline TextHashes hash_texts(const Texts& texts, const Tokenizer& how, Team& team) {
    TextHashes result{zeros<std::uint64_t>(texts.size()), {}};
    std::vector<Reader> readers(team.size(), Reader(how));
    std::vector<Problem> problems(team.size());
    team.run(texts.size(), texts_per_block,
             [&](std::size_t part, std::size_t begin, std::size_t end, const auto& pause) {
                 std::uint64_t sum = 0;
                 const auto emit = [&](const char* token, std::size_t size) {
                     sum += mix(token_of({token, size}));
                 };
                 const auto done = [&](std::size_t i) { result.hashes[i] = std::exchange(sum, 0); };
                 const Problem problem = readers[part].read(texts, begin, end, emit, done, pause);
                 if (problem.row != Problem::none) problems[part].note(problem.row, problem.place);
             });
    for (const Problem& problem : problems) result.problem.note(problem.row, problem.place);
    return result;
}

}  // namespace genus
