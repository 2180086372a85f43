// Threads that take blocks of work one after the other, and stop on request.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace genus {

// Work on rows in blocks that threads take one after the other. The first thread regularly asks
// whether to stop (`interrupted`), and continues to ask while the others finish.
class Team {
public:
    Team(std::size_t threads, bool (*interrupted)())
        : threads_(threads), interrupted_(interrupted) {}

    std::size_t size() const { return threads_; }

    bool stopped() const { return stop_; }

    // body(part, begin, end, pause) for blocks that cover [0, m); rethrows the first exception.
    template <class Body> void run(std::size_t m, std::size_t block, const Body& body) {
        std::atomic<std::size_t> next = 0;
        std::vector<std::exception_ptr> thrown(threads_);
        const auto work = [&](std::size_t part, const auto& pause) {
            try {
                for (std::size_t begin; !stop_ && (begin = next.fetch_add(block)) < m;) {
                    body(part, begin, std::min(begin + block, m), pause);
                    if (pause()) break;
                }
            } catch (...) {
                thrown[part] = std::current_exception();
                stop_ = true;
            }
        };
        std::mutex mutex;
        std::condition_variable finished;
        std::size_t running = 0;
        std::vector<std::thread> workers;
        for (std::size_t part = 1; part < threads_; ++part) {
            try {
                workers.emplace_back([&, part] {
                    work(part, [&] { return stop_.load(); });
                    const std::lock_guard lock(mutex);
                    --running;
                    finished.notify_one();
                });
                const std::lock_guard lock(mutex);
                ++running;
            } catch (const std::exception&) {
                break;  // no thread is available: the others do its work
            }
        }
        work(0, [&] { return ask(); });
        while (!workers.empty()) {
            std::unique_lock lock(mutex);
            if (running == 0) break;
            finished.wait_for(lock, std::chrono::milliseconds(50));
            lock.unlock();
            ask();
        }
        for (auto& worker : workers) worker.join();
        for (const auto& exception : thrown)
            if (exception) std::rethrow_exception(exception);
    }

private:
    std::size_t threads_;
    bool (*interrupted_)();
    std::atomic<bool> stop_ = false;
    std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();

    bool ask() {
        if (stop_) return true;
        const auto now = std::chrono::steady_clock::now();
        if (now - asked_ > std::chrono::milliseconds(50)) {
            asked_ = now;
            if (interrupted_()) stop_ = true;
        }
        return stop_;
    }
};

}  // namespace genus
