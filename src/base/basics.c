// The public functions of api/base.h: texts of statuses, names and sizes of scalar types, the log to stderr.
#include "base/base.h"

const char *spy_status_text(spy_status status) {
    static const struct {
        spy_status status;
        const char *text;
    } texts[] = {
#define SPYI_STATUS_TEXT(name, value, text) { name, text },
        SPY_STATUS_LIST(SPYI_STATUS_TEXT)
#undef SPYI_STATUS_TEXT
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].status == status) return texts[i].text;
    return "an unknown status";
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

// In the order of spy_dtype. SPY_DTYPE_DEFAULT stands for float32.
static const struct {
    const char *name;
    size_t size;
} spyi_dtypes[SPY_DTYPE_COUNT] = {
    { "float", 4 },    { "bool", 1 },  { "int8_t", 1 }, { "uint8_t", 1 }, { "int16_t", 2 },
    { "uint16_t", 2 }, { "int", 4 },   { "uint", 4 },   { "int64_t", 8 }, { "uint64_t", 8 },
    { "half", 2 },     { "float", 4 }, { "double", 8 },
};

size_t spy_dtype_size_bytes(spy_dtype dtype) {
    return (unsigned)dtype < SPY_DTYPE_COUNT ? spyi_dtypes[dtype].size : 0;
}

const char *spy_dtype_name(spy_dtype dtype) {
    return (unsigned)dtype < SPY_DTYPE_COUNT ? spyi_dtypes[dtype].name : "?";
}

bool spyi_dtype_is_float(spy_dtype dtype) {
    return dtype == SPY_DTYPE_FLOAT16 || dtype == SPY_DTYPE_FLOAT32 || dtype == SPY_DTYPE_FLOAT64;
}

size_t spyi_align(size_t value, size_t alignment) {
    SPYI_ASSERT(alignment > 0);
    return (value + alignment - 1) / alignment * alignment;
}
