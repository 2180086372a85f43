// The least that counting words can be: ASCII in lower case, a hash table, two counts for each class.
//
// No Unicode, no n-grams, no order, no errors, nothing that can be stopped or merged later: what
// genus adds to this loop is what its users get. Built and called by bare.py.
#include <cstdint>
#include <thread>
#include <vector>

namespace {

constexpr int most_classes = 2;

struct Word {
    std::uint64_t low = 0, high = 0;  // its first 16 bytes, which tell words of the corpus apart
    std::int64_t text = -1;           // that it was last seen in
    std::uint32_t occurrences[most_classes] = {}, documents[most_classes] = {};
};

struct Table {
    std::vector<Word> words = std::vector<Word>(1 << 19);
    std::size_t used = 0;

    Word& find(std::uint64_t low, std::uint64_t high) {
        const std::uint64_t hash = (low ^ (high * 0xC2B2AE3D27D4EB4Fu)) * 0x9E3779B97F4A7C15u;
        std::size_t at = hash >> 32 & (words.size() - 1);
        while (words[at].text >= 0 && (words[at].low != low || words[at].high != high))
            at = (at + 1) & (words.size() - 1);
        if (words[at].text < 0) words[at].low = low, words[at].high = high, ++used;
        return words[at];
    }
};

struct Letters {
    unsigned char lower[256] = {};  // 0: in no word

    Letters() {
        for (int c = '0'; c <= '9'; ++c) lower[c] = static_cast<unsigned char>(c);
        for (int c = 'a'; c <= 'z'; ++c) lower[c] = lower[c - 32] = static_cast<unsigned char>(c);
        lower[static_cast<int>('_')] = '_';
    }
};

void count(const unsigned char* bytes, const std::int64_t* offsets, const std::int64_t* y,
           std::int64_t begin, std::int64_t end, Table& table) {
    const Letters letters;
    for (std::int64_t i = begin; i < end; ++i) {
        const unsigned char *at = bytes + offsets[i], *stop = bytes + offsets[i + 1];
        while (at < stop) {
            while (at < stop && !letters.lower[*at]) ++at;
            const unsigned char* start = at;
            std::uint64_t low = 0, high = 0, c;
            for (; at < stop && at < start + 8 && (c = letters.lower[*at]); ++at)
                low |= c << 8 * (at - start);
            for (; at < stop && at < start + 16 && (c = letters.lower[*at]); ++at)
                high |= c << 8 * (at - start - 8);
            while (at < stop && letters.lower[*at]) ++at;
            if (at - start < 2) continue;
            Word& word = table.find(low, high);
            ++word.occurrences[y[i]];
            if (word.text != i) word.text = i, ++word.documents[y[i]];
        }
    }
}

}  // namespace

// The number of different words in texts i from offsets[i] to offsets[i + 1], of class y[i].
extern "C" std::int64_t count_words(const unsigned char* bytes, const std::int64_t* offsets,
                                    const std::int64_t* y, std::int64_t texts, int threads) {
    std::vector<Table> tables(static_cast<std::size_t>(threads));
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t)
        workers.emplace_back([&, t] {
            count(bytes, offsets, y, texts * t / threads, texts * (t + 1) / threads,
                  tables[static_cast<std::size_t>(t)]);
        });
    for (auto& worker : workers) worker.join();
    Table& all = tables[0];
    for (std::size_t t = 1; t < tables.size(); ++t)
        for (const Word& word : tables[t].words) {
            if (word.text < 0) continue;
            Word& sum = all.find(word.low, word.high);
            sum.text = word.text;
            for (int k = 0; k < most_classes; ++k)
                sum.occurrences[k] += word.occurrences[k], sum.documents[k] += word.documents[k];
        }
    return static_cast<std::int64_t>(all.used);
}
