// Cursors read and write fields of structs in host memory by name, with the conversions and checks of
// arguments.
#ifndef SPY_API_CURSOR_H
#define SPY_API_CURSOR_H

#include "api/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// A cursor refers to typed host memory: to a range of elements, to one element, or to a part of an element.
// It is a small value that may be copied freely; all members are private. An all-zero cursor refers to
// nothing. A function that fails returns such a cursor; other functions accept it and report an error, and
// the device's first error tells why the earlier function failed.
//     spy_cursor lights = spy_create_cursor(tensor, 0, 8), third = spy_cursor_at(lights, 2);
//     spy_cursor_write(spy_cursor_field(third, "light.color"), rgb, 3, SPY_DTYPE_FLOAT32);
//     spy_cursor_apply(lights);
//     spy_release_cursor(lights);
// Threads: one thread at a time may use the cursors of one range; spy_create_cursor, spy_cursor_over,
// spy_cursor_apply: any.
typedef struct spy_cursor {
    spy_device *_device;
    struct spyi_cursor_range *_range;
    const void *_element, *_type;
    void *_data;
    int64_t _count, _index;
    size_t _offset;
} spy_cursor;

// Copies `count` elements of a tensor, from element `first` on in row-major order, to host memory and returns
// a cursor at this range. Waits for the work that writes the tensor. Reads and writes by the cursor touch
// only the copy. The copy is released by the caller (spy_release_cursor), or with the device.
SPY_API spy_cursor spy_create_cursor(spy_tensor *tensor, int64_t first, int64_t count);
// Returns a cursor at the program's own memory: an array of values of `type` in C's layout, as many as
// size_bytes holds. `data` must stay valid as long as the cursor is used. Nothing is copied, and the cursor
// needs no apply and no release.
SPY_API spy_cursor spy_cursor_over(spy_module *module, const char *type, void *data, size_t size_bytes);

// Returns a cursor at the part with this path: "light.color", "items[3].x", "[2].mass", "transform[0][3]".
// Vectors have x, y, z, w (or r, g, b, a) and [0] to [3], matrices have [row] and [row][column]. For a range
// of one element the path needs no "[0]" in front. An unknown name is SPY_ERROR_NOT_FOUND, whose text lists
// the nearest names; an index beyond the end is SPY_ERROR_OUT_OF_RANGE.
SPY_API spy_cursor spy_cursor_field(spy_cursor cursor, const char *path);
// Returns a cursor at part `index` (from 0) of a range, array, vector or matrix (whose parts are its rows).
SPY_API spy_cursor spy_cursor_at(spy_cursor cursor, int64_t index);

// Read or write all scalars at the cursor, in the order of declaration, as `count` values of one dtype
// (default: float32). `count` must be the number of these scalars (spy_cursor_info.scalar_count). Values are
// converted by the rules for spy_arg_*: when a value does not fit (300 for uint8_t, 2.5 for int), the
// functions return SPY_ERROR_OUT_OF_RANGE and change nothing.
SPY_API spy_status spy_cursor_read(spy_cursor cursor, void *values, size_t count, spy_dtype dtype);
SPY_API spy_status spy_cursor_write(spy_cursor cursor, const void *values, size_t count, spy_dtype dtype);
// Read or write all bytes at the cursor in C's layout, e.g. a complete struct. size_bytes must be
// spy_cursor_info.size_bytes.
SPY_API spy_status spy_cursor_read_data(spy_cursor cursor, void *data, size_t size_bytes);
SPY_API spy_status spy_cursor_write_data(spy_cursor cursor, const void *data, size_t size_bytes);

// Copies the elements that were written since the creation or the last apply back to the tensor, in the
// device's order of work. Other elements of the tensor are not changed. All fields of a written element are
// copied: a field that was not written gets the value that it had when the cursor was created. Any cursor of
// the range may be given. Cost: one upload for each run of consecutive written elements.
SPY_API spy_status spy_cursor_apply(spy_cursor cursor);
// Frees the copy of spy_create_cursor(); writes that were not applied are lost. Any cursor of the range may
// be given; all cursors of the range are invalid afterwards. All-zero cursors, and cursors at the program's
// own memory, are ignored. Call it before the device is released. Threads: any.
SPY_API void spy_release_cursor(spy_cursor cursor);

// The type and size of the memory that a cursor refers to.
typedef struct spy_cursor_info {
    const char *type;        // Slang's name of the type; for a range, of one element's type
    spy_dtype dtype;         // the type of all scalars; SPY_DTYPE_DEFAULT if they differ
    int64_t length;          // the number of parts for spy_cursor_at(); 0 means no parts
    size_t scalar_count;     // the number of scalars: `count` of read and write
    size_t size_bytes;       // the bytes in C's layout
} spy_cursor_info;

// Returns the type and size of the memory that a cursor refers to; all zero, without an error, for an
// all-zero cursor.
SPY_API spy_cursor_info spy_get_cursor_info(spy_cursor cursor);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_CURSOR_H
