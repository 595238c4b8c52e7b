// Reads and spells the names of Slang's texture and sampler types.
#include "data/texture_form.h"

// Slang's own name for all textures, which its reflection gives for those without an alias:
// _Texture<T, shape, array, multisampled, samples, access, shadow, combined, format>.
static bool spyi_texture_form_plain(const char *name, spyi_texture_form *out) {
    static const struct {
        const char *shape;
        uint8_t type;
    } shapes[] = { { "__Shape1D,", SPY_TEXTURE_TYPE_1D },
                   { "__Shape2D,", SPY_TEXTURE_TYPE_2D },
                   { "__Shape3D,", SPY_TEXTURE_TYPE_3D },
                   { "__ShapeCube,", SPY_TEXTURE_TYPE_CUBE } };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const char *at = strstr(name, shapes[i].shape);
        int array, multisampled, samples, access, shadow, combined;
        if (!at || sscanf(at + strlen(shapes[i].shape), "%d, %d, %d, %d, %d, %d", &array, &multisampled,
                          &samples, &access, &shadow, &combined) != 6)
            continue;
        out->kind = (uint8_t)(combined ? SPYI_PARAMETER_COMBINED
                              : access ? SPYI_PARAMETER_RW_TEXTURE
                                       : SPYI_PARAMETER_TEXTURE);
        out->type = shapes[i].type;
        out->array = array != 0;
        out->multisampled = multisampled != 0;
        out->write_only = access == 2;
        return access >= 0 && access <= 3;
    }
    return false;
}

static bool spyi_skip_word(const char **at, const char *word) {
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0) return false;
    *at += length;
    return true;
}

SPYI_FN bool spyi_texture_form_read(const char *name, const char *base, spyi_texture_form *out) {
    static const char *const dimensions[] = { "1D", "2D", "3D", "Cube" };
    char own[64];
    memset(out, 0, sizeof *out);
    if (!base) {
        size_t length = strcspn(name, "<[");
        const char *begin = name, *end = name + length;
        // the name is that of an array
        if (name[length] == '[' || (length && name[strlen(name) - 1] == ']')) return false;
        for (const char *c = name; c < end; c++)
            if (*c == '.' || *c == ':') begin = c + 1;
        snprintf(own, sizeof own, "%.*s", (int)(end - begin), begin);
        base = own;
    }
    out->kind = SPYI_PARAMETER_SAMPLER;
    out->comparison = strcmp(base, "SamplerComparisonState") == 0;
    if (out->comparison || strcmp(base, "SamplerState") == 0) return true;
    if (strcmp(base, "_Texture") == 0) return spyi_texture_form_plain(name, out);
    bool stores = spyi_skip_word(&base, "RasterizerOrdered") || spyi_skip_word(&base, "RW");
    out->write_only = !stores && spyi_skip_word(&base, "W");
    stores = stores || out->write_only;
    bool combined = !stores && spyi_skip_word(&base, "Sampler");
    if (!combined && !spyi_skip_word(&base, "Texture")) return false;
    out->kind = (uint8_t)(combined ? SPYI_PARAMETER_COMBINED
                          : stores ? SPYI_PARAMETER_RW_TEXTURE
                                   : SPYI_PARAMETER_TEXTURE);
    for (uint8_t i = 0; i < 4 && !out->type; i++)
        if (spyi_skip_word(&base, dimensions[i])) out->type = (uint8_t)(SPY_TEXTURE_TYPE_1D + i);
    while (*base && (spyi_skip_word(&base, "Array") ? (out->array = true)
                     : spyi_skip_word(&base, "MS")  ? (out->multisampled = true)
                                                    : spyi_skip_word(&base, "Shadow"))) {}
    return out->type && !*base;
}

SPYI_FN const spyi_type *spyi_texture_form_texel(spyi_types *types, const char *name) {
    spyi_type_parts parts;
    spyi_split_type(name, &parts);
    const char *texel = parts.arguments[0];
    if (texel && !spyi_skip_word(&texel, "unorm ")) (void)spyi_skip_word(&texel, "snorm ");
    const spyi_type *type = texel ? spyi_type_parse(types, texel) : NULL;
    spyi_free_parts(&parts);
    return type && (type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR) ? type : NULL;
}

SPYI_FN void spyi_texture_form_spell(const spyi_texture_form *type, const spyi_type *texel, spyi_text *out) {
    static const char *const dimensions[] = { "2D", "1D", "2D", "3D", "Cube" };
    if (type->kind == SPYI_PARAMETER_SAMPLER) {
        spyi_text_add(out, type->comparison ? "SamplerComparisonState" : "SamplerState");
        return;
    }
    spyi_text_add(out, "%s%s%s%s<%s>",
                  type->kind == SPYI_PARAMETER_COMBINED     ? "Sampler"
                  : type->write_only                        ? "WTexture"
                  : type->kind == SPYI_PARAMETER_RW_TEXTURE ? "RWTexture"
                                                            : "Texture",
                  dimensions[type->type], type->multisampled ? "MS" : "", type->array ? "Array" : "",
                  spyi_spell(texel));
}

// SPIR-V's numbers of formats. Source: SPIR-V 1.6, "Image Format".
static const struct {
    uint8_t format, spirv;
    const char *name;
} spyi_layouts[] = {
    { SPY_FORMAT_R8_UINT, 39, "r8ui" },
    { SPY_FORMAT_R8_SINT, 29, "r8i" },
    { SPY_FORMAT_R8_UNORM, 15, "r8" },
    { SPY_FORMAT_R8_SNORM, 20, "r8_snorm" },
    { SPY_FORMAT_RG8_UINT, 37, "rg8ui" },
    { SPY_FORMAT_RG8_SINT, 27, "rg8i" },
    { SPY_FORMAT_RG8_UNORM, 13, "rg8" },
    { SPY_FORMAT_RG8_SNORM, 18, "rg8_snorm" },
    { SPY_FORMAT_RGBA8_UINT, 32, "rgba8ui" },
    { SPY_FORMAT_RGBA8_SINT, 23, "rgba8i" },
    { SPY_FORMAT_RGBA8_UNORM, 4, "rgba8" },
    { SPY_FORMAT_RGBA8_SNORM, 5, "rgba8_snorm" },
    { SPY_FORMAT_R16_UINT, 38, "r16ui" },
    { SPY_FORMAT_R16_SINT, 28, "r16i" },
    { SPY_FORMAT_R16_UNORM, 14, "r16" },
    { SPY_FORMAT_R16_SNORM, 19, "r16_snorm" },
    { SPY_FORMAT_R16_FLOAT, 9, "r16f" },
    { SPY_FORMAT_RG16_UINT, 36, "rg16ui" },
    { SPY_FORMAT_RG16_SINT, 26, "rg16i" },
    { SPY_FORMAT_RG16_UNORM, 12, "rg16" },
    { SPY_FORMAT_RG16_SNORM, 17, "rg16_snorm" },
    { SPY_FORMAT_RG16_FLOAT, 7, "rg16f" },
    { SPY_FORMAT_RGBA16_UINT, 31, "rgba16ui" },
    { SPY_FORMAT_RGBA16_SINT, 22, "rgba16i" },
    { SPY_FORMAT_RGBA16_UNORM, 10, "rgba16" },
    { SPY_FORMAT_RGBA16_SNORM, 16, "rgba16_snorm" },
    { SPY_FORMAT_RGBA16_FLOAT, 2, "rgba16f" },
    { SPY_FORMAT_R32_UINT, 33, "r32ui" },
    { SPY_FORMAT_R32_SINT, 24, "r32i" },
    { SPY_FORMAT_R32_FLOAT, 3, "r32f" },
    { SPY_FORMAT_RG32_UINT, 35, "rg32ui" },
    { SPY_FORMAT_RG32_SINT, 25, "rg32i" },
    { SPY_FORMAT_RG32_FLOAT, 6, "rg32f" },
    { SPY_FORMAT_RGBA32_UINT, 30, "rgba32ui" },
    { SPY_FORMAT_RGBA32_SINT, 21, "rgba32i" },
    { SPY_FORMAT_RGBA32_FLOAT, 1, "rgba32f" },
    { SPY_FORMAT_R64_UINT, 40, "r64ui" },
    { SPY_FORMAT_R64_SINT, 41, "r64i" },
    { SPY_FORMAT_RGB10A2_UINT, 34, "rgb10_a2ui" },
    { SPY_FORMAT_RGB10A2_UNORM, 11, "rgb10_a2" },
    { SPY_FORMAT_R11G11B10_FLOAT, 8, "r11f_g11f_b10f" },
};

SPYI_FN const char *spyi_format_layout(uint32_t format, uint32_t *spirv) {
    for (size_t i = 0; i < sizeof spyi_layouts / sizeof spyi_layouts[0]; i++) {
        if (spyi_layouts[i].format != format) continue;
        *spirv = spyi_layouts[i].spirv;
        return spyi_layouts[i].name;
    }
    return NULL;
}
