// The binding: checks shapes and bounds, releases the GIL, passes arrays.
#include <stdexcept>
#include <string>

#include "binding.hpp"
#include "grid.hpp"
#include "layer.hpp"
#include "mdlp.hpp"
#include "pairs.hpp"
#include "runs.hpp"
#include "sparse.hpp"

namespace nb = nanobind;
using namespace genus::binding;
using namespace nb::literals;

namespace {

using genus::Buffer;
using genus::Labels;
using genus::Layout;
using genus::Table;
using genus::Type;

Type type_of(nb::dlpack::dtype dtype) {
    const std::pair<nb::dlpack::dtype, Type> types[] = {
        {nb::dtype<bool>(), Type::u8},           {nb::dtype<std::uint8_t>(), Type::u8},
        {nb::dtype<std::uint16_t>(), Type::u16}, {nb::dtype<std::uint32_t>(), Type::u32},
        {nb::dtype<std::uint64_t>(), Type::u64}, {nb::dtype<std::int8_t>(), Type::i8},
        {nb::dtype<std::int16_t>(), Type::i16},  {nb::dtype<std::int32_t>(), Type::i32},
        {nb::dtype<std::int64_t>(), Type::i64},  {nb::dtype<float>(), Type::f32},
        {nb::dtype<double>(), Type::f64},
    };
    for (const auto& [known, type] : types)
        if (known == dtype) return type;
    throw nb::type_error("X must be boolean, an integer of 8 to 64 bits, float32 or float64.");
}

Table table_of(const AnyMatrix& X) {
    const auto size = static_cast<std::ptrdiff_t>(X.itemsize());
    return {static_cast<const std::byte*>(X.data()),
            X.shape(0),
            X.shape(1),
            X.stride(0) * size,
            X.stride(1) * size,
            type_of(X.dtype())};
}

Table table_of(const AnyVector& x) {  // one row
    const auto size = static_cast<std::ptrdiff_t>(x.itemsize());
    return {static_cast<const std::byte*>(x.data()),
            1,
            x.shape(0),
            0,
            x.stride(0) * size,
            type_of(x.dtype())};
}

Layout layout_of(const Integers& offsets, std::size_t columns) {
    require(offsets.shape(0) == columns + 1,
            "offsets must have one number per column of X, and one more.");
    require(offsets.data()[0] >= 0, "offsets must not be negative.");
    for (std::size_t j = 0; j < columns; ++j)
        require(offsets.data()[j] <= offsets.data()[j + 1], "offsets must ascend.");
    return {offsets.data(), columns};
}

// A table of terms for missing values; none if all terms are zero.
using Absent = std::optional<Matrix>;

const double* absent(const Absent& missing, std::size_t rows, std::size_t columns,
                     const char* message) {
    if (!missing) return nullptr;
    require_shape(*missing, rows, columns, message);
    return missing->data();
}

// The weight of missing values by class and column; no rows if no value is missing.
nb::object give_missing(genus::Buffer<double> missing, std::size_t classes, std::size_t columns) {
    if (missing) return give(std::move(missing), {classes, columns});
    return give(genus::zeros<double>(0), {std::size_t{0}, columns});
}

nb::tuple sum_columns(const AnyMatrix& X, const Integers& y, const Weight& weight,
                      std::size_t n_classes, bool nonnegative, std::size_t threads) {
    const Table table = table_of(X);
    const Labels labels = labels_of(y, weight, table.rows, n_classes);
    auto r = without_gil([&] { return genus::sum_columns(table, labels, nonnegative, threads); });
    return nb::make_tuple(give(std::move(r.counts), {n_classes, table.columns}),
                          give_missing(std::move(r.missing), n_classes, table.columns), r.invalid);
}

nb::tuple count_above(const AnyMatrix& X, const Integers& y, const Weight& weight,
                      std::size_t n_classes, double threshold, std::size_t threads) {
    const Table table = table_of(X);
    const Labels labels = labels_of(y, weight, table.rows, n_classes);
    auto r = without_gil([&] { return genus::count_above(table, labels, threshold, threads); });
    return nb::make_tuple(give(std::move(r.counts), {n_classes, table.columns}),
                          give_missing(std::move(r.missing), n_classes, table.columns), r.invalid);
}

nb::tuple square_columns(const AnyMatrix& X, const Integers& y, const Weight& weight,
                         const Matrix& origin, std::size_t n_classes, std::size_t threads) {
    const Table table = table_of(X);
    const Labels labels = labels_of(y, weight, table.rows, n_classes);
    require_shape(origin, n_classes, table.columns,
                  "origin must have shape (n_classes, columns of X).");
    auto r =
        without_gil([&] { return genus::square_columns(table, labels, origin.data(), threads); });
    return nb::make_tuple(give(std::move(r.weights), {n_classes, table.columns}),
                          give(std::move(r.sums), {n_classes, table.columns}),
                          give(std::move(r.squares), {n_classes, table.columns}), r.invalid);
}

nb::tuple center(const AnyMatrix& X, const Integers& y, const Weight& weight, const Matrix& origin,
                 std::size_t n_classes, const std::optional<Integers>& rows, const Target& Z) {
    const Table table = table_of(X);
    const std::size_t m = rows ? rows->shape(0) : table.rows;
    const Labels labels = labels_of(y, weight, m, n_classes);
    require_shape(origin, n_classes, table.columns,
                  "origin must have shape (n_classes, columns of X).");
    require(Z.shape(0) >= m && Z.shape(1) == table.columns,
            "Z must have the columns of X and room for the rows.");
    bool outside = false;
    for (std::size_t i = 0; rows && i < m; ++i)
        outside |= static_cast<std::uint64_t>(rows->data()[i]) >= table.rows;
    require(!outside, "rows must be rows of X.");
    auto r = without_gil([&] {
        return genus::center(table, labels, origin.data(), rows ? rows->data() : nullptr, m,
                             Z.data());
    });
    return nb::make_tuple(give(std::move(r.weights), {n_classes}),
                          give(std::move(r.sums), {n_classes, table.columns}), r.invalid);
}

nb::tuple column_range(const AnyMatrix& X, std::size_t threads) {
    const Table table = table_of(X);
    auto r = without_gil([&] { return genus::column_range(table, threads); });
    return nb::make_tuple(
        give(std::move(r.minimum), {table.columns}), give(std::move(r.maximum), {table.columns}),
        give(std::move(r.integral), {table.columns}), give(std::move(r.missing), {table.columns}));
}

nb::object tally_codes(const AnyMatrix& X, const Integers& y, const Weight& weight,
                       const Integers& offsets, std::size_t n_classes, std::size_t threads) {
    const Table table = table_of(X);
    const Labels labels = labels_of(y, weight, table.rows, n_classes);
    const Layout layout = layout_of(offsets, table.columns);
    auto counts = without_gil([&] { return genus::tally_codes(table, labels, layout, threads); });
    return give(std::move(counts), {n_classes, layout.start(table.columns)});
}

using CellMatrix = nb::ndarray<const genus::Cell, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Codes (columns, rows), each below the size of its column.
genus::Cells cells_of(const CellMatrix& codes, const Layout& layout) {
    const genus::Cells cells{codes.data(), codes.shape(1)};
    const bool inside = without_gil([&] {
        bool outside = false;
        for (std::size_t j = 0; j < layout.columns; ++j)
            for (std::size_t r = 0; r < cells.rows; ++r) outside |= cells(j)[r] >= layout.size(j);
        return !outside;
    });
    require(inside, "codes must be below the size of their column.");
    return cells;
}

nb::object tally_pairs(const CellMatrix& codes, const Integers& y, const Weight& weight,
                       const Integers& offsets, std::size_t n_classes, std::size_t threads) {
    const Layout layout = layout_of(offsets, codes.shape(0));
    const Labels labels = labels_of(y, weight, codes.shape(1), n_classes);
    const genus::Cells cells = cells_of(codes, layout);
    const std::size_t V = layout.start(layout.columns);
    require(layout.start(0) == 0, "offsets must begin with 0.");
    require(n_classes * (V + 1) < (std::size_t{1} << 32) && codes.shape(1) < (std::size_t{1} << 32),
            "there must be fewer classes, codes and rows than 2^32.");
    auto counts = without_gil([&] { return genus::tally_pairs(cells, labels, layout, threads); });
    return give(std::move(counts), {n_classes, V, V});
}

using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Tables = nb::ndarray<const double, nb::ndim<3>, nb::device::cpu>;
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

genus::PairTable pair_table_of(const Tables& table, const CellMatrix& codes) {
    require(table.shape(0) == table.shape(1) && table.shape(0) > 0, "table must be square.");
    const std::size_t V = table.shape(0), K = table.shape(2),
                      size = codes.shape(0) * codes.shape(1);
    const std::int64_t stride = table.stride(1);
    require((K <= 1 || table.stride(2) == 1) && stride >= static_cast<std::int64_t>(K) &&
                table.stride(0) == static_cast<std::int64_t>(V) * stride,
            "table must be in C order; its last axis may be part of a longer one.");
    const bool inside = without_gil([&] {
        bool outside = false;
        for (std::size_t i = 0; i < size; ++i) outside |= codes.data()[i] >= V;
        return !outside;
    });
    require(inside, "codes must be below the size of the table.");
    return {table.data(), V, K, static_cast<std::size_t>(stride)};
}

nb::object sum_pairs(const CellMatrix& codes, const Tables& table, std::size_t threads) {
    const genus::PairTable pairs = pair_table_of(table, codes);
    const genus::Cells cells{codes.data(), codes.shape(1)};
    auto sums =
        without_gil([&] { return genus::sum_pairs(cells, codes.shape(0), pairs, threads); });
    return give(std::move(sums), {cells.rows, pairs.K});
}

nb::tuple layer_sums(const Cube& F, const Integers& y, const Vector& weight, const Vector& theta,
                     int order, std::size_t threads) {
    const genus::LayerInput in{F.data(),   y.data(),   weight.data(),
                               F.shape(0), F.shape(1), F.shape(2)};
    labels_of(y, weight, in.rows, in.K);
    const std::size_t D = in.G + in.K;
    require(theta.shape(0) == D, "theta must have a number for each weight and each class.");
    require(order >= 0 && order <= 2, "order must be 0, 1 or 2.");
    auto r = without_gil([&] { return genus::layer_sums(in, theta.data(), order, threads); });
    return nb::make_tuple(r.loss, give(std::move(r.gradient), {D}),
                          give(std::move(r.curvature), {D, D}));
}

nb::object weigh_experts(const Matrix& evidence, const Vector& weights, const Vector& log_share,
                         double least, double doubt, std::size_t threads) {
    const genus::Experts in{evidence.data(),
                            evidence.shape(0),
                            evidence.shape(1),
                            weights.shape(0),
                            log_share.shape(0),
                            weights.data(),
                            log_share.data(),
                            least,
                            doubt};
    require(in.K > 0 && in.width >= (in.G + 1) * in.K,
            "evidence must have a number for each class of each expert, and for each class.");
    auto said = without_gil([&] { return genus::weigh_experts(in, threads); });
    return give(std::move(said), {in.rows, in.K});
}

nb::object average_parents(const CellMatrix& codes, const Tables& table, const Flags& is_parent,
                           std::size_t threads) {
    const genus::PairTable pairs = pair_table_of(table, codes);
    require(is_parent.shape(0) == codes.shape(0), "is_parent must have one flag per column.");
    const genus::Cells cells{codes.data(), codes.shape(1)};
    const auto* flags = reinterpret_cast<const std::uint8_t*>(is_parent.data());
    auto scores = without_gil(
        [&] { return genus::average_parents(cells, codes.shape(0), pairs, flags, threads); });
    return give(std::move(scores), {cells.rows, pairs.K});
}

nb::tuple gather_scores(const AnyMatrix& X, const Matrix& table, const Integers& offsets,
                        std::size_t threads) {
    const Table codes = table_of(X);
    const Layout layout = layout_of(offsets, codes.columns);
    const std::size_t K = table.shape(1);
    require(table.shape(0) >= layout.start(codes.columns), "table must have a row for every code.");
    auto r =
        without_gil([&] { return genus::gather_scores(codes, table.data(), layout, K, threads); });
    return nb::make_tuple(give(std::move(r.scores), {codes.rows, K}), r.known);
}

template <class T> nb::tuple unique_of(const AnyVector& values, std::size_t threads) {
    const std::size_t m = values.shape(0);
    auto r = without_gil([&] {
        auto unique =
            genus::unique_codes(static_cast<const T*>(values.data()), values.stride(0), m, threads);
        auto sorted = genus::zeros<T>(unique.values.size());
        std::copy(unique.values.begin(), unique.values.end(), sorted.get());
        return std::pair(std::pair(std::move(sorted), unique.values.size()),
                         std::move(unique.codes));
    });
    return nb::make_tuple(give(std::move(r.first.first), {r.first.second}),
                          give(std::move(r.second), {m}));
}

nb::tuple unique_codes(const AnyVector& values, std::size_t threads) {
    if (values.dtype() == nb::dtype<double>()) return unique_of<double>(values, threads);
    if (values.dtype() == nb::dtype<std::int64_t>())
        return unique_of<std::int64_t>(values, threads);
    throw nb::type_error("values must be float64 or int64.");
}

nb::tuple grid_codes(const AnyVector& values, int exponent, int bits, std::size_t threads) {
    require(values.dtype() == nb::dtype<double>(), "values must be float64.");
    require(0 <= bits && bits <= 40 && std::abs(exponent) <= 1000,
            "a grid has 0 to 40 bits, and steps of 2^-1000 to 2^1000.");
    const std::size_t m = values.shape(0);
    auto r = without_gil([&] {
        auto unique = genus::grid_codes(static_cast<const double*>(values.data()), values.stride(0),
                                        m, {exponent, bits}, threads);
        auto keys = genus::zeros<std::int64_t>(unique.values.size());
        std::copy(unique.values.begin(), unique.values.end(), keys.get());
        return std::pair(std::pair(std::move(keys), unique.values.size()), std::move(unique.codes));
    });
    return nb::make_tuple(give(std::move(r.first.first), {r.first.second}),
                          give(std::move(r.second), {m}));
}

nb::object between_edges(const AnyVector& values, const Vector& edges, std::size_t threads) {
    require(values.dtype() == nb::dtype<double>(), "values must be float64.");
    require(
        edges.shape(0) < INT32_MAX && std::is_sorted(edges.data(), edges.data() + edges.shape(0)),
        "edges must ascend.");
    const std::size_t m = values.shape(0);
    auto codes = without_gil([&] {
        return genus::between_edges(static_cast<const double*>(values.data()), values.stride(0), m,
                                    edges.data(), edges.shape(0), threads);
    });
    return give(std::move(codes), {m});
}

nb::object mdlp(const Matrix& counts) {
    const auto cuts =
        without_gil([&] { return genus::mdlp(counts.data(), counts.shape(0), counts.shape(1)); });
    auto found = genus::zeros<std::int64_t>(cuts.size());
    std::copy(cuts.begin(), cuts.end(), found.get());
    return give(std::move(found), {cuts.size()});
}

nb::object score_above(const AnyMatrix& X, double threshold, const Matrix& on,
                       const Absent& missing, std::size_t threads) {
    const Table table = table_of(X);
    const std::size_t K = on.shape(1);
    require_shape(on, table.columns, K, "on must have a row per column of X.");
    const double* other = absent(missing, table.columns, K, "missing must have the shape of on.");
    auto scores = without_gil(
        [&] { return genus::score_above(table, threshold, on.data(), other, K, threads); });
    return give(std::move(scores), {table.rows, K});
}

nb::object score_linear(const AnyMatrix& X, const Matrix& table, const Absent& missing,
                        std::size_t threads) {
    const Table cells = table_of(X);
    const std::size_t K = table.shape(1);
    require_shape(table, cells.columns, K, "table must have a row per column of X.");
    const double* other =
        absent(missing, cells.columns, K, "missing must have the shape of table.");
    auto scores =
        without_gil([&] { return genus::score_linear(cells, table.data(), other, K, threads); });
    return give(std::move(scores), {cells.rows, K});
}

nb::object score_gaussian(const AnyMatrix& X, const Matrix& mean, const Matrix& precision,
                          const Matrix& missing, std::size_t threads) {
    const Table table = table_of(X);
    const std::size_t K = mean.shape(0);
    require_shape(mean, K, table.columns, "mean must have a column per column of X.");
    require_shape(precision, K, table.columns, "precision must have the shape of mean.");
    require_shape(missing, K, table.columns, "missing must have the shape of mean.");
    auto scores = without_gil([&] {
        return genus::score_gaussian(table, mean.data(), precision.data(), missing.data(), K,
                                     threads);
    });
    return give(std::move(scores), {table.rows, K});
}

void take_runs(const Bytes& source, const Integers& starts, const Integers& places,
               const TargetBytes& out, std::size_t threads) {
    const std::size_t runs = starts.shape(0);
    require(places.shape(0) == runs + 1, "places must have one number per run, and one more.");
    bool outside =
        places.data()[0] < 0 || static_cast<std::uint64_t>(places.data()[runs]) > out.shape(0);
    for (std::size_t i = 0; i < runs; ++i) {
        const std::int64_t length = places.data()[i + 1] - places.data()[i];
        const auto size = static_cast<std::int64_t>(source.shape(0)), start = starts.data()[i];
        outside |= length < 0 || start < 0 || start > size || length > size - start;
    }
    require(!outside, "starts and places must lie within source and out, and places ascend.");
    without_gil([&] {
        genus::take_runs(reinterpret_cast<const std::byte*>(source.data()), starts.data(),
                         places.data(), runs, reinterpret_cast<std::byte*>(out.data()), threads);
    });
}

nb::object subtract(const Vector& a, const Vector& b, double rounding, std::size_t threads) {
    const std::size_t size = a.shape(0);
    require(b.shape(0) == size, "a and b must have the same size.");
    auto rest =
        without_gil([&] { return genus::subtract(a.data(), b.data(), size, rounding, threads); });
    return give(std::move(rest), {size});
}

nb::object grid_points(const Vector& mean, const Vector& spread) {
    const std::size_t size = mean.shape(0);
    require(spread.shape(0) == size, "mean and spread must have the same size.");
    return give(genus::grid_points(mean.data(), spread.data(), size), {size});
}

nb::tuple centre_powers(const Matrix& origin, const Matrix& weights, const Matrix& sums,
                        const Matrix& squares, bool pooled, double rounding) {
    const std::size_t K = origin.shape(0), n = origin.shape(1), rows = pooled ? 1 : K;
    require(sums.shape(0) == K && sums.shape(1) == n, "origin and sums must have the same shape.");
    require(weights.shape(0) == K && (weights.shape(1) == n || weights.shape(1) == 1),
            "weights must have a row for each class, and a column for each of X or one.");
    require(squares.shape(0) == rows && squares.shape(1) == n, "squares have the wrong shape.");
    const genus::Powers powers{origin.data(),    weights.data(), sums.data(), squares.data(), K, n,
                               weights.shape(1), pooled};
    auto r = genus::centre_powers(powers, rounding);
    return nb::make_tuple(give(std::move(r.offset), {K, n}), give(std::move(r.variance), {rows, n}),
                          give(std::move(r.origin), {K, n}), r.formal);
}

nb::tuple row_maxima(const Matrix& scores, std::size_t threads) {
    const std::size_t m = scores.shape(0), K = scores.shape(1);
    require(K > 0, "scores must have a column.");
    auto r = without_gil([&] { return genus::row_maxima(scores.data(), m, K, threads); });
    return nb::make_tuple(give(std::move(r.values), {m}), give(std::move(r.at), {m}));
}

// Call work(csr) with checked indices of 32 or 64 bits.
template <class Work>
auto with_csr(const AnyVector& data, const Indices& indices, const Indices& starts,
              const Indices& ends, std::size_t columns, const Work& work) {
    const auto run = [&]<class Index>(Index) {
        require(starts.shape(0) == ends.shape(0), "starts and ends must have one number per row.");
        const auto numbers = [](const Indices& x) { return static_cast<const Index*>(x.data()); };
        const genus::Csr<Index> csr{table_of(data), numbers(indices), numbers(starts),
                                    numbers(ends),  starts.shape(0),  columns};
        require(csr.within(indices.shape(0)),
                "The sparse matrix is corrupt: starts must not lie after ends, both within data.");
        auto result = work(csr);
        require(!csr.corrupt, "The sparse matrix is corrupt: indices must lie in [0, n_columns).");
        return result;
    };
    if (indices.dtype() != starts.dtype() || indices.dtype() != ends.dtype())
        throw nb::type_error("indices, starts and ends must have the same type.");
    if (indices.dtype() == nb::dtype<std::int32_t>()) return run(std::int32_t{});
    if (indices.dtype() == nb::dtype<std::int64_t>()) return run(std::int64_t{});
    throw nb::type_error("indices, starts and ends must be int32 or int64.");
}

nb::tuple sum_columns_csr(const AnyVector& data, const Indices& indices, const Indices& starts,
                          const Indices& ends, std::size_t n_columns, const Integers& y,
                          const Weight& weight, std::size_t n_classes, bool nonnegative,
                          std::size_t threads) {
    return with_csr(data, indices, starts, ends, n_columns, [&](const auto& csr) {
        const Labels labels = labels_of(y, weight, csr.rows, n_classes);
        auto r = without_gil([&] { return genus::sum_columns(csr, labels, nonnegative, threads); });
        return nb::make_tuple(give(std::move(r.counts), {n_classes, n_columns}),
                              give_missing(std::move(r.missing), n_classes, n_columns), r.invalid);
    });
}

nb::tuple count_above_csr(const AnyVector& data, const Indices& indices, const Indices& starts,
                          const Indices& ends, std::size_t n_columns, const Integers& y,
                          const Weight& weight, std::size_t n_classes, double threshold,
                          std::size_t threads) {
    return with_csr(data, indices, starts, ends, n_columns, [&](const auto& csr) {
        const Labels labels = labels_of(y, weight, csr.rows, n_classes);
        auto r = without_gil([&] { return genus::count_above(csr, labels, threshold, threads); });
        return nb::make_tuple(give(std::move(r.counts), {n_classes, n_columns}),
                              give_missing(std::move(r.missing), n_classes, n_columns), r.invalid);
    });
}

nb::tuple score_linear_csr(const AnyVector& data, const Indices& indices, const Indices& starts,
                           const Indices& ends, const Matrix& table, const Absent& missing,
                           bool nonnegative, std::size_t threads) {
    const std::size_t n = table.shape(0), K = table.shape(1);
    const double* other = absent(missing, n, K, "missing must have the shape of table.");
    return with_csr(data, indices, starts, ends, n, [&](const auto& csr) {
        auto r = without_gil(
            [&] { return genus::score_linear(csr, table.data(), other, K, nonnegative, threads); });
        return nb::make_tuple(give(std::move(r.scores), {csr.rows, K}), r.invalid);
    });
}

nb::tuple score_above_csr(const AnyVector& data, const Indices& indices, const Indices& starts,
                          const Indices& ends, double threshold, const Matrix& on,
                          const Absent& missing, std::size_t threads) {
    const std::size_t n = on.shape(0), K = on.shape(1);
    const double* other = absent(missing, n, K, "missing must have the shape of on.");
    return with_csr(data, indices, starts, ends, n, [&](const auto& csr) {
        auto r = without_gil(
            [&] { return genus::score_above(csr, threshold, on.data(), other, K, threads); });
        return nb::make_tuple(give(std::move(r.scores), {csr.rows, K}), r.invalid);
    });
}

}  // namespace

NB_MODULE(_kernel, m) {
#ifdef GENUS_SANITIZE
    m.attr("sanitized") = true;
#else
    m.attr("sanitized") = false;
#endif
    m.def("sum_columns", &sum_columns, "X"_a, "y"_a, "weight"_a.none(), "n_classes"_a,
          "nonnegative"_a, "threads"_a);
    m.def("count_above", &count_above, "X"_a, "y"_a, "weight"_a.none(), "n_classes"_a,
          "threshold"_a, "threads"_a);
    m.def("square_columns", &square_columns, "X"_a, "y"_a, "weight"_a.none(), "origin"_a,
          "n_classes"_a, "threads"_a);
    m.def("center", &center, "X"_a, "y"_a, "weight"_a.none(), "origin"_a, "n_classes"_a,
          "rows"_a.none(), "Z"_a.noconvert());
    m.def("sum_columns_csr", &sum_columns_csr, "data"_a, "indices"_a, "starts"_a, "ends"_a,
          "n_columns"_a, "y"_a, "weight"_a.none(), "n_classes"_a, "nonnegative"_a, "threads"_a);
    m.def("count_above_csr", &count_above_csr, "data"_a, "indices"_a, "starts"_a, "ends"_a,
          "n_columns"_a, "y"_a, "weight"_a.none(), "n_classes"_a, "threshold"_a, "threads"_a);
    m.def("column_range", &column_range, "X"_a, "threads"_a);
    m.def("tally_codes", &tally_codes, "X"_a, "y"_a, "weight"_a.none(), "offsets"_a, "n_classes"_a,
          "threads"_a);
    m.def("tally_pairs", &tally_pairs, "codes"_a, "y"_a, "weight"_a.none(), "offsets"_a,
          "n_classes"_a, "threads"_a);
    m.def("sum_pairs", &sum_pairs, "codes"_a, "table"_a, "threads"_a);
    m.def("layer_sums", &layer_sums, "F"_a, "y"_a, "weight"_a, "theta"_a, "order"_a, "threads"_a);
    m.def("weigh_experts", &weigh_experts, "evidence"_a, "weights"_a, "log_share"_a, "least"_a,
          "doubt"_a, "threads"_a);
    m.def("average_parents", &average_parents, "codes"_a, "table"_a, "is_parent"_a, "threads"_a);
    m.def("gather_scores", &gather_scores, "X"_a, "table"_a, "offsets"_a, "threads"_a);
    m.def("grid_codes", &grid_codes, "values"_a, "exponent"_a, "bits"_a, "threads"_a);
    m.def("between_edges", &between_edges, "values"_a, "edges"_a, "threads"_a);
    m.def("mdlp", &mdlp, "counts"_a);
    m.def("unique_codes", &unique_codes, "values"_a, "threads"_a);
    m.def("score_above", &score_above, "X"_a, "threshold"_a, "on"_a, "missing"_a.none(),
          "threads"_a);
    m.def("score_linear", &score_linear, "X"_a, "table"_a, "missing"_a.none(), "threads"_a);
    m.def("score_gaussian", &score_gaussian, "X"_a, "mean"_a, "precision"_a, "missing"_a,
          "threads"_a);
    m.def("take_runs", &take_runs, "source"_a, "starts"_a, "places"_a, "out"_a.noconvert(),
          "threads"_a);
    m.def("subtract", &subtract, "a"_a, "b"_a, "rounding"_a, "threads"_a);
    m.def("grid_points", &grid_points, "mean"_a, "spread"_a);
    m.def("centre_powers", &centre_powers, "origin"_a, "weights"_a, "sums"_a, "squares"_a,
          "pooled"_a, "rounding"_a);
    m.def("row_maxima", &row_maxima, "scores"_a, "threads"_a);
    m.def("score_linear_csr", &score_linear_csr, "data"_a, "indices"_a, "starts"_a, "ends"_a,
          "table"_a, "missing"_a.none(), "nonnegative"_a, "threads"_a);
    m.def("score_above_csr", &score_above_csr, "data"_a, "indices"_a, "starts"_a, "ends"_a,
          "threshold"_a, "on"_a, "missing"_a.none(), "threads"_a);
    bind_texts(m);
    bind_mail(m);
    bind_trees(m);
}
