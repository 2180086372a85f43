// Trees over the cells of rows, in which all nodes of a level ask the same question: the sum of
// their values, also if some cells are unknown, and the contributions of columns to it.
//
// A row's answers to the D questions of a tree are the bits of its leaf: bit l is set if its cell
// in columns[l] is not below cuts[l]. Such trees are called oblivious (Kohavi 1994).
//
// Symbols: m rows, n columns, K classes, T trees, D questions of each, L = 2^D leaves.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "pairs.hpp"

namespace genus {

constexpr std::size_t most_questions = 8;

// Trees side by side. Cells from `unknown` on are unknown.
struct Trees {
    const std::uint16_t* columns;  // (T, D)
    const std::uint16_t* cuts;     // (T, D)
    const double* values;          // (T, L, K)
    const double* weights;         // (T, L), of the rows in each leaf
    std::size_t count, questions, K;
    Cell unknown;

    std::size_t leaves() const { return std::size_t{1} << questions; }
};

// The value of a tree if some of its questions cannot be answered: the mean over both answers,
// weighted by the rows that gave each answer when the tree grew.
class Expected {
public:
    explicit Expected(const Trees& trees) : trees_(trees), share_(trees.leaves()) {}

    // Read tree t; `add` and `table` then refer to it.
    void read(std::size_t t) {
        const std::size_t L = trees_.leaves();
        values_ = trees_.values + t * L * trees_.K;
        const double* weights = trees_.weights + t * L;
        for (std::size_t l = 0; l < trees_.questions; ++l) {
            const std::size_t step = std::size_t{1} << l;
            double no = 0, all = 0;  // of all rows
            for (std::size_t v = 0; v < L; ++v)
                no += v & step ? 0.0 : weights[v], all += weights[v];
            for (std::size_t node = 0; node < step; ++node) {
                double below = 0, whole = 0;
                for (std::size_t v = node; v < L; v += 2 * step) {
                    below += weights[v];
                    whole += weights[v] + weights[v | step];
                }
                share_[step + node] = whole > 0 ? below / whole : all > 0 ? no / all : 0.5;
            }
        }
    }

    // Add the value for a row whose answers are `bits`; those in `lost` are not known.
    void add(std::size_t bits, std::size_t lost, double* out) const {
        visit(0, 0, bits, lost, 1.0, out);
    }

    // The values (3^D, K) for all answers no, yes and not known; question 0 is the first digit.
    std::vector<double> table() const {
        const std::size_t D = trees_.questions, K = trees_.K;
        std::vector<double> now(values_, values_ + trees_.leaves() * K), next;
        for (std::size_t l = D, digits = 1; l-- > 0; digits *= 3) {
            const std::size_t step = std::size_t{1} << l, size = digits * K;
            next.resize(step * 3 * size);
            for (std::size_t node = 0; node < step; ++node) {
                const double* no = now.data() + node * size;
                const double* yes = now.data() + (node + step) * size;
                double* out = next.data() + node * 3 * size;
                const double share = share_[step + node];
                for (std::size_t i = 0; i < size; ++i) {
                    out[i] = no[i], out[size + i] = yes[i];
                    out[2 * size + i] = share * no[i] + (1 - share) * yes[i];
                }
            }
            now.swap(next);
        }
        return now;
    }

private:
    void visit(std::size_t l, std::size_t node, std::size_t bits, std::size_t lost, double weight,
               double* out) const {
        for (; l < trees_.questions; ++l) {
            const std::size_t step = std::size_t{1} << l;
            if ((lost & step) == 0) {
                node |= bits & step;
                continue;
            }
            const double share = share_[step + node];
            visit(l + 1, node | step, bits, lost, weight * (1 - share), out);
            weight *= share;
        }
        for (std::size_t k = 0; k < trees_.K; ++k) out[k] += weight * values_[node * trees_.K + k];
    }

    const Trees& trees_;
    const double* values_ = nullptr;
    std::vector<double> share_;  // by 2^l + node: of the rows at a node, the part that answers no
};

constexpr std::size_t answered = 512;  // rows whose cells stay in cache for all trees

// Set a bit where a cell is not below `least`.
GENUS_CLONES inline void mark(const Cell* __restrict cells, Cell least, std::uint16_t bit,
                              std::size_t size, std::uint16_t* __restrict bits) {
    for (std::size_t r = 0; r < size; ++r) bits[r] |= cells[r] >= least ? bit : std::uint16_t{0};
}

// Which questions of tree t some rows answer with yes, in `bits`, or cannot answer, in `lost`.
struct Answers {
    std::uint16_t bits[answered], lost[answered];

    void read(const Trees& trees, const Cells& cells, std::size_t t, std::size_t begin,
              std::size_t size) {
        std::fill_n(bits, size, std::uint16_t{0});
        for (std::size_t l = 0; l < trees.questions; ++l)
            mark(cells(trees.columns[t * trees.questions + l]) + begin,
                 trees.cuts[t * trees.questions + l], static_cast<std::uint16_t>(1u << l), size,
                 bits);
    }

    void miss(const Trees& trees, const Cells& cells, std::size_t t, std::size_t begin,
              std::size_t size) {
        std::fill_n(lost, size, std::uint16_t{0});
        for (std::size_t l = 0; l < trees.questions; ++l)
            mark(cells(trees.columns[t * trees.questions + l]) + begin, trees.unknown,
                 static_cast<std::uint16_t>(1u << l), size, lost);
    }
};

// Whether all of some cells are known.
GENUS_CLONES inline bool is_complete(const Cell* cells, std::size_t size, Cell unknown) {
    unsigned any = 0;
    for (std::size_t r = 0; r < size; ++r) any |= cells[r] >= unknown;
    return any == 0;
}

// Add the values of leaves.
GENUS_CLONES inline void add_leaves(const std::uint16_t* __restrict bits, std::size_t size,
                                    const double* __restrict values, std::size_t K,
                                    double* __restrict sum) {
    if (K == 2) {  // the compiler knows how long the loop is
        for (std::size_t r = 0; r < size; ++r)
            for (std::size_t k = 0; k < 2; ++k) sum[r * 2 + k] += values[bits[r] * 2u + k];
    } else {
        for (std::size_t r = 0; r < size; ++r)
            for (std::size_t k = 0; k < K; ++k) sum[r * K + k] += values[bits[r] * K + k];
    }
}

// The sum over trees of the values of a row's leaves, (m, K).
inline Buffer<double> sum_trees(const Trees& trees, const Cells& cells, std::size_t columns,
                                std::size_t threads) {
    auto out = zeros<double>(cells.rows * trees.K);
    const std::size_t parts = ranges(cells.rows * trees.count * 2, threads);
    const std::size_t K = trees.K, L = trees.leaves();
    std::vector<Expected> expected(parts, Expected(trees));
    std::vector<unsigned char> known(parts * columns);  // columns whose cells are all known
    parallel_for(cells.rows, parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
        Answers rows;
        for (; begin < end; begin += answered) {
            const std::size_t size = std::min(answered, end - begin);
            unsigned char* own = known.data() + part * columns;
            for (std::size_t j = 0; j < columns; ++j)
                own[j] = is_complete(cells(j) + begin, size, trees.unknown);
            for (std::size_t t = 0; t < trees.count; ++t) {
                const double* values = trees.values + t * L * K;
                double* sum = out.get() + begin * K;
                rows.read(trees, cells, t, begin, size);
                const std::uint16_t* asked = trees.columns + t * trees.questions;
                if (std::all_of(asked, asked + trees.questions, [&](auto j) { return own[j]; })) {
                    add_leaves(rows.bits, size, values, K, sum);
                    continue;
                }
                rows.miss(trees, cells, t, begin, size);
                expected[part].read(t);
                for (std::size_t r = 0; r < size; ++r, sum += K) {
                    if (rows.lost[r] != 0)
                        expected[part].add(rows.bits[r], rows.lost[r], sum);
                    else
                        add_leaves(rows.bits + r, 1, values, K, sum);
                }
            }
        }
    });
    return out;
}

// The Shapley values of columns (n, m, K) in the sum over trees: what a column adds if it becomes
// known after a random set of the others. In each tree only the columns that it asks for matter,
// so the mean over all sets is exact; rows with the same answers share it.
class Shapley {
public:
    Shapley(const Trees& trees, const Cells& cells, double* out)
        : trees_(trees),
          cells_(cells),
          out_(out),
          expected_(trees),
          place_(trees.questions),
          known_(trees.leaves() * trees.leaves()) {}

    void add(std::size_t t, std::size_t begin, std::size_t end) {
        const std::size_t D = trees_.questions, K = trees_.K;
        players_.clear();
        for (std::size_t l = 0; l < D; ++l) {
            const std::size_t column = trees_.columns[t * D + l];
            auto at = std::find(players_.begin(), players_.end(), column);
            place_[l] = static_cast<std::size_t>(at - players_.begin());
            if (at == players_.end()) players_.push_back(column);
        }
        expected_.read(t);
        const std::vector<double> table = expected_.table();
        std::fill(known_.begin(), known_.end(), 0);
        terms_.clear();
        Answers rows;
        for (; begin < end; begin += answered) {
            const std::size_t size = std::min(answered, end - begin);
            rows.read(trees_, cells_, t, begin, size);
            rows.miss(trees_, cells_, t, begin, size);
            for (std::size_t r = 0; r < size; ++r) {
                const std::size_t lost = rows.lost[r], bits = rows.bits[r] & ~lost;
                std::size_t& at = known_[bits * trees_.leaves() + lost];
                if (at == 0) solve(table, bits, lost), at = terms_.size() / (D * K);
                const double* term = terms_.data() + (at - 1) * D * K;
                for (std::size_t i = 0; i < players_.size(); ++i) {
                    double* sum = out_ + (players_[i] * cells_.rows + begin + r) * K;
                    for (std::size_t k = 0; k < K; ++k) sum[k] += term[i * K + k];
                }
            }
        }
    }

private:
    // The terms (D, K) of the tree's columns for some answers, appended.
    void solve(const std::vector<double>& table, std::size_t bits, std::size_t lost) {
        const std::size_t D = trees_.questions, K = trees_.K, P = players_.size();
        const std::size_t first = terms_.size();
        terms_.resize(first + D * K);
        std::vector<std::size_t> at(std::size_t{1} << P);  // in the table, if some are known
        for (std::size_t S = 0; S < at.size(); ++S)
            for (std::size_t l = 0; l < D; ++l) {
                const bool is_known = (S >> place_[l] & 1) && !(lost >> l & 1);
                at[S] = at[S] * 3 + (is_known ? bits >> l & 1 : 2);
            }
        for (std::size_t S = 0; S < at.size(); ++S) {
            double weight = 1.0 / static_cast<double>(P);  // |S|! (P - |S| - 1)! / P!
            const auto size = static_cast<std::size_t>(std::popcount(S));
            for (std::size_t i = 1; i <= size && size < P; ++i)
                weight *= static_cast<double>(i) / static_cast<double>(P - i);
            for (std::size_t i = 0; i < P; ++i) {
                if (S >> i & 1 || at[S] == at[S | std::size_t{1} << i]) continue;
                const double* without = table.data() + at[S] * K;
                const double* with = table.data() + at[S | std::size_t{1} << i] * K;
                double* term = terms_.data() + first + i * K;
                for (std::size_t k = 0; k < K; ++k) term[k] += weight * (with[k] - without[k]);
            }
        }
    }

    const Trees& trees_;
    const Cells& cells_;
    double* out_;
    Expected expected_;
    std::vector<std::size_t> players_, place_, known_;
    std::vector<double> terms_;
};

inline Buffer<double> explain_trees(const Trees& trees, const Cells& cells, std::size_t columns,
                                    std::size_t threads) {
    auto out = zeros<double>(columns * cells.rows * trees.K);
    const std::size_t parts = ranges(cells.rows * trees.count * 64, threads);
    std::vector<char> failed(parts, 0);
    parallel_for(cells.rows, parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
        try {
            Shapley shapley(trees, cells, out.get());
            for (std::size_t t = 0; t < trees.count; ++t) shapley.add(t, begin, end);
        } catch (const std::bad_alloc&) {
            failed[part] = 1;
        }
    });
    if (std::find(failed.begin(), failed.end(), 1) != failed.end()) throw std::bad_alloc();
    return out;
}

}  // namespace genus
