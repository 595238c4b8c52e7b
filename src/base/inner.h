// What base's own files share among themselves and show to no other room.
#ifndef SPYI_BASE_INNER_H
#define SPYI_BASE_INNER_H

#include "base/base.h"

// Room for `more` bytes and the NUL behind the text; false when out of memory, and the text is unchanged.
SPYI_FN bool spyi_text_reserve(spyi_text *t, size_t more);
SPYI_FN void spyi_text_add_args(spyi_text *t, const char *format, va_list args);

#endif // SPYI_BASE_INNER_H
