// Columns of strings from any library that supports Arrow's C data interface, without a copy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// The structures of https://arrow.apache.org/docs/format/CDataInterface.html, as specified.
extern "C" {
struct ArrowSchema {
    const char *format, *name, *metadata;
    std::int64_t flags, n_children;
    ArrowSchema **children, *dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    std::int64_t length, null_count, offset, n_buffers, n_children;
    const void** buffers;
    ArrowArray **children, *dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
    int (*get_next)(ArrowArrayStream*, ArrowArray*);
    const char* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};
}

namespace genus::arrow {

// One of the structures, released when it is no longer needed.
template <class T> struct Owned : T {
    Owned() : T{} {}
    explicit Owned(T* from) : T(*from) { from->release = nullptr; }  // moved, as specified
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() {
        if (this->release) this->release(this);
    }
};

enum class Layout { utf8, large_utf8, views, other };

// The name of a column that holds no strings: its format, or "dictionary".
inline std::string name_of(const ArrowSchema& schema) {
    if (std::string_view(schema.format) == "+s")
        return "table of " + std::to_string(schema.n_children) + " columns";
    return schema.dictionary ? "dictionary" : schema.format;
}

// Strings, or bytes that must be UTF-8.
inline Layout layout_of(const ArrowSchema& schema) {
    const std::string_view format = schema.format;
    if (schema.dictionary) return Layout::other;
    if (format == "u" || format == "z") return Layout::utf8;
    if (format == "U" || format == "Z") return Layout::large_utf8;
    if (format == "vu" || format == "vz") return Layout::views;
    return Layout::other;
}

struct Column {
    std::string format;
    Layout layout;
    bool in_table;  // the only column of a table
    std::vector<std::shared_ptr<Owned<ArrowArray>>> chunks;

    const ArrowArray& of(const ArrowArray& chunk) const {
        return in_table ? *chunk.children[0] : chunk;
    }

    // Where the rows of a chunk begin in the buffers of its column.
    std::int64_t offset(const ArrowArray& chunk) const {
        return in_table ? chunk.offset + chunk.children[0]->offset : chunk.offset;
    }
};

inline Column column_of(const ArrowSchema& schema) {
    const bool in_table = std::string_view(schema.format) == "+s" && schema.n_children == 1;
    const ArrowSchema& own = in_table ? *schema.children[0] : schema;
    return {name_of(own), layout_of(own), in_table, {}};
}

inline Column read_stream(ArrowArrayStream* given) {
    Owned<ArrowArrayStream> stream(given);
    const auto check = [&](int status) {
        if (status == 0) return;
        const char* why = stream.get_last_error(&stream);
        throw std::runtime_error(why ? why : "The Arrow stream failed.");
    };
    Owned<ArrowSchema> schema;
    check(stream.get_schema(&stream, &schema));
    Column column = column_of(schema);
    if (column.layout == Layout::other) return column;
    for (;;) {
        auto chunk = std::make_shared<Owned<ArrowArray>>();
        check(stream.get_next(&stream, chunk.get()));
        if (!chunk->release) return column;
        column.chunks.push_back(std::move(chunk));
    }
}

inline Column read_array(ArrowSchema* given_schema, ArrowArray* given) {
    const Owned<ArrowSchema> schema(given_schema);
    Column column = column_of(schema);
    column.chunks.push_back(std::make_shared<Owned<ArrowArray>>(given));
    return column;
}

// The first row of a chunk that is null, or -1.
inline std::int64_t first_null(const Column& column, const ArrowArray& chunk) {
    const auto first = [&](const ArrowArray& array, std::int64_t offset) -> std::int64_t {
        if (array.null_count == 0 || array.n_buffers == 0 || !array.buffers[0]) return -1;
        const auto* valid = static_cast<const std::uint8_t*>(array.buffers[0]);
        for (std::int64_t i = 0; i < chunk.length; ++i)
            if (!(valid[(offset + i) / 8] >> ((offset + i) % 8) & 1)) return i;
        return -1;
    };
    const std::int64_t own = first(column.of(chunk), column.offset(chunk));
    const std::int64_t row = column.in_table ? first(chunk, chunk.offset) : -1;
    return own < 0 ? row : row < 0 ? own : std::min(own, row);
}

}  // namespace genus::arrow
