// What all bindings share: types of arrays, checks, and arrays that Python owns.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>

#include "moments.hpp"

namespace genus::binding {

namespace nb = nanobind;

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Target = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using TargetBytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weight = std::optional<Vector>;

inline void require(bool holds, const char* message) {
    if (!holds) throw nb::value_error(message);
}

template <class Work> auto without_gil(const Work& work) {
    nb::gil_scoped_release release;
    return work();
}

inline Labels labels_of(const Integers& y, const Weight& weight, std::size_t rows,
                        std::size_t classes) {
    require(y.shape(0) == rows, "y must have one label per row of X.");
    require(!weight || weight->shape(0) == rows, "weight must have one number per row of X.");
    const bool inside = without_gil([&] {
        bool outside = false;  // a negative label is huge without its sign
        for (std::size_t i = 0; i < rows; ++i)
            outside |= static_cast<std::uint64_t>(y.data()[i]) >= classes;
        return !outside;
    });
    require(inside, "y must lie in [0, n_classes).");
    return {y.data(), weight ? weight->data() : nullptr, classes};
}

inline void require_shape(const Matrix& array, std::size_t rows, std::size_t columns,
                          const char* message) {
    require(array.shape(0) == rows && array.shape(1) == columns, message);
}

template <class T> nb::object give(Buffer<T> buffer, std::initializer_list<std::size_t> shape) {
    T* data = buffer.release();
    nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(data, shape, owner));
}

void bind_texts(nb::module_& m);
void bind_mail(nb::module_& m);
void bind_trees(nb::module_& m);

}  // namespace genus::binding
