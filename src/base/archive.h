// Archives: the answers of a store in one piece of memory, which users know as packs, for programs that are shipped
// without the compiler.
//
// A pack is a head, an index that is sorted by hashes of the questions, a manifest that people and tools read, and the
// answers. A hash of all bytes is checked when it is opened: a pack that was cut, damaged or is of another format is
// refused as a whole. What it holds are answers as in any store (store.h), to questions without paths and times.
#ifndef SPYI_BASE_ARCHIVE_H
#define SPYI_BASE_ARCHIVE_H

#include "base/base.h"

typedef struct spyi_archive spyi_archive;

// Opens a pack. `bytes` must stay valid while the pack is open. With `owned` the pack frees `bytes` when it is
// closed, or here on failure. NULL, and then `error` says what is wrong with the bytes.
SPYI_FN spyi_archive *spyi_archive_open(const void *bytes, size_t size, bool owned, spyi_text *error);
// Begins a pack that is to be written.
SPYI_FN spyi_archive *spyi_archive_begin(void);
SPYI_FN void spyi_archive_close(spyi_archive *pack);
SPYI_FN bool spyi_archive_is_recording(const spyi_archive *pack);
// Threads: any, for these. `answer` gets the bytes behind what it has.
SPYI_FN bool spyi_archive_get(spyi_archive *pack, const spyi_text *question, spyi_text *answer);
SPYI_FN bool spyi_archive_has(spyi_archive *pack, const spyi_text *question);
SPYI_FN bool spyi_archive_put(spyi_archive *pack, const spyi_text *question, const spyi_text *answer);
// Gives the name of a kernel's text: a hash of it. Packs store the name instead of the text; a text that is as long as
// a name is taken as a name.
#define SPYI_ARCHIVE_NAME_BYTES 16
SPYI_FN void spyi_archive_code_name(const void *code, size_t size, uint64_t name[2]);
// Adds to a line of the manifest, whose fields have tabs between them: `count` and `bytes` are added to the numbers
// that end the line with these fields.
SPYI_FN void spyi_archive_note(spyi_archive *pack, const char *line, uint32_t count, uint64_t bytes);
// The manifest: lines of fields with tabs between them. The text lives as long as the pack that was opened.
SPYI_FN const char *spyi_archive_manifest(const spyi_archive *pack, size_t *size);
// Appends the whole pack as bytes, with what `other` (NULL: none) has besides. Returns false when out of memory.
SPYI_FN bool spyi_archive_write(spyi_archive *pack, const spyi_archive *other, spyi_text *out);

#endif // SPYI_BASE_ARCHIVE_H
