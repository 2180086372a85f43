// The binding of trees: cells and classes in, nodes out; cells and nodes in, shares of classes out.
#include "binding.hpp"
#include "trees.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace genus::binding {

namespace {

using CellMatrix = nb::ndarray<const Cell, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Nodes = nb::ndarray<const std::int32_t, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
using Keys = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
static_assert(sizeof(Node) == 3 * sizeof(std::int32_t));

template <class T> Buffer<T> copied(const std::vector<T>& values) {
    auto out = zeros<T>(values.size());
    std::copy(values.begin(), values.end(), out.get());
    return out;
}

nb::tuple grow_trees(const CellMatrix& cells, const Integers& offsets, const Integers& y,
                     const Vector& weight, const Integers& fold, const Vector& share,
                     const Keys& keys, std::size_t folds, std::size_t trees, std::size_t leaves,
                     std::size_t tried, std::size_t threads) {
    const std::size_t n = cells.shape(0), m = cells.shape(1), K = share.shape(0);
    const Labels labels = labels_of(y, weight, m, K);
    require(n > 0 && offsets.shape(0) == n + 1 && offsets.data()[0] == 0,
            "offsets must begin with 0 and have one more entry than there are columns.");
    require(fold.shape(0) == m, "fold must have one number per row.");
    require(K > 0 && leaves > 0 && trees > 0 && tried > 0,
            "there must be classes, leaves, trees and columns to try.");
    require(m < (std::size_t{1} << 31) && trees * folds * leaves < (std::size_t{1} << 30),
            "there must be fewer rows than 2^31 and fewer leaves than 2^30.");
    const Layout layout{offsets.data(), n};
    for (std::size_t j = 0; j < n; ++j)
        require(offsets.data()[j] <= offsets.data()[j + 1] && offsets.data()[j + 1] < 65536,
                "offsets must ascend and be below 65536.");
    require(keys.shape(0) == n, "keys must have one number per column.");
    const Rows rows{{cells.data(), m}, layout, labels, fold.data(), share.data(), keys.data()};
    const bool inside = without_gil([&] {
        bool outside = false;
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t r = 0; r < m; ++r)
                outside |=
                    rows.cells(j)[r] < layout.start(j) || rows.cells(j)[r] >= layout.start(j + 1);
        return !outside;
    });
    require(inside, "cells must be below the size of their column.");
    const auto forest = without_gil(
        [&] { return genus::grow_trees(rows, {trees, leaves, tried}, folds, threads); });
    auto nodes = zeros<std::int32_t>(forest.nodes.size() * 3);
    for (std::size_t i = 0; i < forest.nodes.size(); ++i) {
        const Node own = forest.nodes[i];
        nodes[3 * i] = own.column, nodes[3 * i + 1] = own.cut, nodes[3 * i + 2] = own.child;
    }
    return nb::make_tuple(give(std::move(nodes), {forest.nodes.size(), 3}),
                          give(copied(forest.share), {forest.share.size()}),
                          give(copied(forest.values), {forest.values.size() / K, K}),
                          give(copied(forest.starts), {forest.starts.size()}));
}

// Valid trees: every child comes after its parent and is in the same tree.
Trees trees_of(const Nodes& nodes, const Vector& share, const Matrix& values,
               const Integers& starts, std::size_t unknown, std::size_t columns) {
    const std::size_t N = nodes.shape(0), L = values.shape(0), T = starts.shape(0);
    require(share.shape(0) == N && T > 0 && unknown < 65536, "there must be one share per node.");
    const auto* node = reinterpret_cast<const Node*>(nodes.data());
    const std::int64_t* first = starts.data();
    bool sound = first[0] >= 0 && static_cast<std::uint64_t>(first[T - 1]) <= N;
    for (std::size_t t = 0; sound && t + 1 < T; ++t) {
        sound = first[t] < first[t + 1] && static_cast<std::uint64_t>(first[t + 1]) <= N;
        for (std::int64_t i = first[t]; sound && i < first[t + 1]; ++i) {
            const Node own = node[i];
            sound = own.child < 0
                        ? static_cast<std::size_t>(-1 - own.child) < L
                        : own.child > i && own.child + 1 < first[t + 1] && own.column >= 0 &&
                              static_cast<std::size_t>(own.column) < columns;
        }
    }
    require(sound, "nodes must form trees in which children follow their parents.");
    return {node,
            share.data(),
            values.data(),
            first,
            T - 1,
            values.shape(1),
            static_cast<Cell>(unknown)};
}

nb::object average_trees(const CellMatrix& cells, const Nodes& nodes, const Vector& share,
                         const Matrix& values, const Integers& starts, std::size_t unknown,
                         std::size_t threads) {
    const Trees trees = trees_of(nodes, share, values, starts, unknown, cells.shape(0));
    const Cells own{cells.data(), cells.shape(1)};
    auto out =
        without_gil([&] { return genus::average_trees(trees, own, cells.shape(0), threads); });
    return give(std::move(out), {own.rows, trees.K});
}

nb::object average_trees_in_order(const CellMatrix& cells, const Nodes& nodes, const Vector& share,
                                  const Matrix& values, const Integers& starts, std::size_t unknown,
                                  const Integers& rank, std::size_t steps, double least,
                                  std::size_t threads) {
    const Trees trees = trees_of(nodes, share, values, starts, unknown, cells.shape(0));
    const Cells own{cells.data(), cells.shape(1)};
    require(rank.shape(0) == cells.shape(0), "rank must have one number per column.");
    for (std::size_t j = 0; j < rank.shape(0); ++j)
        require(rank.data()[j] >= 0, "ranks must not be negative.");
    auto out = without_gil([&] {
        return genus::average_trees_in_order(trees, own, rank.data(), steps, least, threads);
    });
    return give(std::move(out), {steps, own.rows, trees.K});
}

}  // namespace

void bind_trees(nb::module_& m) {
    m.def("grow_trees", &grow_trees, "cells"_a, "offsets"_a, "y"_a, "weight"_a, "fold"_a, "share"_a,
          "keys"_a, "folds"_a, "trees"_a, "leaves"_a, "tried"_a, "threads"_a);
    m.def("average_trees", &average_trees, "cells"_a, "nodes"_a, "share"_a, "values"_a, "starts"_a,
          "unknown"_a, "threads"_a);
    m.def("average_trees_in_order", &average_trees_in_order, "cells"_a, "nodes"_a, "share"_a,
          "values"_a, "starts"_a, "unknown"_a, "rank"_a, "steps"_a, "least"_a, "threads"_a);
}

}  // namespace genus::binding
