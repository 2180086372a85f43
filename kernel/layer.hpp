// Newton's method for a softmax layer with shared weights: loss, gradient and curvature, as many
// derivatives as the `order` says.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "parallel.hpp"
#include "vectors.hpp"

namespace genus {

// p(k|i) = softmax_k(F_ik · w + b_k); F is (rows, K, G), θ is w and then b.
struct LayerInput {
    const double* F;
    const std::int64_t* y;
    const double* weight;
    std::size_t rows, K, G;
};

struct LayerSums {
    double loss;
    Buffer<double> gradient;   // (G + K,)
    Buffer<double> curvature;  // (G + K, G + K)
};

// A less probable class hardly changes the curvature; with many classes, most are less probable.
constexpr double NEGLIGIBLE = 1e-10;

// This many outer products are added to the curvature at a time: each of its entries is then read
// and written once for all of them.
constexpr std::size_t OUTER = 8;

// Add a aᵀ to the lower half of a matrix with rows of D numbers, for each row of `rows`, (8, G).
GENUS_CLONES inline void add_outer(const double* __restrict rows, std::size_t G,
                                   double* __restrict sums, std::size_t D) {
    for (std::size_t g = 0; g < G; ++g) {
        double own[OUTER];
        for (std::size_t r = 0; r < OUTER; ++r) own[r] = rows[r * G + g];
        for (std::size_t h = 0; h <= g; ++h) {
            double sum = 0;
            for (std::size_t r = 0; r < OUTER; ++r) sum += own[r] * rows[r * G + h];
            sums[g * D + h] += sum;
        }
    }
}

// Sums over some rows: loss, then the gradient, then the lower half of the curvature, in which
// evidence is about its mean: Σ_i weight_i Σ_k p_ik (f_ik - mean_i)(f_ik - mean_i)ᵀ.
inline void layer_rows(const LayerInput& in, const double* θ, std::size_t begin, std::size_t end,
                       int order, double* sums, double* room) {
    const std::size_t K = in.K, G = in.G, D = G + K;
    double *p = room, *mean = room + K;
    double& loss = sums[0];
    double *gradient = sums + 1, *curvature = gradient + D;
    double* centred = mean + G;  // (8, G), of which some are used
    std::size_t used = 0;
    for (std::size_t i = begin; i < end; ++i) {
        const double weight = in.weight[i];
        if (weight == 0) continue;
        const double* F = in.F + i * K * G;
        const std::size_t own = static_cast<std::size_t>(in.y[i]);
        double largest = -INFINITY;
        for (std::size_t k = 0; k < K; ++k) {
            double score = θ[G + k];
            for (std::size_t g = 0; g < G; ++g) score += F[k * G + g] * θ[g];
            p[k] = score;
            largest = std::max(largest, score);
        }
        const double mine = p[own];
        double total = 0;
        for (std::size_t k = 0; k < K; ++k) total += p[k] = std::exp(p[k] - largest);
        loss += weight * (largest + std::log(total) - mine);
        if (order < 1) continue;
        std::fill(mean, mean + G, 0.0);
        for (std::size_t k = 0; k < K; ++k) {
            p[k] /= total;
            const double *f = F + k * G, error = weight * (p[k] - (k == own));
            for (std::size_t g = 0; g < G; ++g) {
                gradient[g] += error * f[g];
                mean[g] += p[k] * f[g];
            }
            gradient[G + k] += error;
        }
        if (order < 2) continue;
        for (std::size_t k = 0; k < K; ++k) {
            const double *f = F + k * G, q = weight * p[k], root = std::sqrt(q);
            double* __restrict row = curvature + (G + k) * D;
            for (std::size_t l = 0; l <= k; ++l) row[G + l] -= q * p[l];
            row[G + k] += q;
            if (p[k] < NEGLIGIBLE) continue;
            double* __restrict about = centred + used * G;
            for (std::size_t g = 0; g < G; ++g) {
                row[g] += q * (f[g] - mean[g]);
                about[g] = root * (f[g] - mean[g]);
            }
            if (++used < OUTER) continue;
            add_outer(centred, G, curvature, D);
            used = 0;
        }
    }
    if (used == 0) return;
    std::fill(centred + used * G, centred + OUTER * G, 0.0);
    add_outer(centred, G, curvature, D);
}

// The parts in which rows are summed do not depend on the number of threads, so neither do the
// sums.
inline LayerSums layer_sums(const LayerInput& in, const double* θ, int order, std::size_t threads) {
    const std::size_t D = in.G + in.K, size = 1 + (order > 0 ? D : 0) + (order > 1 ? D * D : 0);
    const std::size_t parts = std::clamp<std::size_t>(in.rows / 256, 1, 16);
    std::vector<std::vector<double>> sums(parts, std::vector<double>(size)),
        rooms(parts, std::vector<double>(D + (order > 1 ? OUTER * in.G : 0)));
    const auto start = [&](std::size_t part) { return in.rows * part / parts; };
    const std::size_t workers = std::min(ranges(in.rows * in.K * in.G, threads), parts);
    parallel_for(parts, workers, [&](std::size_t, std::size_t first, std::size_t last) {
        for (std::size_t part = first; part < last; ++part)
            layer_rows(in, θ, start(part), start(part + 1), order, sums[part].data(),
                       rooms[part].data());
    });
    for (std::size_t part = 1; part < parts; ++part)
        for (std::size_t i = 0; i < size; ++i) sums[0][i] += sums[part][i];
    LayerSums out{sums[0][0], zeros<double>(D), zeros<double>(D * D)};
    if (order < 1) return out;
    std::copy_n(sums[0].data() + 1, D, out.gradient.get());
    if (order < 2) return out;
    for (std::size_t a = 0; a < D; ++a)
        for (std::size_t b = 0; b <= a; ++b)
            out.curvature[a * D + b] = out.curvature[b * D + a] = sums[0][1 + D + a * D + b];
    return out;
}

// The scores of K classes by G experts for rows, and what is added to their weighted sum.
struct Experts {
    const double* evidence;  // (rows, width), of which (G + 1) K are read
    std::size_t rows, width, G, K;
    const double *weights, *log_share;
    double least, doubt;
    // If scores differ by no more than this, none is cut off.
    double safe = -least - std::log(static_cast<double>(K));
    double log_sure = std::log1p(-doubt), log_doubt = std::log(std::max(doubt, 1e-300));
};

inline double log_sum_exp(const double* x, std::size_t K) {
    const double largest = *std::max_element(x, x + K);
    double total = 0;
    for (std::size_t k = 0; k < K; ++k) total += std::exp(x[k] - largest);
    return largest + std::log(total);
}

inline void weigh_row(const Experts& in, const double* evidence, double* said, double* room) {
    const std::size_t G = in.G, K = in.K;
    std::copy_n(evidence + G * K, K, said);
    for (std::size_t g = 0; g < G; ++g, evidence += K) {
        double low = INFINITY, high = -INFINITY;
        for (std::size_t k = 0; k < K; ++k) {
            room[k] = evidence[k] + in.log_share[k];
            low = std::min(low, room[k]);
            high = std::max(high, room[k]);
        }
        // Subtracting the same number from all classes changes nothing, so log Σ exp is needed only
        // if scores are cut off.
        if (high - low <= in.safe) {
            for (std::size_t k = 0; k < K; ++k) said[k] += in.weights[g] * (room[k] - high);
        } else {
            const double total = log_sum_exp(room, K);
            for (std::size_t k = 0; k < K; ++k)
                said[k] += in.weights[g] * std::max(room[k] - total, in.least);
        }
    }
    const double total = log_sum_exp(said, K);
    for (std::size_t k = 0; k < K; ++k) {
        const double own = in.log_sure + (said[k] - total - in.log_share[k]), odd = in.log_doubt;
        said[k] = std::max(own, odd) + std::log1p(std::exp(-std::abs(own - odd)));
    }
}

// log((1 - ε) p(k|x) / p(k) + ε), (rows, K), where p(k|x) is the softmax of Σ_g w_g max(log
// p_g(k|x), least) plus what is added, and p_g(k|x) is the softmax of an expert's scores plus log
// p(k).
inline Buffer<double> weigh_experts(const Experts& in, std::size_t threads) {
    auto out = zeros<double>(in.rows * in.K);
    const std::size_t parts = ranges(in.rows * in.G * in.K, threads);
    const auto rooms = zeros<double>(parts * in.K);
    parallel_for(in.rows, parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            weigh_row(in, in.evidence + i * in.width, out.get() + i * in.K,
                      rooms.get() + part * in.K);
    });
    return out;
}

}  // namespace genus
