// The public functions of api/base.h: texts of statuses, names and sizes of scalar types, the log to stderr.
#include "base/base.h"

const char *spy_status_text(spy_status status) {
    switch (status) {
#define SPYI_STATUS_CASE(name, value, text)                                                                  \
    case name: return text;
        SPY_STATUS_LIST(SPYI_STATUS_CASE)
#undef SPYI_STATUS_CASE
    default: return "an unknown status";
    }
}

void spy_log_stderr(spy_log_level level, const char *message, void *user_data) {
    const char *word = "debug";
    (void)user_data;
    if (level <= SPY_LOG_LEVEL_ERROR) word = "error";
    else if (level == SPY_LOG_LEVEL_WARNING) word = "warning";
    else if (level == SPY_LOG_LEVEL_INFO) word = "info";
    // The line is written by one call, so that stdio's lock keeps the lines of several threads apart.
    fprintf(stderr, "slangpy: %s: %s\n", word, message ? message : "");
}

// SPY_DTYPE_DEFAULT stands for float32, and has its size.
size_t spy_dtype_size_bytes(spy_dtype dtype) {
    switch (dtype) {
    case SPY_DTYPE_BOOL:
    case SPY_DTYPE_INT8:
    case SPY_DTYPE_UINT8: return 1;
    case SPY_DTYPE_INT16:
    case SPY_DTYPE_UINT16:
    case SPY_DTYPE_FLOAT16: return 2;
    case SPY_DTYPE_DEFAULT:
    case SPY_DTYPE_INT32:
    case SPY_DTYPE_UINT32:
    case SPY_DTYPE_FLOAT32: return 4;
    case SPY_DTYPE_INT64:
    case SPY_DTYPE_UINT64:
    case SPY_DTYPE_FLOAT64: return 8;
    default: return 0;
    }
}

const char *spy_dtype_name(spy_dtype dtype) {
    switch (dtype) {
    case SPY_DTYPE_BOOL: return "bool";
    case SPY_DTYPE_INT8: return "int8_t";
    case SPY_DTYPE_UINT8: return "uint8_t";
    case SPY_DTYPE_INT16: return "int16_t";
    case SPY_DTYPE_UINT16: return "uint16_t";
    case SPY_DTYPE_INT32: return "int";
    case SPY_DTYPE_UINT32: return "uint";
    case SPY_DTYPE_INT64: return "int64_t";
    case SPY_DTYPE_UINT64: return "uint64_t";
    case SPY_DTYPE_FLOAT16: return "half";
    case SPY_DTYPE_DEFAULT:
    case SPY_DTYPE_FLOAT32: return "float";
    case SPY_DTYPE_FLOAT64: return "double";
    default: return "?";
    }
}

bool spyi_dtype_is_float(spy_dtype dtype) {
    return dtype == SPY_DTYPE_FLOAT16 || dtype == SPY_DTYPE_FLOAT32 || dtype == SPY_DTYPE_FLOAT64;
}

size_t spyi_align(size_t value, size_t alignment) {
    SPYI_ASSERT(alignment > 0);
    return (value + alignment - 1) / alignment * alignment;
}
