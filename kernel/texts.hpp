// Texts to counts of their tokens: by class, by text, or as scores.
#pragma once

#include <cmath>

#include "moments.hpp"
#include "sources.hpp"
#include "team.hpp"
#include "words.hpp"

namespace genus {

constexpr std::size_t texts_per_block = 64;

// A thread is worth starting for this many texts.
inline std::size_t team_size(std::size_t texts, std::size_t threads) {
    return std::clamp(texts / texts_per_block, std::size_t{1}, std::max(threads, std::size_t{1}));
}

// Occurrences and documents by class and word, (K, V) each. The first word is the empty one, which
// every text contains once: its documents are all documents of the class.
struct WordCounts {
    OwnWords words;
    Buffer<double> occurrences, documents;
    Problem problem;
};

inline WordCounts count_texts(const Texts& texts, const Tokenizer& how, const Labels& labels,
                              Team& team, std::uint64_t seed) {
    const std::size_t K = labels.classes, parts = team.size();
    std::vector<Dictionary> dictionaries;
    dictionaries.reserve(parts);
    for (std::size_t part = 0; part < parts; ++part) dictionaries.emplace_back(1 + 2 * K, seed);
    std::vector<Reader> readers(parts, Reader(how));
    std::vector<Problem> problems(parts);
    Sums all(K, parts);
    team.run(texts.size(), texts_per_block,
             [&](std::size_t part, std::size_t begin, std::size_t end, const auto& pause) {
                 Dictionary& dictionary = dictionaries[part];
                 std::size_t row = begin;
                 // A record holds the last text that contained the word, and two sums for each
                 // class.
                 std::size_t at = 0;
                 double weight = 0;
                 const auto start = [&](std::size_t i) {
                     if (i >= end) return;
                     row = i;
                     at = 1 + 2 * static_cast<std::size_t>(labels.y[i]);
                     weight = labels.weight ? labels.weight[i] : 1.0;
                 };
                 const auto visit = [&](std::size_t, double* sums) {
                     const auto stamp = static_cast<double>(row + 1);  // exact up to 2⁵³
                     sums[at] += weight;
                     if (sums[0] != stamp) sums[0] = stamp, sums[at + 1] += weight;
                 };
                 const auto emit = [&](const char* token, std::size_t size) {
                     dictionary.add(token, size, visit);
                 };
                 const auto done = [&](std::size_t i) {
                     dictionary.flush(visit);
                     all[part][static_cast<std::size_t>(labels.y[i])] += weight;
                     start(i + 1);
                 };
                 start(begin);
                 const Problem problem = readers[part].read(texts, begin, end, emit, done, pause);
                 if (problem.row != Problem::none) problems[part].note(problem.row, problem.place);
             });
    WordCounts result;
    for (const Problem& problem : problems) result.problem.note(problem.row, problem.place);
    if (team.stopped() || result.problem.row != Problem::none) return result;

    dictionaries[0].add("");
    const std::vector<Candidate> sorted = sorted_words(dictionaries);
    result.words = distinct_words(sorted);
    const std::size_t V = result.words.size;
    result.occurrences = zeros<double>(K * V);
    result.documents = zeros<double>(K * V);
    for (std::size_t i = 0, v = 0; i < sorted.size(); ++i) {
        if (i && sorted[i].word != sorted[i - 1].word) ++v;
        const double* sums = dictionaries[sorted[i].part].numbers(sorted[i].number) + 1;
        for (std::size_t k = 0; k < K; ++k) {
            result.occurrences[k * V + v] += sums[2 * k];
            result.documents[k * V + v] += sums[2 * k + 1];
        }
    }
    const Buffer<double> totals = all.total();
    for (std::size_t k = 0; k < K; ++k) result.documents[k * V] = totals[k];
    return result;
}

// Texts as rows of a sparse matrix: how often (`counts`) each word (`indices`, ascending) occurs.
struct Rows {
    std::vector<std::int64_t> ends;  // of the rows
    std::vector<std::uint32_t> indices;
    std::vector<std::int32_t> counts;
};

struct EncodedTexts {
    OwnWords words;  // empty if the words were given
    Buffer<std::int64_t> starts;
    Buffer<std::int32_t> indices, counts;
    std::size_t entries = 0;
    Problem problem;
};

// The rows of all blocks, one after the other; `number(part, index)` maps each index.
template <class Number>
EncodedTexts assembled(const std::vector<Rows>& blocks, const std::vector<std::size_t>& part_of,
                       std::size_t texts, std::size_t parts, const Number& number) {
    EncodedTexts result;
    std::vector<std::size_t> start(blocks.size() + 1, 0);
    for (std::size_t b = 0; b < blocks.size(); ++b)
        start[b + 1] = start[b] + blocks[b].indices.size();
    result.entries = start.back();
    result.starts = zeros<std::int64_t>(texts + 1);
    result.indices = zeros<std::int32_t>(result.entries);
    result.counts = zeros<std::int32_t>(result.entries);
    // A row's indices and counts, packed into one number each and sorted together; threads must not
    // allocate.
    std::size_t longest = 0;
    for (const Rows& block : blocks)
        for (std::size_t i = 0; i < block.ends.size(); ++i)
            longest = std::max(
                longest, static_cast<std::size_t>(block.ends[i] - (i ? block.ends[i - 1] : 0)));
    std::vector<std::vector<std::uint64_t>> scratch(parts);
    for (auto& row : scratch) row.reserve(longest);
    parallel_for(blocks.size(), parts, [&](std::size_t part, std::size_t first, std::size_t last) {
        std::vector<std::uint64_t>& row = scratch[part];
        for (std::size_t b = first; b < last; ++b) {
            const Rows& block = blocks[b];
            std::size_t from = 0, out = start[b];
            for (std::size_t i = 0; i < block.ends.size(); ++i) {
                const auto to = static_cast<std::size_t>(block.ends[i]);
                row.clear();
                for (std::size_t e = from; e < to; ++e)
                    row.push_back(std::uint64_t{number(part_of[b], block.indices[e])} << 32 |
                                  static_cast<std::uint32_t>(block.counts[e]));
                std::sort(row.begin(), row.end());
                for (const std::uint64_t entry : row) {
                    result.indices[out] = static_cast<std::int32_t>(entry >> 32);
                    result.counts[out++] = static_cast<std::int32_t>(entry & 0xFFFFFFFFu);
                }
                result.starts[b * texts_per_block + i + 1] = static_cast<std::int64_t>(out);
                from = to;
            }
        }
    });
    return result;
}

constexpr std::int32_t most_often = 0x7FFFFFFF;

// Each text as counts of its words, and all distinct words.
inline EncodedTexts encode_texts(const Texts& texts, const Tokenizer& how, Team& team,
                                 std::uint64_t seed) {
    const std::size_t parts = team.size();
    std::vector<Dictionary> dictionaries;
    dictionaries.reserve(parts);
    for (std::size_t part = 0; part < parts; ++part) dictionaries.emplace_back(2, seed);
    std::vector<Reader> readers(parts, Reader(how));
    std::vector<Problem> problems(parts);
    const std::size_t count = (texts.size() + texts_per_block - 1) / texts_per_block;
    std::vector<Rows> blocks(count);
    std::vector<std::size_t> part_of(count);
    team.run(texts.size(), texts_per_block,
             [&](std::size_t part, std::size_t begin, std::size_t end, const auto& pause) {
                 Dictionary& dictionary = dictionaries[part];
                 Rows& rows = blocks[begin / texts_per_block];
                 part_of[begin / texts_per_block] = part;
                 std::size_t row = begin;
                 const auto visit = [&](std::size_t number, double* record) {
                     // The last text that contained the word, and the position there.
                     const auto stamp = static_cast<double>(row + 1);
                     if (record[0] != stamp) {
                         record[0] = stamp, record[1] = static_cast<double>(rows.indices.size());
                         rows.indices.push_back(static_cast<std::uint32_t>(number));
                         rows.counts.push_back(0);
                     }
                     std::int32_t& times = rows.counts[static_cast<std::size_t>(record[1])];
                     times += times < most_often;
                 };
                 const auto emit = [&](const char* token, std::size_t size) {
                     dictionary.add(token, size, visit);
                 };
                 const auto done = [&](std::size_t i) {
                     dictionary.flush(visit);
                     rows.ends.push_back(static_cast<std::int64_t>(rows.indices.size()));
                     row = i + 1;
                 };
                 const Problem problem = readers[part].read(texts, begin, end, emit, done, pause);
                 if (problem.row != Problem::none) problems[part].note(problem.row, problem.place);
             });
    Problem first;
    for (const Problem& problem : problems) first.note(problem.row, problem.place);
    EncodedTexts result;
    result.problem = first;
    if (team.stopped() || first.row != Problem::none) return result;

    const std::vector<Candidate> sorted = sorted_words(dictionaries);
    std::vector<std::vector<std::uint32_t>> numbers(parts);
    for (std::size_t part = 0; part < parts; ++part)
        numbers[part].resize(dictionaries[part].size());
    for (std::size_t i = 0, v = 0; i < sorted.size(); ++i) {
        if (i && sorted[i].word != sorted[i - 1].word) ++v;
        numbers[sorted[i].part][sorted[i].number] = static_cast<std::uint32_t>(v);
    }
    result = assembled(blocks, part_of, texts.size(), parts,
                       [&](std::size_t part, std::uint32_t i) { return numbers[part][i]; });
    result.words = distinct_words(sorted);
    return result;
}

// The numbers of known words, in batches, so that memory is fetched while others wait.
class Lookup {
public:
    explicit Lookup(const Index& index) : index_(index) {}

    // found(number) for each known token.
    template <class Found>
    GENUS_INLINE void add(const char* p, std::size_t size, const Found& found) {
        if (size > short_word) {
            const std::size_t number = index_.find({p, size});
            if (number != Index::none) found(number);
            return;
        }
        const Key key = short_key(p, size);
        const std::uint64_t hash = index_.hash(key.low, key.high);
        __builtin_prefetch(&index_.slots[index_.place(hash)]);
        waiting_[count_++] = {key, hash};
        if (count_ == batch) flush(found);
    }

    template <class Found> void flush(const Found& found) {
        for (std::size_t i = 0; i < count_; ++i) {
            const std::uint64_t slot = index_.slots[index_.place(waiting_[i].hash)];
            if (slot != Slot::empty) __builtin_prefetch(&index_.keys[Slot::number(slot)]);
        }
        for (std::size_t i = 0; i < count_; ++i) {
            const std::size_t number = index_.find(waiting_[i].key, waiting_[i].hash);
            if (number != Index::none) found(number);
        }
        count_ = 0;
    }

private:
    static constexpr std::size_t batch = 32;

    struct Waiting {
        Key key;
        std::uint64_t hash;
    };

    const Index& index_;
    Waiting waiting_[batch];
    std::size_t count_ = 0;
};

// Numbers and how often each was added. Memory grows with the distinct ones.
class Multiset {
public:
    void add(std::size_t number) {
        numbers_.push_back(std::uint64_t{number} << 32 | 1);
        if (numbers_.size() >= tidy_at_) tidy_at_ = std::max(least, 2 * tidy());
    }

    // body(number, times), ascending; afterwards it is empty.
    template <class Body> void drain(const Body& body) {
        tidy();
        for (const std::uint64_t entry : numbers_) body(entry >> 32, entry & times_of);
        numbers_.clear();
        tidy_at_ = least;
    }

private:
    static constexpr std::size_t least = 4096;
    static constexpr std::uint64_t times_of = 0xFFFFFFFFu;
    std::vector<std::uint64_t> numbers_;  // a number in the high half, its count in the low half
    std::size_t tidy_at_ = least;

    std::size_t tidy() {
        std::sort(numbers_.begin(), numbers_.end());
        std::size_t kept = 0;
        for (const std::uint64_t entry : numbers_) {
            if (kept && numbers_[kept - 1] >> 32 == entry >> 32) {
                const std::uint64_t times = (numbers_[kept - 1] & times_of) + (entry & times_of);
                numbers_[kept - 1] =
                    (entry >> 32) << 32 | std::min<std::uint64_t>(times, most_often);
            } else {
                numbers_[kept++] = entry;
            }
        }
        numbers_.resize(kept);
        return kept;
    }
};

// What each thread needs to read texts and look up their words.
struct Finder {
    Reader reader;
    Lookup lookup;
    Multiset found;
    Problem problem;
};

inline Problem first_problem(const std::vector<Finder>& finders) {
    Problem first;
    for (const Finder& finder : finders) first.note(finder.problem.row, finder.problem.place);
    return first;
}

// Each text as counts of known words; all others are left out.
inline EncodedTexts encode_known(const Texts& texts, const Tokenizer& how, const Index& index,
                                 Team& team) {
    std::vector<Finder> finders(team.size(), Finder{Reader(how), Lookup(index), {}, {}});
    const std::size_t count = (texts.size() + texts_per_block - 1) / texts_per_block;
    std::vector<Rows> blocks(count);
    const auto body = [&](std::size_t part, std::size_t begin, std::size_t end, const auto& pause) {
        Finder& finder = finders[part];
        Rows& rows = blocks[begin / texts_per_block];
        const auto keep = [&](std::size_t number) { finder.found.add(number); };
        const auto emit = [&](const char* token, std::size_t size) {
            finder.lookup.add(token, size, keep);
        };
        const auto done = [&](std::size_t) {
            finder.lookup.flush(keep);
            finder.found.drain([&](std::size_t number, std::size_t times) {
                rows.indices.push_back(static_cast<std::uint32_t>(number));
                rows.counts.push_back(static_cast<std::int32_t>(times));
            });
            rows.ends.push_back(static_cast<std::int64_t>(rows.indices.size()));
        };
        const Problem problem = finder.reader.read(texts, begin, end, emit, done, pause);
        finder.problem.note(problem.row, problem.place);
    };
    team.run(texts.size(), texts_per_block, body);
    const Problem first = first_problem(finders);
    if (team.stopped() || first.row != Problem::none) {
        EncodedTexts result;
        result.problem = first;
        return result;
    }
    return assembled(blocks, std::vector<std::size_t>(count), texts.size(), team.size(),
                     [](std::size_t, std::uint32_t i) { return i; });
}

// The value of a word that occurs n times in a text.
enum class Weighting { occurrences, once, logarithm };  // n, 1, log₂(1 + n)

inline double weigh(Weighting weighting, std::size_t times) {
    switch (weighting) {
        case Weighting::occurrences:
            return static_cast<double>(times);
        case Weighting::once:
            return 1.0;
        default:
            return std::log2(1.0 + static_cast<double>(times));
    }
}

// Σ x_v table_v / (Σ x_v)^power, (m, K), over the known words v of each text.
struct TextScores {
    Buffer<double> scores;
    Problem problem;
};

inline TextScores score_texts(const Texts& texts, const Tokenizer& how, const Index& index,
                              const double* table, std::size_t K, Weighting weighting, double power,
                              Team& team) {
    std::vector<Finder> finders(team.size(), Finder{Reader(how), Lookup(index), {}, {}});
    auto scores = zeros<double>(texts.size() * K);
    const bool directly = weighting == Weighting::occurrences && power == 0;
    const auto body = [&](std::size_t part, std::size_t begin, std::size_t end, const auto& pause) {
        Finder& finder = finders[part];
        double* out = scores.get() + begin * K;
        const auto add = [&](std::size_t number, double x) {
            for (std::size_t k = 0; k < K; ++k) out[k] += x * table[number * K + k];
        };
        const auto keep = [&](std::size_t number) {
            directly ? add(number, 1.0) : finder.found.add(number);
        };
        const auto emit = [&](const char* token, std::size_t size) {
            finder.lookup.add(token, size, keep);
        };
        const auto done = [&](std::size_t) {
            finder.lookup.flush(keep);
            double length = 0;
            finder.found.drain([&](std::size_t number, std::size_t times) {
                const double x = weigh(weighting, times);
                length += x;
                add(number, x);
            });
            if (power != 0 && length > 1) {
                const double divisor = std::pow(length, power);
                for (std::size_t k = 0; k < K; ++k) out[k] /= divisor;
            }
            out += K;
        };
        const Problem problem = finder.reader.read(texts, begin, end, emit, done, pause);
        finder.problem.note(problem.row, problem.place);
    };
    team.run(texts.size(), texts_per_block, body);
    return {std::move(scores), first_problem(finders)};
}

}  // namespace genus
