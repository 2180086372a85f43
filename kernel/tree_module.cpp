// The binding of trees: cells and classes in, trees out; cells and trees in, scores out.
#include "binding.hpp"
#include "boosting.hpp"
#include "trees.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace genus::binding {

namespace {

using CellMatrix = nb::ndarray<const Cell, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Keys = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// An array of all folds, side by side.
template <class T>
nb::object joined(const std::vector<Boosting>& folds, std::vector<T> Boosting::* part,
                  std::initializer_list<std::size_t> shape) {
    const std::size_t size = (folds[0].*part).size();
    auto out = zeros<T>(folds.size() * size);
    for (std::size_t f = 0; f < folds.size(); ++f)
        std::copy_n((folds[f].*part).begin(), size, out.get() + f * size);
    return give(std::move(out), shape);
}

nb::tuple grow_trees(const CellMatrix& cells, const Integers& offsets, const Integers& y,
                     const Vector& weight, const Integers& fold, const Vector& share,
                     const Keys& keys, const Integers& asked, std::size_t folds, std::size_t rounds,
                     std::size_t patience, std::size_t questions, std::size_t tried, double rate,
                     double ridge, std::size_t threads) {
    const std::size_t n = cells.shape(0), m = cells.shape(1), K = share.shape(0);
    const Labels labels = labels_of(y, weight, m, K);
    require(n > 0 && offsets.shape(0) == n + 1 && offsets.data()[0] == 0,
            "offsets must begin with 0 and have one more entry than there are columns.");
    require(fold.shape(0) == m, "fold must have one number per row.");
    require(K > 0 && folds > 0 && rounds > 0 && patience > 0 && tried > 0,
            "there must be classes, folds, rounds and columns to try.");
    require(questions > 0 && questions <= most_questions, "a tree has 1 to 8 questions.");
    require(rate > 0 && ridge > 0 && m < (std::size_t{1} << 32) && rounds < (std::size_t{1} << 32),
            "rate and ridge must be positive, and there must be fewer rows and rounds than 2^32.");
    const Layout layout{offsets.data(), n};
    for (std::size_t j = 0; j < n; ++j)
        require(offsets.data()[j] <= offsets.data()[j + 1] && offsets.data()[j + 1] < 65536,
                "offsets must ascend and be below 65536.");
    require(keys.shape(0) == n, "keys must have one number per column.");
    for (std::size_t i = 0; i < asked.shape(0); ++i)
        require(static_cast<std::uint64_t>(asked.data()[i]) < n, "asked must be columns.");
    const Rows rows{{cells.data(), m}, layout,      labels,       fold.data(),
                    share.data(),      keys.data(), asked.data(), asked.shape(0)};
    const bool inside = without_gil([&] {
        bool outside = false;
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t r = 0; r < m; ++r)
                outside |=
                    rows.cells(j)[r] < layout.start(j) || rows.cells(j)[r] >= layout.start(j + 1);
        return !outside;
    });
    require(inside, "cells must be below the size of their column.");
    const auto found = without_gil([&] {
        return genus::grow_trees(rows, {rounds, patience, questions, tried, rate, ridge}, folds,
                                 threads);
    });
    const std::size_t T = found[0].losses.size(), L = std::size_t{1} << questions;
    return nb::make_tuple(joined(found, &Boosting::columns, {folds, T, questions}),
                          joined(found, &Boosting::cuts, {folds, T, questions}),
                          joined(found, &Boosting::values, {folds, T, L, K}),
                          joined(found, &Boosting::weights, {folds, T, L}),
                          joined(found, &Boosting::losses, {folds, T}));
}

Trees trees_of(const CellMatrix& columns, const CellMatrix& cuts, const Cube& values,
               const Matrix& weights, std::size_t unknown, std::size_t n) {
    const std::size_t T = columns.shape(0), D = columns.shape(1), L = std::size_t{1} << D;
    require(D > 0 && D <= most_questions && unknown < 65536, "a tree has 1 to 8 questions.");
    require(cuts.shape(0) == T && cuts.shape(1) == D && values.shape(0) == T &&
                values.shape(1) == L && weights.shape(0) == T && weights.shape(1) == L,
            "trees must have the same number of questions and leaves.");
    bool inside = true;
    for (std::size_t i = 0; i < T * D; ++i) inside &= columns.data()[i] < n;
    require(inside, "trees must ask for columns that there are.");
    return {columns.data(),
            cuts.data(),
            values.data(),
            weights.data(),
            T,
            D,
            values.shape(2),
            static_cast<Cell>(unknown)};
}

nb::object sum_trees(const CellMatrix& cells, const CellMatrix& columns, const CellMatrix& cuts,
                     const Cube& values, const Matrix& weights, std::size_t unknown,
                     std::size_t threads) {
    const Trees trees = trees_of(columns, cuts, values, weights, unknown, cells.shape(0));
    const Cells own{cells.data(), cells.shape(1)};
    auto out = without_gil([&] { return genus::sum_trees(trees, own, cells.shape(0), threads); });
    return give(std::move(out), {own.rows, trees.K});
}

nb::object explain_trees(const CellMatrix& cells, const CellMatrix& columns, const CellMatrix& cuts,
                         const Cube& values, const Matrix& weights, std::size_t unknown,
                         std::size_t threads) {
    const std::size_t n = cells.shape(0);
    const Trees trees = trees_of(columns, cuts, values, weights, unknown, n);
    const Cells own{cells.data(), cells.shape(1)};
    auto out = without_gil([&] { return genus::explain_trees(trees, own, n, threads); });
    return give(std::move(out), {n, own.rows, trees.K});
}

}  // namespace

void bind_trees(nb::module_& m) {
    m.def("grow_trees", &grow_trees, "cells"_a, "offsets"_a, "y"_a, "weight"_a, "fold"_a, "share"_a,
          "keys"_a, "asked"_a, "folds"_a, "rounds"_a, "patience"_a, "questions"_a, "tried"_a,
          "rate"_a, "ridge"_a, "threads"_a);
    m.def("explain_trees", &explain_trees, "cells"_a, "columns"_a, "cuts"_a, "values"_a,
          "weights"_a, "unknown"_a, "threads"_a);
    m.def("sum_trees", &sum_trees, "cells"_a, "columns"_a, "cuts"_a, "values"_a, "weights"_a,
          "unknown"_a, "threads"_a);
}

}  // namespace genus::binding
