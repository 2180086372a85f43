// Gradient boosting of trees in which all nodes of a level ask the same question.
//
// CatBoost boosts such trees (Prokhorenkova et al. 2018). A tree adds to the score F (m, K) of the
// rows in a leaf
//
//     value_k = rate · Σ_i w_i g_ik / (Σ_i w_i p_ik (1 - p_ik) + ridge),   p = softmax(F),
//
// with g_ik = 1{y_i = k} - p_ik: a Newton step, shrunk. Each question is the best of some columns
// for Σ_leaves |Σ_i w_i u_i|² / (Σ_i w_i + ridge), where u are the gradients g or, if there are
// many classes, a few random sums of them (Iosipoi and Vakhrushev 2022).
//
// Symbols: m rows, K classes.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "pairs.hpp"

namespace genus {

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
    const double* share;        // (K,), with which boosting begins
    const std::uint64_t* keys;  // (columns,), which identify columns in random draws
    const std::int64_t* asked;  // (count,), the columns that questions choose from
    std::size_t count;
};

struct Limits {
    std::size_t rounds, patience, questions, tried;  // tried: columns that a question chooses from
    double rate, ridge;
};

// The trees of one fold while they grow, from the rows of the other folds.
class Boosting {
public:
    std::vector<std::uint16_t> columns, cuts;
    std::vector<double> values, weights, losses;  // losses: of the fold's own rows, tree by tree

    Boosting(const Rows& rows, const Limits& limits, std::int64_t fold)
        : in_(rows),
          limits_(limits),
          fold_(fold),
          m_(rows.cells.rows),
          K_(rows.labels.classes),
          sums_(K_ <= 2 ? 1 : std::min(K_, most_sums)),
          order_(rows.count),
          F_(m_ * K_),
          g_(m_ * K_),
          u_(m_ * (sums_ + 1)),
          leaf_(m_) {
        for (std::size_t i = 0; i < m_; ++i) {
            for (std::size_t k = 0; k < K_; ++k) F_[i * K_ + k] = std::log(in_.share[k]);
            if (in_.labels.w(i) > 0)
                (in_.fold[i] == fold ? left_out_ : taught_)
                    .push_back(static_cast<std::uint32_t>(i));
        }
        std::size_t size = 0;
        for (std::size_t j = 0; j < rows.layout.columns; ++j)
            size = std::max(size, rows.layout.size(j));
        by_cell_.resize((std::size_t{1} << (limits.questions - 1)) * size * (sums_ + 1));
        gains_.resize(size);
    }

    void grow(std::size_t trees) {
        for (std::size_t t = 0; t < trees; ++t) {
            const std::uint64_t seed =
                mixed(static_cast<std::uint64_t>(fold_) << 32 | losses.size());
            differentiate();
            project(seed);
            std::fill(leaf_.begin(), leaf_.end(), std::uint8_t{0});
            for (std::size_t l = 0; l < limits_.questions; ++l) ask(l, mixed(seed + l));
            add_values();
            losses.push_back(loss());
        }
    }

private:
    static constexpr std::size_t most_sums = 5;
    static constexpr double least = 1e-9;  // smaller gains are rounding; in a tie, the first wins

    void softmax(const double* F, double* p) const {
        double largest = F[0], total = 0;
        for (std::size_t k = 1; k < K_; ++k) largest = std::max(largest, F[k]);
        for (std::size_t k = 0; k < K_; ++k) total += p[k] = std::exp(F[k] - largest);
        for (std::size_t k = 0; k < K_; ++k) p[k] /= total;
    }

    void differentiate() {
        for (const std::uint32_t i : taught_) {
            double* g = g_.data() + i * K_;
            softmax(F_.data() + i * K_, g);
            for (std::size_t k = 0; k < K_; ++k) g[k] = (in_.labels.k(i) == k ? 1.0 : 0.0) - g[k];
        }
    }

    // u (m, sums + 1): weighted gradients, or random sums of them, and the weight.
    void project(std::uint64_t seed) {
        std::vector<double> sign(K_ * sums_);
        for (std::size_t i = 0; i < sign.size(); ++i)
            sign[i] = K_ > most_sums ? (mixed(seed ^ mixed(i)) & 1 ? 1.0 : -1.0)
                                     : (i / sums_ == i % sums_ ? 1.0 : 0.0);
        for (const std::uint32_t i : taught_) {
            double* u = u_.data() + i * (sums_ + 1);
            const double w = in_.labels.w(i);
            std::fill_n(u, sums_, 0.0);
            for (std::size_t k = 0; k < K_; ++k)
                for (std::size_t s = 0; s < sums_; ++s)
                    u[s] += sign[k * sums_ + s] * w * g_[i * K_ + k];
            u[sums_] = w;
        }
    }

    // Question l: the best cut of some columns, or of the first that can be cut at all.
    void ask(std::size_t l, std::uint64_t seed) {
        const std::size_t n = order_.size(), leaves = std::size_t{1} << l;
        for (std::size_t i = 0; i < n; ++i) {
            const auto j = static_cast<std::size_t>(in_.asked[i]);
            order_[i] = {mixed(seed ^ in_.keys[j]), j};
        }
        std::sort(order_.begin(), order_.end());
        double best = 0;
        std::size_t column = 0, cut = 0;  // all rows answer yes
        for (std::size_t i = 0; i < n && (i < limits_.tried || cut == 0); ++i) {
            const std::size_t j = order_[i].second;
            rate(j, leaves);
            for (std::size_t c = 1; c < in_.layout.size(j); ++c)
                if (gains_[c] > best * (1 + least))
                    best = gains_[c], column = j, cut = in_.layout.start(j) + c;
        }
        columns.push_back(static_cast<std::uint16_t>(column));
        cuts.push_back(static_cast<std::uint16_t>(cut));
        const Cell* cell = in_.cells(column);
        const auto bit = static_cast<std::uint8_t>(1u << l);
        for (std::size_t i = 0; i < m_; ++i) leaf_[i] |= cell[i] >= cut ? bit : 0;
    }

    // Rate all cuts of a column; W = sums + 1 is a constant for the compiler, which unrolls loops.
    void rate(std::size_t j, std::size_t leaves) {
        switch (sums_) {
            case 1:
                return rate<2>(j, leaves);
            case 3:
                return rate<4>(j, leaves);
            case 4:
                return rate<5>(j, leaves);
            default:
                return rate<most_sums + 1>(j, leaves);
        }
    }

    template <std::size_t W> void rate(std::size_t j, std::size_t leaves) {
        add_up<W>(j, leaves);
        rate_cuts<W>(in_.layout.size(j), leaves);
    }

    // The sums of u over the rows in each leaf and cell of a column, (leaves, cells, sums + 1).
    template <std::size_t W> void add_up(std::size_t j, std::size_t leaves) {
        const std::size_t first = in_.layout.start(j), size = in_.layout.size(j);
        const Cell* cell = in_.cells(j);
        std::fill_n(by_cell_.begin(), leaves * size * W, 0.0);
        for (const std::uint32_t i : taught_) {
            double* sum = by_cell_.data() + (leaf_[i] * size + cell[i] - first) * W;
            const double* u = u_.data() + i * W;
            for (std::size_t s = 0; s < W; ++s) sum[s] += u[s];
        }
    }

    // What a leaf gains by a cut, given the sums of u over all its rows and over those below the
    // cut.
    template <std::size_t W>
    double gain(const std::array<double, W>& whole, const std::array<double, W>& below) const {
        double b = 0, a = 0;
        for (std::size_t s = 0; s + 1 < W; ++s) {
            const double rest = whole[s] - below[s];
            b += below[s] * below[s], a += rest * rest;
        }
        return b / (below[W - 1] + limits_.ridge) +
               a / (whole[W - 1] - below[W - 1] + limits_.ridge);
    }

    template <std::size_t W> void rate_cuts(std::size_t size, std::size_t leaves) {
        std::fill_n(gains_.begin(), size, 0.0);
        for (std::size_t v = 0; v < leaves; ++v) {
            const double* cells = by_cell_.data() + v * size * W;
            std::array<double, W> whole{}, below{};
            for (std::size_t c = 0; c < size; ++c)
                for (std::size_t s = 0; s < W; ++s) whole[s] += cells[c * W + s];
            if (whole[W - 1] == 0) continue;
            double found = gain<W>(whole, below);
            for (std::size_t c = 1; c < size; ++c) {
                const double* own = cells + (c - 1) * W;
                if (own[W - 1] > 0) {  // most cells are empty if there are few rows
                    for (std::size_t s = 0; s < W; ++s) below[s] += own[s];
                    found = gain<W>(whole, below);
                }
                gains_[c] += found;
            }
        }
    }

    // Values are rounded to 2^-12, finer than the rows determine, so that files are small.
    void add_values() {
        const std::size_t L = std::size_t{1} << limits_.questions;
        std::vector<double> value(L * K_), curvature(L * K_), weight(L);
        for (const std::uint32_t i : taught_) {
            const double w = in_.labels.w(i);
            weight[leaf_[i]] += w;
            for (std::size_t k = 0; k < K_; ++k) {
                const double g = g_[i * K_ + k];  // p or 1 - p is |g|
                value[leaf_[i] * K_ + k] += w * g;
                curvature[leaf_[i] * K_ + k] += w * std::abs(g) * (1 - std::abs(g));
            }
        }
        // Only ratios of weights matter: in units of a power of two, their total is from 1 to 2.
        const double total = std::accumulate(weight.begin(), weight.end(), 0.0);
        const int unit = total > 0 ? std::ilogb(total) : 0;
        for (std::size_t v = 0; v < L; ++v) {
            double mean = 0;
            for (std::size_t k = 0; k < K_; ++k) {
                double& x = value[v * K_ + k];
                x *= limits_.rate / (curvature[v * K_ + k] + limits_.ridge);
                mean += x / static_cast<double>(K_);
            }
            for (std::size_t k = 0; k < K_; ++k)
                value[v * K_ + k] = std::round((value[v * K_ + k] - mean) * 4096) / 4096;
            weight[v] = static_cast<float>(std::ldexp(weight[v], -unit));
        }
        for (std::size_t i = 0; i < m_; ++i)
            for (std::size_t k = 0; k < K_; ++k) F_[i * K_ + k] += value[leaf_[i] * K_ + k];
        values.insert(values.end(), value.begin(), value.end());
        weights.insert(weights.end(), weight.begin(), weight.end());
    }

    double loss() const {
        double total = 0;
        std::vector<double> p(K_);
        for (const std::uint32_t i : left_out_) {
            softmax(F_.data() + i * K_, p.data());
            total -= in_.labels.w(i) * std::log(std::max(p[in_.labels.k(i)], 1e-300));
        }
        return total;
    }

    const Rows& in_;
    Limits limits_;
    std::int64_t fold_;
    std::size_t m_, K_, sums_;
    std::vector<std::pair<std::uint64_t, std::size_t>> order_;  // columns, in a random order
    std::vector<double> F_, g_, u_, by_cell_, gains_;
    std::vector<std::uint8_t> leaf_;
    std::vector<std::uint32_t> taught_, left_out_;
};

// Boost trees for every fold, until the folds' own rows gain nothing for `patience` rounds.
inline std::vector<Boosting> grow_trees(const Rows& rows, const Limits& limits, std::size_t folds,
                                        std::size_t threads) {
    std::vector<Boosting> found;
    for (std::size_t f = 0; f < folds; ++f)
        found.emplace_back(rows, limits, static_cast<std::int64_t>(f));
    const std::size_t parts =
        std::min(ranges(rows.cells.rows * limits.tried * limits.patience, threads), folds);
    std::vector<char> failed(parts, 0);
    double best = HUGE_VAL;
    std::size_t at = 0;
    for (std::size_t done = 0; done < limits.rounds; done += limits.patience) {
        std::atomic<std::size_t> next{0};
        parallel_for(parts, parts, [&](std::size_t part, std::size_t, std::size_t) {
            try {
                for (std::size_t f; (f = next.fetch_add(1)) < folds;)
                    found[f].grow(std::min(limits.patience, limits.rounds - done));
            } catch (const std::bad_alloc&) {
                failed[part] = 1;
            }
        });
        if (std::find(failed.begin(), failed.end(), 1) != failed.end()) throw std::bad_alloc();
        for (std::size_t t = done; t < found[0].losses.size(); ++t) {
            double loss = 0;
            for (const Boosting& own : found) loss += own.losses[t];
            if (loss < best) best = loss, at = t;
        }
        if (at + limits.patience <= found[0].losses.size()) break;
    }
    return found;
}

}  // namespace genus
