// What programs of gpu/ on the split library take from inside it; on the headers implementation.c has it.
#include "compiler/internal.h"
#include "hold.h"
