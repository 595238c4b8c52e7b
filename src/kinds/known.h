// Kinds by name, for recipes (plan/recipe.h). Several kinds may share a name; their traits and field_op tell them
// apart.
#ifndef SPYI_KINDS_KNOWN_H
#define SPYI_KINDS_KNOWN_H

#include "kinds/kinds.h"

// Returns the kind with this name, traits and field_op. NULL means that there is none, or that it is a custom
// argument's own kind, which is in spyi_value.custom.
SPYI_FN const spyi_value_kind *spyi_kind_known(const char *name, uint32_t traits, uint8_t field_op);
SPYI_FN bool spyi_kind_is(const spyi_value_kind *kind, const char *name, uint32_t traits, uint8_t field_op);

#endif // SPYI_KINDS_KNOWN_H
