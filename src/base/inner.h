// Functions for several files of src/base, which no other folder uses.
#ifndef SPYI_BASE_INNER_H
#define SPYI_BASE_INNER_H

#include "base/base.h"

// Makes room for `more` bytes and the NUL behind the text. Returns false when out of memory; the text is then
// unchanged.
SPYI_FN bool spyi_text_reserve(spyi_text *t, size_t more);
SPYI_FN void spyi_text_add_args(spyi_text *t, const char *format, va_list args);

#endif // SPYI_BASE_INNER_H
