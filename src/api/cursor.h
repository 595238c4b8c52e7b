// Cursors: fields of structs in host memory by name, with the conversions and checks that arguments have.
#ifndef SPY_API_CURSOR_H
#define SPY_API_CURSOR_H

#include "api/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// A place in host memory whose type is known: a range of elements, one of them, or a part of one. A small value to be
// passed on and copied; all members are private, as each '_' says. All zero: nowhere, which a function gives when it fails. Functions
// take such a cursor, report that it stands nowhere, and the device's first error says why.
//     spy_cursor lights = spy_create_cursor(tensor, 0, 8), third = spy_cursor_at(lights, 2);
//     spy_cursor_write(spy_cursor_field(third, "light.color"), rgb, 3, SPY_DTYPE_FLOAT32);
//     spy_cursor_apply(lights);
//     spy_release_cursor(lights);
// Threads: one at a time a range; create, over, apply: any.
typedef struct spy_cursor {
    spy_device *_device;
    struct spyi_cursor_range *_range;
    const void *_element, *_type;
    void *_data;
    int64_t _count, _index;
    size_t _offset;
} spy_cursor;

// Elements first .. first + count of a tensor in row-major order, copied to host memory; waits for the work that writes
// the tensor. Reads and writes touch the copy alone. It is released by the caller, or with the device.
SPY_API spy_cursor spy_create_cursor(spy_tensor *tensor, int64_t first, int64_t count);
// The same over the program's own memory: values of a type in C's layout, as many as size_bytes holds. `data` must stay
// there as long as the cursor is used. Nothing is copied; nothing is to be applied or released.
SPY_API spy_cursor spy_cursor_over(spy_module *module, const char *type, void *data, size_t size_bytes);

// A part by its path: "light.color", "items[3].x", "[2].mass", "transform[0][3]". Vectors have x, y, z, w (or r, g, b,
// a) and [0] to [3], matrices [row] or [row][column]. A range of one element needs no "[0]" in front. An unknown
// name is SPY_ERROR_NOT_FOUND with the nearest ones, an index beyond the end SPY_ERROR_OUT_OF_RANGE.
SPY_API spy_cursor spy_cursor_field(spy_cursor cursor, const char *path);
// Part `index` of a range, array, vector or matrix, from 0.
SPY_API spy_cursor spy_cursor_at(spy_cursor cursor, int64_t index);

// All scalars of the place, in the order of declaration, from or to `count` values of one dtype (default: float32).
// `count` must be their number. Values are converted as spy_arg_* are: one that does not fit (300 for uint8_t, 2.5 for
// int) is SPY_ERROR_OUT_OF_RANGE, and nothing is changed.
SPY_API spy_status spy_cursor_read(spy_cursor cursor, void *values, size_t count, spy_dtype dtype);
SPY_API spy_status spy_cursor_write(spy_cursor cursor, const void *values, size_t count, spy_dtype dtype);
// The place as bytes in C's layout, e.g. a whole struct. size_bytes must be its size.
SPY_API spy_status spy_cursor_read_data(spy_cursor cursor, void *data, size_t size_bytes);
SPY_API spy_status spy_cursor_write_data(spy_cursor cursor, const void *data, size_t size_bytes);

// Copy the elements that were written since the creation or the last apply to the tensor, in the device's order of
// work; all other elements stay untouched. An element is copied whole: its other fields become what they were when it was
// read. Any cursor of the range will do. Cost: an upload for each run of such elements.
SPY_API spy_status spy_cursor_apply(spy_cursor cursor);
// Give the copy of spy_create_cursor() back; what was not applied is lost. Any cursor of the range will do; all of them
// are invalid then. Nowhere and the program's own memory are ignored. Before the
// device is released. Threads: any.
SPY_API void spy_release_cursor(spy_cursor cursor);

// What a cursor stands at.
typedef struct spy_cursor_info {
    const char *type;        // Slang's name of the type at the place; of one element for a range
    spy_dtype dtype;         // when all scalars have the same; else SPY_DTYPE_DEFAULT
    int64_t length;          // parts that spy_cursor_at() takes; 0: none
    size_t scalar_count;     // what read and write expect
    size_t size_bytes;       // in C's layout
} spy_cursor_info;

// What a cursor stands at. All zero when that is nowhere, without an error.
SPY_API spy_cursor_info spy_get_cursor_info(spy_cursor cursor);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_CURSOR_H
