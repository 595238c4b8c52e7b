// Stores: answers kept on disk by their questions, for later processes and those that run now.
//
// Each answer is a file of its own, whose name is a hash of the question. The file also has the whole question and
// a hash of all its bytes: another question's answer, and a damaged, cut or foreign file, are no answer. Files are
// written under another name and then renamed, so readers see whole files only, and processes need no lock.
// A store never fails: what it cannot read it does not have, and what it cannot write it leaves, with one warning.
#ifndef SPYI_BASE_STORE_H
#define SPYI_BASE_STORE_H

#include "base/archive.h"

typedef struct spyi_store spyi_store; // spyi_context has the device's

typedef struct spyi_store_counts {
    uint64_t hits, misses, writes; // counts of this store since it was opened
} spyi_store_counts;

// Opens a store in `folder`, which is made if it is missing (NULL: the user's cache folder). Returns NULL, and the
// log says why, when the folder cannot be used: it is a file, belongs to another user, or others can write to it.
SPYI_FN spyi_store *spyi_store_open(spyi_context *ctx, const char *folder, uint64_t most_bytes);
// Removes the answers that were not used for longest, down to nine tenths of most_bytes, if this process has written
// any. NULL is ignored.
SPYI_FN void spyi_store_close(spyi_store *store);
// A store in the memory of a pack, which is closed with it: the questions of a pack have no answers but those that it
// holds, or, while it is recorded, all that are put into it. NULL when out of memory; the pack is then closed.
SPYI_FN spyi_store *spyi_store_of_pack(spyi_context *ctx, spyi_archive *pack);
SPYI_FN spyi_archive *spyi_store_pack(const spyi_store *store); // NULL if the store is no pack's, or `store`
                                                                // is NULL
// Threads: any, for these. `answer` gets the bytes behind what it has. Returns false when there is no answer.
SPYI_FN bool spyi_store_get(spyi_store *store, const spyi_text *question, spyi_text *answer);
// Returns whether there is a file for the question; it may be damaged.
SPYI_FN bool spyi_store_has(spyi_store *store, const spyi_text *question);
SPYI_FN void spyi_store_put(spyi_store *store, const spyi_text *question, const spyi_text *answer);
SPYI_FN spyi_store_counts spyi_store_count(spyi_store *store);
SPYI_FN const char *spyi_store_folder(const spyi_store *store);
// Appends the folder that stores are in by default; nothing when the system names none.
SPYI_FN void spyi_store_default_folder(spyi_text *out);
// Removes all answers of a folder. Returns how many there were, and their bytes.
SPYI_FN uint64_t spyi_store_clear(const char *folder, uint64_t *bytes);
// Counts the answers in a folder, and their bytes.
SPYI_FN uint64_t spyi_store_size(const char *folder, uint64_t *bytes);

#endif // SPYI_BASE_STORE_H
