// Streams: values as bytes that leave the process, such as recipes and answers of the compiler. There is one
// function for each type of field; the same function writes the field, or reads it back.
#ifndef SPYI_DATA_STREAM_H
#define SPYI_DATA_STREAM_H

#include "data/type.h"

typedef struct spyi_stream {
    spyi_text *out;    // the text to which fields are written; NULL means that fields are read
    const uint8_t *at; // next byte to read
    size_t left;
    spy_status status; // after a failure all fields read as 0, and `problem` says why
    spyi_text problem;
    const char *name;        // names the bytes in messages: "recipe"
    spyi_types *table;       // the device's type table
    const spyi_type **types; // the types by their number in the stream, in the order of first use
    uint32_t type_count, type_capacity;
    bool any_struct;  // tells whether a struct whose name the table has with other fields is made instead of
                      // refused
    uint32_t depth;   // nesting of types within types
    const void *user; // data that the functions reading the stream need: the call's values, for a recipe
} spyi_stream;

// stream.c
SPYI_FN void spyi_stream_fail(spyi_stream *r, spy_status status, const char *format, ...) SPYI_PRINTF(3, 4);
SPYI_FN void spyi_stream_damaged(spyi_stream *r, const char *what);
// Reading fails with `what` unless `good` is true. Returns true when nothing has failed so far.
SPYI_FN bool spyi_stream_expect(spyi_stream *r, bool good, const char *what);
SPYI_FN void spyi_stream_raw(spyi_stream *r, void *bytes, size_t size);
SPYI_FN void spyi_stream_u8(spyi_stream *r, uint8_t *v);
SPYI_FN void spyi_stream_bool(spyi_stream *r, bool *v);
SPYI_FN void spyi_stream_u16(spyi_stream *r, uint16_t *v);
SPYI_FN void spyi_stream_u32(spyi_stream *r, uint32_t *v);
SPYI_FN void spyi_stream_u64(spyi_stream *r, uint64_t *v);
SPYI_FN void spyi_stream_dims(spyi_stream *r, int64_t *dims); // writes or reads SPY_MAX_RANK numbers
// writes or reads a number below `count`
SPYI_FN uint32_t spyi_stream_enum(spyi_stream *r, uint32_t v, uint32_t count);
SPYI_FN void spyi_stream_text(spyi_stream *r, char **v);      // writes or reads a text; NULL stays NULL
SPYI_FN void spyi_stream_bytes(spyi_stream *r, spyi_text *v); // writes or reads the bytes unchanged; when
                                                              // reading, `v` must be empty
// Writes or reads a list's length, which is at most `most`. Reading also allocates *items, zeroed. Each item
// takes at least one byte of the stream.
SPYI_FN void spyi_stream_list(spyi_stream *r, uint32_t *count, uint32_t most, void **items, size_t item_size);

// stream_type.c
SPYI_FN void spyi_stream_type(spyi_stream *r, const spyi_type **type); // writes or reads a type; NULL stays
                                                                       // NULL

#endif // SPYI_DATA_STREAM_H
