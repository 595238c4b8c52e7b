// The compiler's memory on disk: answers of libslang by their questions, so that a later process gets them without
// libslang.
//
// A unit whose files are those of an earlier process is not opened: it has the identity of that unit, and the
// questions are answered from disk. The first question without an answer opens it, from the modules in serialized
// form. Each function of compiler.h asks here before it asks libslang:
//
//     spyi_memo m;
//     spyi_memo_ask(&m, unit, SORT, name);
//     if (spyi_memo_recall(&m, fields, &answer)) { ... it is known }
//     else { ask libslang; spyi_memo_keep(&m, fields, &answer); }
//     spyi_memo_end(&m);
#ifndef SPYI_COMPILER_MEMO_H
#define SPYI_COMPILER_MEMO_H

#include "base/store.h"
#include "compiler/fields.h"
#include "compiler/internal.h"

typedef struct spyi_memo {
    spyi_unit *unit; // NULL means that the unit has no memory
    spyi_text question;
} spyi_memo;

// Writes the fields of an answer, or reads them.
typedef void (*spyi_memo_fields)(spyi_stream *r, void *answer);

// Begins a question about the unit. `kind` names the question; `name` is a part of it, or NULL.
SPYI_FN void spyi_memo_ask(spyi_memo *m, spyi_unit *unit, char kind, const char *name);
SPYI_FN void spyi_memo_add_number(spyi_memo *m, uint64_t number);
SPYI_FN void spyi_memo_add_text(spyi_memo *m, const char *text);
SPYI_FN void spyi_memo_add_type(spyi_memo *m, const spyi_type *type);
// Returns whether the answer is known, and reads it into `answer`. After false, `answer` may be partly
// filled.
SPYI_FN bool spyi_memo_recall(spyi_memo *m, spyi_memo_fields fields, void *answer);
SPYI_FN void spyi_memo_keep(spyi_memo *m, spyi_memo_fields fields, void *answer);
SPYI_FN void spyi_memo_end(spyi_memo *m);

// The fields of the simplest answers.
SPYI_FN void spyi_memo_bool(spyi_stream *r, void *answer); // reads or writes a bool
SPYI_FN void spyi_memo_type(spyi_stream *r, void *answer); // reads or writes a const spyi_type *

// >>units

// Gives the unit, whose own text is `content`, the identity and the answers of an earlier process. Returns
// false if there are none; the caller must then open the unit and call spyi_memo_keep_unit().
SPYI_FN bool spyi_memo_recall_unit(spyi_unit *unit, const spyi_text *content, spyi_text *warnings);
SPYI_FN void spyi_memo_keep_unit(spyi_unit *unit, const spyi_text *content, const spyi_text *warnings);
// Gives the unit the pack's answers under the unit's name; its file is not read. `error` says what is
// missing.
SPYI_FN spy_status spyi_memo_recall_packed(spyi_unit *unit, spyi_text *warnings, spyi_text *error);
// Opens the session of a unit that has had its answers from disk. Returns NULL if its modules are no longer
// on disk and its files have changed.
SPYI_FN spyi_sl_live *spyi_memo_wake(spyi_unit *unit);
// Fills unit->stored, and that of the units that it links, from disk. Returns false if they are not there.
SPYI_FN bool spyi_memo_recall_stored(spyi_unit *unit);
// Fills the serialized forms of embedded modules from disk, and keeps those that a session has compiled.
SPYI_FN void spyi_memo_recall_embedded(spyi_compiler *compiler);
SPYI_FN void spyi_memo_keep_embedded(spyi_compiler *compiler);

#endif // SPYI_COMPILER_MEMO_H
