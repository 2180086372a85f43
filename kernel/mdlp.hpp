// Where to cut an ordered column into bins: Fayyad and Irani's minimum description length.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace genus {

// Σ c log2 c of the counts of some cells, by class, and their sum.
struct Entropy {
    double total = 0, sum = 0;
    std::size_t classes = 0;

    void add(double count) {
        if (count <= 1e-9) return;  // zero, or the rounding error of a difference of sums
        total += count;
        sum += count * std::log2(count);
        ++classes;
    }
    // n H = n log2 n - Σ c log2 c
    double bits() const { return total > 0 ? total * std::log2(total) - sum : 0; }
};

// The cells before which to cut, ascending, among V ordered cells; counts are (V, K).
inline std::vector<std::int64_t> mdlp(const double* counts, std::size_t V, std::size_t K) {
    std::vector<double> below((V + 1) * K, 0.0);
    for (std::size_t v = 0; v < V; ++v)
        for (std::size_t k = 0; k < K; ++k)
            below[(v + 1) * K + k] = below[v * K + k] + counts[v * K + k];
    const auto entropy = [&](std::size_t from, std::size_t to) {
        Entropy e;
        for (std::size_t k = 0; k < K; ++k) e.add(below[to * K + k] - below[from * K + k]);
        return e;
    };
    std::vector<std::int64_t> cuts;
    std::vector<std::pair<std::size_t, std::size_t>> pending{{0, V}};
    while (!pending.empty()) {
        const auto [start, end] = pending.back();
        pending.pop_back();
        if (end - start < 2) continue;
        const Entropy both = entropy(start, end);
        const double tie = 1e-9 * both.total;  // rounding must not decide between cuts
        double least = INFINITY;
        std::size_t cut = 0;
        for (std::size_t v = start + 1; v < end; ++v) {
            const double mixed = entropy(start, v).bits() + entropy(v, end).bits();
            if (mixed < least - tie) least = mixed, cut = v;
        }
        const Entropy left = entropy(start, cut), right = entropy(cut, end);
        const double n = both.total;
        if (!(n > 1 && left.total > 0 && right.total > 0)) continue;
        const auto k = static_cast<double>(both.classes), k1 = static_cast<double>(left.classes),
                   k2 = static_cast<double>(right.classes);
        // log2(3^k - 2), which would overflow for many classes if computed directly
        const double choices =
            k * std::log2(3.0) + std::log1p(-2.0 * std::pow(3.0, -k)) / std::log(2.0);
        const double price = choices - (k * both.bits() / n - k1 * left.bits() / left.total -
                                        k2 * right.bits() / right.total);
        if (both.bits() - least > std::log2(n - 1) + price + tie) {
            cuts.push_back(static_cast<std::int64_t>(cut));
            pending.push_back({start, cut});
            pending.push_back({cut, end});
        }
    }
    std::sort(cuts.begin(), cuts.end());
    return cuts;
}

}  // namespace genus
