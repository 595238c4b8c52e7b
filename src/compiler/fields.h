// The fields of compiler.h's structs in a stream, for recipes and for answers kept on disk. Each function
// writes the fields, or reads them into a struct of zeros. After a failure the struct may be partly filled,
// and is freed as usual.
#ifndef SPYI_COMPILER_FIELDS_H
#define SPYI_COMPILER_FIELDS_H

#include "compiler/compiler.h"
#include "data/stream.h"

SPYI_FN void spyi_signature_fields(spyi_stream *r, spyi_signature *signature);
SPYI_FN void spyi_literals_fields(spyi_stream *r, spyi_literals *literals);
SPYI_FN void spyi_parameter_fields(spyi_stream *r, spyi_parameter *parameter);
SPYI_FN void spyi_inputs_fields(spyi_stream *r, spyi_inputs *inputs);
SPYI_FN void spyi_entry_fields(spyi_stream *r, spyi_entry *entry);
SPYI_FN void spyi_stage_fields(spyi_stream *r, spyi_stage *stage); // writes or reads everything except
                                                                   // entry.stage

#endif // SPYI_COMPILER_FIELDS_H
