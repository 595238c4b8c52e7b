// Texture and sampler types of Slang, known by their names: "RWTexture2DArray<vector<float,4>>".
#ifndef SPYI_TEXTURE_FORM_H
#define SPYI_TEXTURE_FORM_H

#include "api/texture.h"
#include "backend/interface.h"
#include "data/type_name.h"

typedef struct spyi_texture_form {
    uint8_t kind; // a spyi_parameter_kind: SPYI_PARAMETER_TEXTURE or a kind after it
    uint8_t type; // a spy_texture_type, but not DEFAULT; 0 for a sampler
    bool array, multisampled;
    bool comparison; // the type is SamplerComparisonState
    bool write_only; // the type is WTexture2D<T> or a similar one
} spyi_texture_form;

// Reads the name of a type. Returns false when it is neither a texture nor a sampler. `base` is the name
// without namespace and arguments, or NULL to take it from `name`.
SPYI_FN bool spyi_texture_form_read(const char *name, const char *base, spyi_texture_form *out);
// Returns the type of the texels; NULL means that shaders cannot have such a texture, or the type is not
// concrete.
SPYI_FN const spyi_type *spyi_texture_form_texel(spyi_types *types, const char *name);
// Returns the name that Slang has for a format of stored textures, such as "rgba8", and SPIR-V's number of
// it. NULL means that they do not know the format.
SPYI_FN const char *spyi_format_layout(uint32_t format, uint32_t *spirv);
// Writes the type's name with these texels, as Slang code spells it: "Texture2DArray<float4>".
SPYI_FN void spyi_texture_form_spell(const spyi_texture_form *type, const spyi_type *texel, spyi_text *out);

#endif // SPYI_TEXTURE_FORM_H
