// Archives: the answers of a store in one piece of memory, which users know as packs, for programs that are
// shipped without the compiler. A pack is a head, an index that is sorted by hashes of the questions, a
// manifest that people and tools read, and the answers. A hash of all bytes is checked when a pack is opened:
// a pack that was cut, damaged or is of another format is refused as a whole. Its answers are those of any
// store (store.h), to questions without paths and times.
#ifndef SPYI_BASE_ARCHIVE_H
#define SPYI_BASE_ARCHIVE_H

#include "base/base.h"

typedef struct spyi_archive spyi_archive;

// Opens a pack. `bytes` must stay valid while the pack is open. With `owned` the pack frees `bytes` when it
// is closed, or here on failure. Returns NULL if the bytes are no pack; `error` says what is wrong with them.
SPYI_FN spyi_archive *spyi_archive_open(const void *bytes, size_t size, bool owned, spyi_text *error);
// Begins a pack that is recorded.
SPYI_FN spyi_archive *spyi_archive_begin(void);
SPYI_FN void spyi_archive_close(spyi_archive *pack);
SPYI_FN bool spyi_archive_is_recording(const spyi_archive *pack);
// Finds and puts an answer. spyi_archive_get() appends the answer's bytes to `answer`. Threads: any.
SPYI_FN bool spyi_archive_get(spyi_archive *pack, const spyi_text *question, spyi_text *answer);
SPYI_FN bool spyi_archive_has(spyi_archive *pack, const spyi_text *question);
SPYI_FN bool spyi_archive_put(spyi_archive *pack, const spyi_text *question, const spyi_text *answer);
// spyi_archive_name() returns the name of a kernel's text, which is a hash of the text. Packs store the name
// instead of the text; a text that is as long as a name is taken for a name.
#define SPYI_ARCHIVE_NAME_BYTES 16
SPYI_FN void spyi_archive_code_name(const void *code, size_t size, uint64_t name[2]);
// Adds to a line of the manifest, whose fields have tabs between them: `count` and `bytes` are added to the numbers
// that end the line with these fields.
SPYI_FN void spyi_archive_note(spyi_archive *pack, const char *line, uint32_t count, uint64_t bytes);
// Returns the manifest: lines of fields with tabs between them. The text lives as long as the pack that was
// opened.
SPYI_FN const char *spyi_archive_manifest(const spyi_archive *pack, size_t *size);
// Appends all of the pack's bytes, together with the answers that only `other` has (NULL means no other).
// Returns false when out of memory.
SPYI_FN bool spyi_archive_write(spyi_archive *pack, const spyi_archive *other, spyi_text *out);

#endif // SPYI_BASE_ARCHIVE_H
