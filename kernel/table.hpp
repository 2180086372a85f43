// A strided two-dimensional array of any number type, read as tiles of doubles that fit the cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "parallel.hpp"
#include "vectors.hpp"

namespace genus {

enum class Type { u8, u16, u32, u64, i8, i16, i32, i64, f32, f64 };  // bool is stored as u8

template <class Body> GENUS_INLINE void visit(Type type, const Body& body) {
    switch (type) {
        case Type::u8:
            return body(std::uint8_t{});
        case Type::u16:
            return body(std::uint16_t{});
        case Type::u32:
            return body(std::uint32_t{});
        case Type::u64:
            return body(std::uint64_t{});
        case Type::i8:
            return body(std::int8_t{});
        case Type::i16:
            return body(std::int16_t{});
        case Type::i32:
            return body(std::int32_t{});
        case Type::i64:
            return body(std::int64_t{});
        case Type::f32:
            return body(float{});
        case Type::f64:
            return body(double{});
    }
}

struct Table {
    const std::byte* data;
    std::size_t rows, columns;
    std::ptrdiff_t row_stride, column_stride;  // in bytes
    Type type;

    bool floating() const { return type == Type::f32 || type == Type::f64; }

    bool has_sign() const { return type >= Type::i8; }

    const std::byte* at(std::size_t row, std::size_t column) const {
        return data + static_cast<std::ptrdiff_t>(row) * row_stride +
               static_cast<std::ptrdiff_t>(column) * column_stride;
    }

    // Rows of doubles that need no conversion.
    bool direct() const {
        return type == Type::f64 && (column_stride == sizeof(double) || columns <= 1) &&
               reinterpret_cast<std::uintptr_t>(data) % alignof(double) == 0 &&
               row_stride % static_cast<std::ptrdiff_t>(alignof(double)) == 0;
    }
};

// The number of a category; any other value (missing, negative, fractional, huge) is no_code.
using Code = std::int32_t;
constexpr Code no_code = -1;

template <class Out, class T> GENUS_INLINE Out convert(T x) {
    if constexpr (std::is_same_v<Out, double>) {
        return static_cast<double>(x);
    } else if constexpr (std::is_floating_point_v<T>) {
        const bool in_range =
            x >= T{0} && x < T{2147483648};  // false for NaN; else the cast is undefined
        const Code code = static_cast<Code>(in_range ? x : T{0});
        return in_range && static_cast<T>(code) == x ? code : no_code;
    } else {
        const bool in_range = static_cast<std::make_unsigned_t<T>>(x) <= std::uint32_t{INT32_MAX};
        return in_range ? static_cast<Code>(x) : no_code;
    }
}

// The data need not be aligned.
template <class T> GENUS_INLINE T read(const std::byte* p) {
    T x;
    std::memcpy(&x, p, sizeof x);
    return x;
}

template <class Out>
GENUS_INLINE void copy_block(const Table& X, std::size_t row, std::size_t rows, std::size_t column,
                             std::size_t columns, Out* out, std::size_t stride) {
    visit(X.type, [&]<class T>(T) __attribute__((always_inline)) {
        const std::byte* p = X.at(row, column);
        const std::ptrdiff_t down = X.row_stride, across = X.column_stride;
        if (across == sizeof(T)) {
            for (std::size_t i = 0; i < rows; ++i, p += down, out += stride)
                for (std::size_t j = 0; j < columns; ++j)
                    out[j] = convert<Out>(read<T>(p + j * sizeof(T)));
            return;
        }
        // Eight columns at a time: long reads down each column, and writes of whole cache lines.
        constexpr std::size_t group = 8;
        std::size_t j = 0;
        for (; j + group <= columns; j += group, p += across * static_cast<std::ptrdiff_t>(group))
            for (std::size_t i = 0; i < rows; ++i)
                for (std::size_t g = 0; g < group; ++g)
                    out[i * stride + j + g] =
                        convert<Out>(read<T>(p + static_cast<std::ptrdiff_t>(i) * down +
                                             static_cast<std::ptrdiff_t>(g) * across));
        for (; j < columns; ++j, p += across)
            for (std::size_t i = 0; i < rows; ++i)
                out[i * stride + j] =
                    convert<Out>(read<T>(p + static_cast<std::ptrdiff_t>(i) * down));
    });
}

GENUS_CLONES inline void copy(const Table& X, std::size_t row, std::size_t rows, std::size_t column,
                              std::size_t columns, double* out, std::size_t stride) {
    copy_block(X, row, rows, column, columns, out, stride);
}

GENUS_CLONES inline void copy(const Table& X, std::size_t row, std::size_t rows, std::size_t column,
                              std::size_t columns, Code* out, std::size_t stride) {
    copy_block(X, row, rows, column, columns, out, stride);
}

// A rectangle of the table: cell (i, j) of the tile is cell (row + i, column + j) of the table.
template <class T> struct Tile {
    const T* data;
    std::ptrdiff_t stride;
    std::size_t row, rows, column, columns;

    const T* operator[](std::size_t i) const {
        return data + static_cast<std::ptrdiff_t>(i) * stride;
    }
};

constexpr std::size_t tile_cells = 16384, tile_rows = 512;

// Whole rows of a row-major table, so that memory is read in one stream; narrow and tall tiles of a
// column-major one, with long runs down the columns.
inline std::size_t tile_width(const Table& X) {
    const bool row_order = std::abs(X.column_stride) <= std::abs(X.row_stride);
    return std::min(X.columns, row_order ? tile_cells / 8 : tile_cells / 256);
}

// Rows [begin, end) tile by tile, through `scratch` of tile_cells if a conversion is needed.
template <class T, class Body>
void for_tiles(const Table& X, std::size_t begin, std::size_t end, T* scratch, const Body& body) {
    if (X.columns == 0) return;
    const std::size_t width = tile_width(X);
    const std::size_t height = std::min(tile_cells / width, tile_rows);
    const bool direct = std::is_same_v<T, double> && X.direct();
    for (std::size_t row = begin; row < end; row += height)
        for (std::size_t column = 0; column < X.columns; column += width) {
            Tile<T> tile{scratch, static_cast<std::ptrdiff_t>(width),
                         row,     std::min(height, end - row),
                         column,  std::min(width, X.columns - column)};
            if (direct) {
                tile.data = reinterpret_cast<const T*>(X.at(row, column));
                tile.stride = X.row_stride / static_cast<std::ptrdiff_t>(sizeof(T));
            } else {
                copy(X, tile.row, tile.rows, tile.column, tile.columns, scratch, width);
            }
            body(tile);
        }
}

// for_tiles on threads: body(part, tile), which must not throw.
template <class T = double, class Body>
void parallel_tiles(const Table& X, std::size_t parts, const Body& body) {
    const auto scratch = std::make_unique_for_overwrite<T[]>(parts * tile_cells);
    parallel_for(X.rows, parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
        for_tiles(X, begin, end, scratch.get() + part * tile_cells,
                  [&](const Tile<T>& tile) { body(part, tile); });
    });
}

}  // namespace genus
