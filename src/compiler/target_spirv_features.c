// Reads which of the device's features SPIR-V code declares to need. Source: SPIR-V 1.6, section 3.31.
#include "compiler/target.h"

SPYI_FN uint32_t spyi_code_features(const spyi_code *code) {
    static const struct {
        uint32_t capability, feature;
    } known[] = { { 9, SPY_FEATURE_FLOAT16 },
                  { 10, SPY_FEATURE_FLOAT64 },
                  { 11, SPY_FEATURE_INT64 },
                  { 22, SPY_FEATURE_INT16 },
                  { 39, SPY_FEATURE_INT8 },
                  { 61, SPY_FEATURE_SUBGROUPS },
                  { 63, SPY_FEATURE_SUBGROUPS },
                  { 64, SPY_FEATURE_SUBGROUPS },
                  { 65, SPY_FEATURE_SUBGROUPS },
                  { 5347, SPY_FEATURE_POINTERS },
                  { 5431, SPY_FEATURE_COOPERATIVE_MATRIX_CONVERSIONS },
                  { 6022, SPY_FEATURE_COOPERATIVE_MATRIX },
                  { 6033, SPY_FEATURE_ATOMIC_FLOAT32_ADD } };
    uint32_t features = 0;
    uint32_t word[2];
    // Capabilities come first, two words each, behind the five words of the head.
    for (size_t at = 20; code->size >= at + sizeof word; at += sizeof word) {
        memcpy(word, (const char *)code->data + at, sizeof word);
        if (word[0] != (2u << 16 | SPYI_OP_CAPABILITY)) break;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (known[i].capability == word[1]) features |= known[i].feature;
    }
    return features;
}
