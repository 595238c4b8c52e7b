// Stores: answers that are kept on disk by their questions, for later processes and for those that run at the
// same time. Each answer is a file, whose name is a hash of the question. The file also has the whole
// question and a hash of all its bytes, so that another question's answer and a damaged, cut or foreign file
// are not taken for an answer. Files are written under another name and then renamed, so readers see complete
// files only, and processes need no lock. A store never fails: a file that it cannot read is no answer, and a
// file that it cannot write gives one warning.
#ifndef SPYI_BASE_STORE_H
#define SPYI_BASE_STORE_H

#include "base/archive.h"

typedef struct spyi_store spyi_store; // the device's store is in spyi_context

typedef struct spyi_store_counts {
    uint64_t hits, misses, writes; // counts of this store since it was opened
} spyi_store_counts;

// Opens a store in `folder`, which is made if it is missing (NULL means the user's cache folder). Returns
// NULL, and the log says why, when the folder cannot be used: it is a file, belongs to another user, or
// others can write to it.
SPYI_FN spyi_store *spyi_store_open(spyi_context *ctx, const char *folder, uint64_t most_bytes);
// Removes the answers that were not used for longest, down to nine tenths of most_bytes, if this process has written
// any. NULL is ignored.
SPYI_FN void spyi_store_close(spyi_store *store);
// Makes a store in the memory of a pack, which is closed with the store. Its questions have only the answers
// that the pack holds or, while the pack is recorded, those that are put into it. Returns NULL when out of
// memory; the pack is then closed.
SPYI_FN spyi_store *spyi_store_of_pack(spyi_context *ctx, spyi_archive *pack);
SPYI_FN spyi_archive *spyi_store_pack(const spyi_store *store); // returns NULL if the store has no pack, or
                                                                // if `store` is NULL
// Finds the answer to a question, and appends its bytes to `answer`. Returns false if there is none. Threads:
// any.
SPYI_FN bool spyi_store_get(spyi_store *store, const spyi_text *question, spyi_text *answer);
// Returns whether there is a file for the question; it may be damaged.
SPYI_FN bool spyi_store_has(spyi_store *store, const spyi_text *question);
SPYI_FN void spyi_store_put(spyi_store *store, const spyi_text *question, const spyi_text *answer);
SPYI_FN spyi_store_counts spyi_store_count(spyi_store *store);
// Appends the folder that stores are in by default; appends nothing if the system names none.
SPYI_FN void spyi_store_default_folder(spyi_text *out);

#endif // SPYI_BASE_STORE_H
