// Trees that divide rows by their cells, one column after another, down to shares of the classes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "pairs.hpp"

namespace genus {

// A row goes to `child` if its cell in `column` is below `cut`, else to child + 1. A node whose
// child is negative is leaf -1 - child.
struct Node {
    std::int32_t column, cut, child;
};

// Trees in one array; `share` is the part of a node's weight that went to its child, and `values`
// (leaves, K) are the shares of classes. Cells from `unknown` on are unknown.
struct Trees {
    const Node* nodes;
    const double* share;
    const double* values;
    const std::int64_t* starts;  // (count + 1), the first node of each tree
    std::size_t count, K;
    Cell unknown;
};

inline std::uint64_t mixed(std::uint64_t x) {  // splitmix64 (Steele et al. 2014)
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// The rows to grow trees from: their cells, numbered consecutively over the columns, and classes.
struct Rows {
    Cells cells;
    Layout layout;
    Labels labels;
    const std::int64_t* fold;
    const double* share;        // (K,), towards which the shares of a root are shrunk
    const std::uint64_t* keys;  // (columns,), which identify columns in random draws
};

struct Limits {
    std::size_t trees, leaves, tried;  // tried: columns that a node chooses from
};

// A tree while it grows, best leaf first, until it has enough leaves.
class Growing {
public:
    std::vector<Node> nodes;
    std::vector<double> share, values;

    Growing(const Rows& rows, const Limits& limits)
        : in_(rows),
          limits_(limits),
          K_(rows.labels.classes),
          columns_(rows.layout.columns),
          left_(K_),
          right_(K_) {}

    // Tree `number`, from rows of all folds but one.
    void grow(std::size_t number, std::int64_t left_out) {
        nodes.clear(), share.clear(), values.clear(), grown_.clear(), p_.clear(), rows_.clear();
        for (std::size_t i = 0; i < in_.cells.rows; ++i)
            if (in_.fold[i] != left_out && in_.labels.w(i) > 0)
                rows_.push_back(static_cast<std::uint32_t>(i));
        sorted_.resize(rows_.size());
        add(0, rows_.size(), mixed(number), in_.share);
        for (std::size_t leaves = 1; leaves < limits_.leaves && !waiting_.empty(); ++leaves) {
            const std::size_t parent = waiting_.top().second.second;
            waiting_.pop();
            divide(parent);
        }
        while (!waiting_.empty()) waiting_.pop();
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (nodes[i].child >= 0) continue;
            nodes[i].child = -1 - static_cast<std::int32_t>(values.size() / K_);
            values.insert(values.end(), p_.begin() + i * K_, p_.begin() + (i + 1) * K_);
        }
    }

private:
    struct Grown {
        std::size_t begin, end;
        std::uint64_t seed;
        double gain = 0, total = 0, below = 0;
        std::int32_t column = 0, cut = 0;
    };

    // A leaf of rows [begin, end), queued to be divided if that has a gain.
    void add(std::size_t begin, std::size_t end, std::uint64_t seed, const double* parent) {
        Grown own{begin, end, seed};
        std::vector<double> counts(K_);
        for (std::size_t r = begin; r < end; ++r)
            counts[in_.labels.k(rows_[r])] += in_.labels.w(rows_[r]);
        for (const double c : counts) own.total += c;
        const std::size_t at = nodes.size();
        const std::vector<double> above(parent, parent + K_);  // `p_` may move
        for (std::size_t k = 0; k < K_; ++k) p_.push_back((counts[k] + above[k]) / (own.total + 1));
        search(own, counts);
        nodes.push_back({0, 0, -1});
        share.push_back(0);
        grown_.push_back(own);
        if (own.gain > 0)
            waiting_.push({static_cast<float>(own.gain), {-static_cast<double>(at), at}});
    }

    void divide(std::size_t at) {
        const Grown own = grown_[at];
        const Cell* cell = in_.cells(static_cast<std::size_t>(own.column));
        const auto middle =
            std::stable_partition(rows_.begin() + own.begin, rows_.begin() + own.end,
                                  [&](std::uint32_t row) { return cell[row] < own.cut; });
        const std::size_t m = static_cast<std::size_t>(middle - rows_.begin());
        nodes[at] = {own.column, own.cut, static_cast<std::int32_t>(nodes.size())};
        share[at] = own.below / own.total;
        add(own.begin, m, mixed(own.seed), p_.data() + at * K_);
        add(m, own.end, mixed(~own.seed), p_.data() + at * K_);
    }

    // The best of some columns, or of all if none of these divides the rows.
    void search(Grown& own, const std::vector<double>& counts) {
        double squares = 0;
        for (const double c : counts) squares += c * c;
        if (own.end - own.begin < 2 || squares >= own.total * own.total * (1 - least)) return;
        for (std::size_t j = 0; j < columns_.size(); ++j)
            columns_[j] = {mixed(own.seed ^ in_.keys[j]), j};
        std::sort(columns_.begin(), columns_.end());
        for (std::size_t i = 0; i < columns_.size() && (i < limits_.tried || own.gain == 0); ++i)
            sweep(own, columns_[i].second, counts, squares);
    }

    // Gini's gain, Σ_k L_k²/L + R_k²/R - T_k²/T, of every cut of a column.
    void sweep(Grown& own, std::size_t j, const std::vector<double>& counts, double squares) {
        sort(own, j);
        const Cell* cell = in_.cells(j);
        std::fill(left_.begin(), left_.end(), 0.0);
        std::copy(counts.begin(), counts.end(), right_.begin());
        double L = 0, below = 0, above = squares;
        for (std::size_t r = own.begin; r < own.end; ++r) {
            const std::uint32_t row = sorted_[r];
            const double w = in_.labels.w(row);
            double &l = left_[in_.labels.k(row)], &o = right_[in_.labels.k(row)];
            below += w * (2 * l + w), l += w;
            above -= w * (2 * o - w), o -= w;
            L += w;
            if (r + 1 == own.end || cell[sorted_[r + 1]] == cell[row]) continue;
            const double gain = below / L + above / (own.total - L) - squares / own.total;
            if (gain > std::max(own.gain * (1 + least), own.total * least)) {
                own.gain = gain, own.below = L;
                own.column = static_cast<std::int32_t>(j), own.cut = cell[sorted_[r + 1]];
            }
        }
    }

    // Sort the rows of a node by a column's cells.
    void sort(const Grown& own, std::size_t j) {
        const Cell* cell = in_.cells(j);
        const std::size_t first = in_.layout.start(j), size = in_.layout.size(j);
        if (own.end - own.begin < size / 4) {
            std::copy(rows_.begin() + own.begin, rows_.begin() + own.end,
                      sorted_.begin() + own.begin);
            std::sort(sorted_.begin() + own.begin, sorted_.begin() + own.end,
                      [&](std::uint32_t a, std::uint32_t b) {
                          return std::pair(cell[a], a) < std::pair(cell[b], b);
                      });
            return;
        }
        ends_.assign(size + 1, 0);
        for (std::size_t r = own.begin; r < own.end; ++r) ++ends_[cell[rows_[r]] - first + 1];
        for (std::size_t s = 0; s < size; ++s) ends_[s + 1] += ends_[s];
        for (std::size_t r = own.begin; r < own.end; ++r)
            sorted_[own.begin + ends_[cell[rows_[r]] - first]++] = rows_[r];
    }

    static constexpr double least = 1e-9;  // smaller gains are rounding; in a tie, the first wins

    const Rows& in_;
    const Limits& limits_;
    std::size_t K_;
    std::vector<std::pair<std::uint64_t, std::size_t>> columns_;  // in a random order
    std::vector<std::uint32_t> rows_, sorted_;
    std::vector<std::size_t> ends_;
    std::vector<double> left_, right_, p_;
    std::vector<Grown> grown_;
    std::priority_queue<std::pair<float, std::pair<double, std::size_t>>> waiting_;
};

struct Forest {
    std::vector<Node> nodes;
    std::vector<double> share, values;
    std::vector<std::int64_t> starts{0};
};

// Grow `trees` for every fold, from the rows of the other folds, in the order of the folds.
inline Forest grow_trees(const Rows& rows, const Limits& limits, std::size_t folds,
                         std::size_t threads) {
    const std::size_t count = limits.trees * folds;
    std::vector<Growing> trees(count, Growing(rows, limits));
    const std::size_t parts = std::min(ranges(rows.cells.rows * limits.tried * count, threads),
                                       std::max(count, std::size_t{1}));
    std::atomic<std::size_t> next{0};
    std::vector<char> failed(parts, 0);
    parallel_for(parts, parts, [&](std::size_t part, std::size_t, std::size_t) {
        try {
            for (std::size_t t; (t = next.fetch_add(1)) < count;) {
                Growing own(rows, limits);
                own.grow(t, static_cast<std::int64_t>(t / limits.trees));
                trees[t].nodes = std::move(own.nodes);
                trees[t].share = std::move(own.share);
                trees[t].values = std::move(own.values);
            }
        } catch (const std::bad_alloc&) {
            failed[part] = 1;
        }
    });
    if (std::find(failed.begin(), failed.end(), 1) != failed.end()) throw std::bad_alloc();
    Forest forest;
    for (const Growing& tree : trees) {
        const auto node = static_cast<std::int32_t>(forest.nodes.size());
        const auto leaf = static_cast<std::int32_t>(forest.values.size() / rows.labels.classes);
        for (Node own : tree.nodes) {
            own.child += own.child < 0 ? -leaf : node;
            forest.nodes.push_back(own);
        }
        forest.share.insert(forest.share.end(), tree.share.begin(), tree.share.end());
        forest.values.insert(forest.values.end(), tree.values.begin(), tree.values.end());
        forest.starts.push_back(static_cast<std::int64_t>(forest.nodes.size()));
    }
    return forest;
}

// Add the shares of a row's leaf; if a cell is unknown, those of both sides.
inline void add_leaves(const Trees& trees, const Cells& cells, std::size_t row, std::size_t node,
                       double weight, double* out) {
    for (;;) {
        const Node own = trees.nodes[node];
        if (own.child < 0) {
            const double* value = trees.values + static_cast<std::size_t>(-1 - own.child) * trees.K;
            for (std::size_t k = 0; k < trees.K; ++k) out[k] += weight * value[k];
            return;
        }
        const Cell cell = cells(static_cast<std::size_t>(own.column))[row];
        const auto child = static_cast<std::size_t>(own.child);
        if (cell < trees.unknown) {
            node = child + (cell >= own.cut);
            continue;
        }
        add_leaves(trees, cells, row, child + 1, weight * (1 - trees.share[node]), out);
        weight *= trees.share[node];
        node = child;
    }
}

// A node in 8 bytes. A leaf leads to itself: its column is one more, in which every cell is 0.
struct Step {
    std::uint16_t column, cut;
    std::int32_t next;
};

inline std::vector<Step> steps(const Trees& trees, std::size_t columns) {
    std::vector<Step> found(static_cast<std::size_t>(trees.starts[trees.count]));
    for (std::size_t i = 0; i < found.size(); ++i) {
        const Node own = trees.nodes[i];
        found[i] = own.child < 0
                       ? Step{static_cast<std::uint16_t>(columns), 1, static_cast<std::int32_t>(i)}
                       : Step{static_cast<std::uint16_t>(own.column),
                              static_cast<std::uint16_t>(std::clamp(own.cut, 0, 65535)), own.child};
    }
    return found;
}

// Several rows that go down a tree side by side, so that none waits for the memory that another
// reads. `cells` (count, width) are theirs.
struct Descent {
    static constexpr std::size_t count = 8;
    static constexpr int at_once = 4;  // steps until it is asked whether all rows are done
    std::int32_t node[count];
    unsigned lost[count];  // whether an unknown cell was met

    void go_down(const Step* steps, std::int32_t root, const Cell* cells, std::size_t width,
                 Cell unknown) {
        std::fill_n(node, count, root);
        std::fill_n(lost, count, 0u);
        for (std::int32_t moved = 1; moved != 0;) {
            for (int i = 0; i < at_once; ++i) {
                moved = 0;
                for (std::size_t l = 0; l < count; ++l) {
                    const Step own = steps[node[l]];
                    const Cell cell = cells[l * width + own.column];
                    const std::int32_t next = own.next + (cell >= own.cut);
                    lost[l] |= cell >= unknown;
                    moved |= next ^ node[l];
                    node[l] = next;
                }
            }
        }
    }
};

// The mean over trees of the shares of classes, (rows, K).
inline Buffer<double> average_trees(const Trees& trees, const Cells& cells, std::size_t columns,
                                    std::size_t threads) {
    constexpr std::size_t block = 256;  // rows whose cells stay in cache for all trees
    auto out = zeros<double>(cells.rows * trees.K);
    const double weight = 1.0 / static_cast<double>(std::max(trees.count, std::size_t{1}));
    const std::size_t parts = ranges(cells.rows * trees.count * 8, threads);
    const bool few = cells.rows < block || columns > 65534;  // too few to prepare steps for
    const std::size_t width = columns + 1;
    const std::vector<Step> nodes = few ? std::vector<Step>() : steps(trees, columns);
    std::vector<Cell> copies(few ? 0 : parts * block * width);
    parallel_for(cells.rows, parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
        Cell* own = copies.data() + part * block * width;  // row by row
        for (; begin < end; begin += block) {
            const std::size_t size = std::min(block, end - begin);
            const std::size_t side_by_side = few ? 0 : size - size % Descent::count;
            for (std::size_t j = 0; j < columns; ++j)
                for (std::size_t r = 0; r < side_by_side; ++r)
                    own[r * width + j] = cells(j)[begin + r];
            for (std::size_t t = 0; t < trees.count; ++t) {
                const auto root = static_cast<std::size_t>(trees.starts[t]);
                for (std::size_t r = 0; r < side_by_side; r += Descent::count) {
                    Descent rows;
                    rows.go_down(nodes.data(), static_cast<std::int32_t>(root), own + r * width,
                                 width, trees.unknown);
                    for (std::size_t l = 0; l < Descent::count; ++l) {
                        const std::size_t row = begin + r + l;
                        const auto node = static_cast<std::size_t>(rows.node[l]);
                        add_leaves(trees, cells, row, rows.lost[l] != 0 ? root : node, weight,
                                   out.get() + row * trees.K);
                    }
                }
                for (std::size_t r = side_by_side; r < size; ++r)
                    add_leaves(trees, cells, begin + r, root, weight,
                               out.get() + (begin + r) * trees.K);
            }
        }
    });
    return out;
}

// The same for only the first s = 1, 2, … columns of an order, (s, rows, K). Column j is known from
// step rank[j] on. At step s a leaf has the weight w_s: the product of the shares of all nodes
// above it whose column is still unknown, and zero from the step on at which the row takes another
// branch. The nodes below a node are replaced by their mean, `expected`, while none of their
// columns is known, and where their weight is below `least` of the possible.
class InOrder {
public:
    InOrder(const Trees& trees, const Cells& cells, const std::int64_t* rank, std::size_t steps,
            double least)
        : trees_(trees), cells_(cells), rank_(rank), steps_(steps), least_(least) {
        const auto N = static_cast<std::size_t>(trees.starts[trees.count]);
        first_.assign(N, static_cast<std::uint32_t>(steps));
        expected_.assign(N * trees.K, 0.0);
        for (std::size_t i = N; i-- > static_cast<std::size_t>(trees.starts[0]);) {
            const Node own = trees.nodes[i];
            double* mean = expected_.data() + i * trees.K;
            if (own.child < 0) {
                std::copy_n(trees.values + static_cast<std::size_t>(-1 - own.child) * trees.K,
                            trees.K, mean);
                continue;
            }
            const auto child = static_cast<std::size_t>(own.child);
            const auto known = static_cast<std::uint32_t>(
                std::min(static_cast<std::size_t>(rank[own.column]), steps));
            first_[i] = std::min({known, first_[child], first_[child + 1]});
            for (std::size_t k = 0; k < trees.K; ++k)
                mean[k] = trees.share[i] * expected_[child * trees.K + k] +
                          (1 - trees.share[i]) * expected_[(child + 1) * trees.K + k];
        }
    }

    // Sums for one row, (steps, K), with room for the weights of all nodes on the path.
    void add(std::size_t row, std::vector<double>& weights, double* sums) const {
        std::fill_n(weights.begin(), steps_, 1.0);
        for (std::size_t t = 0; t < trees_.count; ++t)
            visit({row, weights, sums}, static_cast<std::size_t>(trees_.starts[t]), 0, 0, steps_,
                  least_);
    }

private:
    struct Sums {
        std::size_t row;
        std::vector<double>& weights;
        double* of_steps;
    };

    // The weights of a node begin at `at`, for the steps from `begin` to before `end`; they never
    // decrease from step to step.
    void visit(const Sums& out, std::size_t node, std::size_t at, std::size_t begin,
               std::size_t end, double least) const {
        const Node own = trees_.nodes[node];
        const std::size_t K = trees_.K;
        const double* mean = expected_.data() + node * K;
        for (; begin < end && (begin < first_[node] || out.weights[at + begin] < least); ++begin)
            for (std::size_t k = 0; k < K; ++k)
                out.of_steps[begin * K + k] += out.weights[at + begin] * mean[k];
        if (begin >= end) return;
        const auto j = static_cast<std::size_t>(own.column);
        const Cell cell = cells_(j)[out.row];
        const bool known = cell < trees_.unknown;
        const auto since = known ? static_cast<std::size_t>(rank_[j]) : steps_;
        const std::size_t open = std::min(since, end);  // before this step both sides are possible
        const std::size_t next = at + steps_;
        if (out.weights.size() < next + steps_) out.weights.resize(2 * (next + steps_));
        for (const bool above : {false, true}) {
            const double part = above ? 1 - trees_.share[node] : trees_.share[node];
            const bool follows = known && (cell >= own.cut) == above;
            const std::size_t last = follows ? end : open;
            if (begin >= last) continue;
            for (std::size_t s = begin; s < last; ++s)
                out.weights[next + s] = out.weights[at + s] * (s < open ? part : 1.0);
            const double limit = known ? least : least * part;  // of unknown rows
            visit(out, static_cast<std::size_t>(own.child) + above, next, begin, last, limit);
        }
    }

    const Trees& trees_;
    const Cells& cells_;
    const std::int64_t* rank_;
    std::size_t steps_;
    double least_;
    std::vector<std::uint32_t> first_;  // the first step at which a column below a node is known
    std::vector<double> expected_;
};

inline Buffer<double> average_trees_in_order(const Trees& trees, const Cells& cells,
                                             const std::int64_t* rank, std::size_t steps,
                                             double least, std::size_t threads) {
    const std::size_t size = steps * trees.K;
    auto out = zeros<double>(size * cells.rows);
    const InOrder in(trees, cells, rank, steps, least);
    const double count = static_cast<double>(std::max(trees.count, std::size_t{1}));
    const std::size_t parts = ranges(cells.rows * trees.count * 64, threads);
    std::vector<char> failed(parts, 0);
    parallel_for(cells.rows, parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
        try {
            std::vector<double> weights(steps), sums;
            for (std::size_t row = begin; row < end; ++row) {
                sums.assign(size, 0.0);
                in.add(row, weights, sums.data());
                for (std::size_t s = 0; s < steps; ++s)
                    for (std::size_t k = 0; k < trees.K; ++k)
                        out[(s * cells.rows + row) * trees.K + k] = sums[s * trees.K + k] / count;
            }
        } catch (const std::bad_alloc&) {
            failed[part] = 1;
        }
    });
    if (std::find(failed.begin(), failed.end(), 1) != failed.end()) throw std::bad_alloc();
    return out;
}

}  // namespace genus
