// Threads over contiguous ranges of rows, with separate sums for each thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace genus {

// A thread is worth starting (about 20 µs) for this many cells, and at least for as many as it must
// zero and add up later.
inline std::size_t ranges(std::size_t cells, std::size_t threads, std::size_t sums = 0) {
    const std::size_t worth = std::max(std::size_t{1} << 16, sums);
    return std::clamp(cells / worth, std::size_t{1}, std::max(threads, std::size_t{1}));
}

// body(part, begin, end), which must not throw, for `parts` ranges that cover [0, m).
template <class Body> void parallel_for(std::size_t m, std::size_t parts, const Body& body) {
    const auto start = [=](std::size_t part) {
        return m / parts * part + std::min(part, m % parts);
    };
    std::vector<std::thread> workers;
    workers.reserve(parts);
    for (std::size_t part = 1; part < parts; ++part) {
        try {
            workers.emplace_back(
                [&body, start, part] { body(part, start(part), start(part + 1)); });
        } catch (const std::exception&) {  // no thread is available: do its work here
            body(part, start(part), start(part + 1));
        }
    }
    body(std::size_t{0}, std::size_t{0}, start(1));
    for (auto& worker : workers) worker.join();
}

struct Free {
    void operator()(void* p) const { std::free(p); }
};
template <class T> using Buffer = std::unique_ptr<T[], Free>;

// Zeros that cost nothing until they are used, and then one page fault per 2 MB, not per 4 KB.
template <class T> Buffer<T> zeros(std::size_t size) {
    auto* p = static_cast<T*>(std::calloc(std::max(size, std::size_t{1}), sizeof(T)));
    if (!p) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    constexpr std::uintptr_t page = 4096, large = std::uintptr_t{1} << 21;
    if (size * sizeof(T) >= large) {
        const auto begin = (reinterpret_cast<std::uintptr_t>(p) + page - 1) / page * page;
        const auto end = reinterpret_cast<std::uintptr_t>(p + size) / page * page;
        madvise(reinterpret_cast<void*>(begin), end - begin,
                MADV_HUGEPAGE);  // only advice: may fail
    }
#endif
    return Buffer<T>(p);
}

// One copy of the sums for each range, added in the order of the ranges; the first is the result.
class Sums {
public:
    Sums(std::size_t size, std::size_t parts)
        : size_(size),
          parts_(parts),
          first_(zeros<double>(size)),
          others_(zeros<double>((parts - 1) * size)),
          touched_(parts, 0) {}

    double* operator[](std::size_t part) {
        return part ? others_.get() + (part - 1) * size_ : first_.get();
    }

    // Whether a range has added anything, which the range records itself.
    unsigned char& touched(std::size_t part) { return touched_[part]; }

    // The total, or null if no range has added to it: unused pages cost nothing.
    Buffer<double> total_if_touched() {
        const bool any = std::find(touched_.begin(), touched_.end(), 1) != touched_.end();
        return any ? total() : Buffer<double>();
    }

    Buffer<double> total() {
        for (std::size_t part = 1; part < parts_; ++part)
            for (std::size_t i = 0; i < size_; ++i) first_[i] += (*this)[part][i];
        return std::move(first_);
    }

private:
    std::size_t size_, parts_;
    Buffer<double> first_, others_;
    std::vector<unsigned char> touched_;
};

// The smallest flat index of an invalid value in any range; -1 for none.
class First {
public:
    explicit First(std::size_t parts) : found_(parts, none) {}

    std::size_t& operator[](std::size_t part) { return found_[part]; }

    long long index() const {
        const std::size_t least = *std::min_element(found_.begin(), found_.end());
        return least == none ? -1 : static_cast<long long>(least);
    }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::vector<std::size_t> found_;
};

}  // namespace genus
