// Log-odds of lessons by the counts without their own block; see genus/mail/judgement.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace genus::blocks {

constexpr std::size_t ahead = 16;  // tokens from the current one to the one that is prefetched

// Lessons, whose tokens are rows of counts; the tokens of a lesson follow those of the one before.
struct Lessons {
    const std::uint32_t* rows;
    const std::int64_t *sizes, *block;  // (m,); negative for no block
    const std::int64_t* spam;           // (m,) 0 or 1
    const double* weight;               // (m,)
    std::size_t size;
};

// Tokens, ascending, with the counts of ham and spam in all lessons (k, 2), and the same for the
// starting examples. The low 4 bits of a token are its group; tokens beyond the number of groups
// belong to the last one.
struct Counts {
    const std::uint32_t* tokens;
    const std::int64_t* lessons;
    std::size_t size;
    const std::uint32_t* examples;
    const double* in_examples;
    std::size_t number_of_examples, groups;
};

// The numbers of ham and spam messages, the same for the examples, the weight of a message, and λ.
struct Scale {
    double messages[2], examples[2], unit, pseudo;
};

// The sum of log-odds and the number of tokens by group, (m, groups), and the number of tokens that
// no other lesson holds.
struct Evidence {
    std::vector<double> sums, numbers, fresh;
};

inline Evidence without_block(const Lessons& lessons, const Counts& counts, const Scale& scale) {
    const std::size_t m = lessons.size, G = counts.groups;
    Evidence found{std::vector<double>(m * G), std::vector<double>(m * G), std::vector<double>(m)};
    std::vector<std::size_t> start(m), order;
    for (std::size_t i = 0, at = 0; i < m; at += static_cast<std::size_t>(lessons.sizes[i++])) {
        start[i] = at;
        if (lessons.block[i] >= 0) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return lessons.block[a] < lessons.block[b];
    });
    // The data of a token, close together in memory: its counts in the block (whole weights add up
    // exactly in floats), its position among the examples plus one, and its group.
    struct Row {
        float own[2];
        std::uint32_t example : 28, group : 4;
    };
    std::vector<Row> rows(counts.size);
    for (std::size_t row = 0, at = 0; row < counts.size; ++row) {
        rows[row].group = std::min<std::size_t>(counts.tokens[row] & 15, G - 1) & 15;
        while (at < counts.number_of_examples && counts.examples[at] < counts.tokens[row]) ++at;
        if (at < counts.number_of_examples && counts.examples[at] == counts.tokens[row])
            rows[row].example = static_cast<std::uint32_t>(at + 1) & 0xFFFFFFF;
    }
    // Call a function with each row of a lesson. Rows are anywhere in memory, so prefetch them.
    const auto each_row = [&](std::size_t i, const auto& work) {
        const auto size = static_cast<std::size_t>(lessons.sizes[i]);
        const std::uint32_t* row = lessons.rows + start[i];
        for (std::size_t t = 0; t < size; ++t) {
            if (t + ahead < size) {
                __builtin_prefetch(&rows[row[t + ahead]]);
                __builtin_prefetch(counts.lessons + 2 * std::size_t{row[t + ahead]});
            }
            work(std::size_t{row[t]});
        }
    };
    const auto add_own = [&](std::size_t i, double sign) {
        const auto by = static_cast<float>(sign * lessons.weight[i]);
        each_row(i, [&](std::size_t row) { rows[row].own[lessons.spam[i]] += by; });
    };
    for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
        double messages[2] = {scale.messages[0], scale.messages[1]};
        const std::int64_t block = lessons.block[order[first]];
        for (; last < order.size() && lessons.block[order[last]] == block; ++last) {
            add_own(order[last], 1);
            messages[lessons.spam[order[last]]] -= lessons.weight[order[last]] / scale.unit;
        }
        const double examples = scale.examples[0] + scale.examples[1];
        for (double& each : messages) each = std::max(each, 0.0);
        const double share = examples / (examples + 2 * std::min(messages[0], messages[1]));
        for (int c = 0; c < 2; ++c) messages[c] += share * scale.examples[c];
        const double unit[2] = {scale.unit * std::max(messages[0], 1.0),
                                scale.unit * std::max(messages[1], 1.0)};
        const double epsilon = 2 * scale.pseudo / std::max(messages[0] + messages[1], 1.0);
        for (std::size_t j = first; j < last; ++j) {
            const std::size_t i = order[j];
            each_row(i, [&](std::size_t row) {
                const std::size_t example = rows[row].example;
                double rate[2];
                bool is_held = false, is_known = false;
                for (std::size_t c = 0; c < 2; ++c) {
                    // Lessons may have been forgotten since they were read.
                    double count = std::max(
                        static_cast<double>(counts.lessons[2 * row + c]) - rows[row].own[c], 0.0);
                    is_held |= count != 0;
                    if (example > 0)
                        count += counts.in_examples[2 * (example - 1) + c] * share * scale.unit;
                    is_known |= count != 0;
                    rate[c] = count / unit[c] + epsilon;
                }
                const std::size_t cell = i * G + rows[row].group;
                if (is_known) found.sums[cell] += std::log(rate[1] / rate[0]);
                found.numbers[cell] += 1;
                found.fresh[i] += !is_held;
            });
        }
        for (std::size_t j = first; j < last; ++j) add_own(order[j], -1);
    }
    return found;
}

}  // namespace genus::blocks
