// Processor-specific helpers for the hot loops.
#pragma once

#include <cstddef>
#include <cstring>

// One binary for every x86-64: the loader picks the widest version that the machine supports.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(GENUS_SANITIZE) && \
    (defined(__clang__) ? __clang_major__ >= 17 : __GNUC__ >= 12)
#define GENUS_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define GENUS_CLONES
#endif

// Helpers of a cloned function must be inlined to be compiled for its processor.
#define GENUS_INLINE inline __attribute__((always_inline))

namespace genus {

template <std::size_t W> struct Lanes {
    typedef double type __attribute__((vector_size(W * sizeof(double))));
};
template <> struct Lanes<1> {
    using type = double;
};

template <std::size_t W> GENUS_INLINE typename Lanes<W>::type load_lanes(const double* p) {
    typename Lanes<W>::type v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

template <std::size_t W> GENUS_INLINE void store_lanes(double* p, typename Lanes<W>::type v) {
    std::memcpy(p, &v, sizeof v);
}

// Calls body<W>(k) so that the ranges [k, k + W) cover [0, K): 10 = 8 + 2.
template <class Body> GENUS_INLINE void for_lanes(std::size_t K, const Body& body) {
    std::size_t k = 0;
    for (; k + 8 <= K; k += 8) body.template operator()<8>(k);
    if (k + 4 <= K) body.template operator()<4>(k), k += 4;
    if (k + 2 <= K) body.template operator()<2>(k), k += 2;
    if (k < K) body.template operator()<1>(k);
}

}  // namespace genus
