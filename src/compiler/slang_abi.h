// libslang's binary interface in C: COM objects as structs with a table of functions, descs, and flat
// functions. slang.h cannot be included, because it is C++. Functions that we never call have a slot too, so
// that tools/check_abi can compare every slot, offset and size with the real slang.h. Source: slang.h of
// 2026.12; 2026.14.1 has the same interface.
#ifndef SPYI_COMPILER_SLANG_ABI_H
#define SPYI_COMPILER_SLANG_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int32_t spyi_sl_result; // negative values are failures
typedef int64_t spyi_sl_int;

#define SPYI_SL_OK 0
#define SPYI_SL_NO_INTERFACE ((spyi_sl_result)(-2147483647 - 1 + 0x4002)) // 0x80004002
#define SPYI_SL_NOT_FOUND ((spyi_sl_result)(-2113929216 + 5))             // 0x82000005

typedef struct spyi_sl_uuid {
    uint32_t data1;
    uint16_t data2, data3;
    uint8_t data4[8];
} spyi_sl_uuid;

// Initializers of a spyi_sl_uuid.
// clang-format off
#define SPYI_SL_UUID_UNKNOWN { 0x00000000, 0x0000, 0x0000, { 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x46 } }
#define SPYI_SL_UUID_CASTABLE { 0x87ede0e1, 0x4852, 0x44b0, { 0x8b, 0xf2, 0xcb, 0x31, 0x87, 0x4d, 0xe2, 0x39 } }
#define SPYI_SL_UUID_FILES { 0x003a09fc, 0x3a4d, 0x4ba0, { 0xad, 0x60, 0x1f, 0xd8, 0x63, 0xa9, 0x15, 0xab } }
// clang-format on

// >>numbers of slang.h's enums

enum { SPYI_SL_TARGET_SPIRV = 6, SPYI_SL_TARGET_CUDA_SOURCE = 17 };
enum {
    SPYI_SL_TARGET_FLAG_SPIRV_DIRECTLY = 1 << 10,
    SPYI_SL_MATRIX_ROW_MAJOR = 1,
    SPYI_SL_LINE_DIRECTIVES_DEFAULT = 0,
    SPYI_SL_LINE_DIRECTIVES_NONE = 1
};
enum {
    SPYI_SL_OPTION_SKIP_SPIRV_VALIDATION = 29,
    SPYI_SL_OPTION_FLOAT_MODE = 43,
    SPYI_SL_OPTION_DEBUG_INFO = 44,
    SPYI_SL_OPTION_OPTIMIZATION = 46,
    SPYI_SL_OPTION_USE_ENTRY_POINT_NAME = 52,
    SPYI_SL_OPTION_SCALAR_LAYOUT = 55,
    SPYI_SL_OPTION_EXPERIMENTAL = 130,
    SPYI_SL_OPTION_MACHINE_READABLE_DIAGNOSTICS = 143,
    SPYI_SL_OPTION_DIAGNOSTIC_COLOR = 144
};
enum { SPYI_SL_OPTION_KIND_INT = 0 };
enum { SPYI_SL_FLOAT_FAST = 1, SPYI_SL_FLOAT_PRECISE = 2, SPYI_SL_PASS_THROUGH_SPIRV_OPT = 11 };
enum { SPYI_SL_LANGUAGE_CUDA = 6 };
enum {
    SPYI_SL_OPTIMIZATION_NONE = 0,
    SPYI_SL_OPTIMIZATION_DEFAULT = 1,
    SPYI_SL_OPTIMIZATION_HIGH = 2,
    SPYI_SL_OPTIMIZATION_MAXIMAL = 3,
    SPYI_SL_DEBUG_MINIMAL = 1,
    SPYI_SL_DEBUG_STANDARD = 2
};
enum {
    SPYI_SL_STAGE_VERTEX = 1,
    SPYI_SL_STAGE_FRAGMENT = 5,
    SPYI_SL_STAGE_COMPUTE = 6,
    SPYI_SL_STAGE_DISPATCH = 15
};
enum {
    SPYI_SL_CATEGORY_INPUT = 5,   // locations of a stage's inputs
    SPYI_SL_CATEGORY_OUTPUT = 6,  // locations of a stage's outputs
    SPYI_SL_CATEGORY_UNIFORM = 8, // the bytes of uniform data
    SPYI_SL_CATEGORY_DESCRIPTOR = 9,
    SPYI_SL_CATEGORY_CONSTANT = 10, // specialization constants
    SPYI_SL_CATEGORY_PUSH = 11,
    SPYI_SL_CATEGORY_REGISTER_SPACE = 20 // the register space of a parameter block
};
enum { SPYI_SL_COLOR_NEVER = 2 };
enum {
    SPYI_SL_KIND_STRUCT = 1,
    SPYI_SL_KIND_ARRAY = 2,
    SPYI_SL_KIND_MATRIX = 3,
    SPYI_SL_KIND_VECTOR = 4,
    SPYI_SL_KIND_SCALAR = 5,
    SPYI_SL_KIND_CONSTANT_BUFFER = 6,
    SPYI_SL_KIND_RESOURCE = 7,
    SPYI_SL_KIND_SAMPLER_STATE = 8,
    SPYI_SL_KIND_TEXTURE_BUFFER = 9,
    SPYI_SL_KIND_SHADER_STORAGE_BUFFER = 10,
    SPYI_SL_KIND_PARAMETER_BLOCK = 11,
    SPYI_SL_KIND_INTERFACE = 13,
    SPYI_SL_KIND_FEEDBACK = 17,
    SPYI_SL_KIND_POINTER = 18,
    SPYI_SL_KIND_DYNAMIC_RESOURCE = 19,
    SPYI_SL_KIND_ENUM = 20
};
enum {
    SPYI_SL_SHAPE_MASK = 15,
    SPYI_SL_SHAPE_TEXELS = 5,
    SPYI_SL_SHAPE_STRUCTURED = 6,
    SPYI_SL_SHAPE_BYTES = 7,
    SPYI_SL_ACCESS_READ = 1,
    SPYI_SL_ACCESS_READ_WRITE = 2
};
enum {
    SPYI_SL_SCALAR_VOID = 1,
    SPYI_SL_SCALAR_BOOL = 2,
    SPYI_SL_SCALAR_INT32 = 3,
    SPYI_SL_SCALAR_UINT32 = 4,
    SPYI_SL_SCALAR_INT64 = 5,
    SPYI_SL_SCALAR_UINT64 = 6,
    SPYI_SL_SCALAR_FLOAT16 = 7,
    SPYI_SL_SCALAR_FLOAT32 = 8,
    SPYI_SL_SCALAR_FLOAT64 = 9,
    SPYI_SL_SCALAR_INT8 = 10,
    SPYI_SL_SCALAR_UINT8 = 11,
    SPYI_SL_SCALAR_INT16 = 12,
    SPYI_SL_SCALAR_UINT16 = 13
};
enum {
    SPYI_SL_DECL_UNSUPPORTED = 0,
    SPYI_SL_DECL_STRUCT = 1,
    SPYI_SL_DECL_FUNCTION = 2,
    SPYI_SL_DECL_GENERIC = 4,
    SPYI_SL_DECL_VARIABLE = 5,
    SPYI_SL_DECL_NAMESPACE = 6,
    SPYI_SL_DECL_ENUM = 7
};
enum {
    SPYI_SL_MODIFIER_NO_DIFF = 1,
    SPYI_SL_MODIFIER_STATIC = 2,
    SPYI_SL_MODIFIER_CONST = 3,
    SPYI_SL_MODIFIER_EXPORT = 4,
    SPYI_SL_MODIFIER_EXTERN = 5,
    SPYI_SL_MODIFIER_DIFFERENTIABLE = 6,
    SPYI_SL_MODIFIER_MUTATING = 7,
    SPYI_SL_MODIFIER_IN = 8,
    SPYI_SL_MODIFIER_OUT = 9,
    SPYI_SL_MODIFIER_INOUT = 10
};

// >>reflection: pointers without a reference count, invalid after their session is released

typedef struct spyi_sl_layout spyi_sl_layout; // layout of a program
typedef struct spyi_sl_type spyi_sl_type;
typedef struct spyi_sl_type_layout spyi_sl_type_layout;
typedef struct spyi_sl_variable spyi_sl_variable;
typedef struct spyi_sl_variable_layout spyi_sl_variable_layout;
typedef struct spyi_sl_function spyi_sl_function;
typedef struct spyi_sl_decl spyi_sl_decl;
typedef struct spyi_sl_generic spyi_sl_generic;
typedef struct spyi_sl_modifier spyi_sl_modifier;
typedef struct spyi_sl_attribute spyi_sl_attribute;
// The argument of the functions spReflectionEntryPoint_...
typedef struct spyi_sl_entry_layout spyi_sl_entry_layout;

// >>objects: obj->v->function(obj, ...)

typedef void (*spyi_sl_slot)(void); // a function of the table that we never call

#define SPYI_SL_OBJECT(name)                                                                                 \
    typedef struct name name;                                                                                \
    typedef struct name##_table name##_table;                                                                \
    struct name {                                                                                            \
        const name##_table *v;                                                                               \
    }
SPYI_SL_OBJECT(spyi_sl_blob);
SPYI_SL_OBJECT(spyi_sl_files);
SPYI_SL_OBJECT(spyi_sl_global);
SPYI_SL_OBJECT(spyi_sl_session);
SPYI_SL_OBJECT(spyi_sl_component);
SPYI_SL_OBJECT(spyi_sl_entry_point);
SPYI_SL_OBJECT(spyi_sl_module);
#undef SPYI_SL_OBJECT

#define SPYI_SL_UNKNOWN(self)                                                                                \
    spyi_sl_result (*queryInterface)(self *, const spyi_sl_uuid *, void **);                                 \
    uint32_t (*addRef)(self *);                                                                              \
    uint32_t (*release)(self *);

struct spyi_sl_blob_table {
    SPYI_SL_UNKNOWN(spyi_sl_blob)
    const void *(*getBufferPointer)(spyi_sl_blob *);
    size_t (*getBufferSize)(spyi_sl_blob *);
};

struct spyi_sl_files_table { // ISlangFileSystem, which we implement
    SPYI_SL_UNKNOWN(spyi_sl_files)
    void *(*castAs)(spyi_sl_files *, const spyi_sl_uuid *);
    spyi_sl_result (*loadFile)(spyi_sl_files *, const char *path, spyi_sl_blob **);
};

typedef struct spyi_sl_option {
    int32_t name;
    struct {
        int32_t kind; // 0 for integers, 1 for strings
        int32_t int0, int1;
        const char *string0, *string1;
    } value;
} spyi_sl_option;

typedef struct spyi_sl_target_desc {
    size_t structureSize;
    int32_t format;
    uint32_t profile, flags, floatingPointMode, lineDirectiveMode;
    bool forceGLSLScalarBufferLayout;
    const spyi_sl_option *compilerOptionEntries;
    uint32_t compilerOptionEntryCount;
} spyi_sl_target_desc;

typedef struct spyi_sl_macro {
    const char *name, *value;
} spyi_sl_macro;

typedef struct spyi_sl_session_desc {
    size_t structureSize;
    const spyi_sl_target_desc *targets;
    spyi_sl_int targetCount;
    uint32_t flags, defaultMatrixLayoutMode;
    const char *const *searchPaths;
    spyi_sl_int searchPathCount;
    const spyi_sl_macro *preprocessorMacros;
    spyi_sl_int preprocessorMacroCount;
    spyi_sl_files *fileSystem;
    bool enableEffectAnnotations, allowGLSLSyntax;
    const spyi_sl_option *compilerOptionEntries;
    uint32_t compilerOptionEntryCount;
    bool skipSPIRVValidation;
} spyi_sl_session_desc;

typedef struct spyi_sl_global_desc {
    uint32_t structureSize, apiVersion, minLanguageVersion;
    bool enableGLSL;
    uint32_t reserved[16];
} spyi_sl_global_desc;

typedef struct spyi_sl_source_location {
    const char *filePath; // valid as long as the option's session
    spyi_sl_int line, column;
} spyi_sl_source_location;

struct spyi_sl_global_table {
    SPYI_SL_UNKNOWN(spyi_sl_global)
    spyi_sl_result (*createSession)(spyi_sl_global *, const spyi_sl_session_desc *, spyi_sl_session **);
    uint32_t (*findProfile)(spyi_sl_global *, const char *);
    spyi_sl_slot setDownstreamCompilerPath, setDownstreamCompilerPrelude, getDownstreamCompilerPrelude;
    const char *(*getBuildTagString)(spyi_sl_global *);
    spyi_sl_slot setDefaultDownstreamCompiler, getDefaultDownstreamCompiler, setLanguagePrelude;
    void (*getLanguagePrelude)(spyi_sl_global *, int32_t language, spyi_sl_blob **);
    spyi_sl_slot createCompileRequest, addBuiltins, setSharedLibraryLoader, getSharedLibraryLoader,
        checkCompileTargetSupport;
    spyi_sl_result (*checkPassThroughSupport)(spyi_sl_global *, int32_t pass_through);
    spyi_sl_slot compileCoreModule, loadCoreModule, saveCoreModule, findCapability,
        setDownstreamCompilerForTransition, getDownstreamCompilerForTransition, getCompilerElapsedTime,
        setSPIRVCoreGrammar, parseCommandLineArguments, getSessionDescDigest, compileBuiltinModule,
        loadBuiltinModule, saveBuiltinModule;
};

struct spyi_sl_session_table {
    SPYI_SL_UNKNOWN(spyi_sl_session)
    spyi_sl_slot getGlobalSession, loadModule, loadModuleFromSource;
    spyi_sl_result (*createCompositeComponentType)(spyi_sl_session *, spyi_sl_component *const *, spyi_sl_int,
                                                   spyi_sl_component **, spyi_sl_blob **diagnostics);
    spyi_sl_slot specializeType;
    spyi_sl_type_layout *(*getTypeLayout)(spyi_sl_session *, spyi_sl_type *, spyi_sl_int target,
                                          uint32_t rules, spyi_sl_blob **diagnostics);
    spyi_sl_slot getContainerType, getDynamicType, getTypeRTTIMangledName,
        getTypeConformanceWitnessMangledName, getTypeConformanceWitnessSequentialID, createCompileRequest;
    // The fourth argument receives the conformance, which is a component.
    spyi_sl_result (*createTypeConformanceComponentType)(spyi_sl_session *, spyi_sl_type *,
                                                         spyi_sl_type *interface_type, spyi_sl_component **,
                                                         spyi_sl_int id, // -1 means that Slang chooses the id
                                                         spyi_sl_blob **diagnostics);
    // Modules belong to their session and are never released.
    spyi_sl_module *(*loadModuleFromIRBlob)(spyi_sl_session *, const char *name, const char *path,
                                            spyi_sl_blob *, spyi_sl_blob **diagnostics);
    spyi_sl_int (*getLoadedModuleCount)(spyi_sl_session *);
    spyi_sl_module *(*getLoadedModule)(spyi_sl_session *, spyi_sl_int);
    spyi_sl_slot isBinaryModuleUpToDate;
    spyi_sl_module *(*loadModuleFromSourceString)(spyi_sl_session *, const char *name, const char *path,
                                                  const char *text, spyi_sl_blob **diagnostics);
    spyi_sl_slot getDynamicObjectRTTIBytes;
    spyi_sl_result (*loadModuleInfoFromIRBlob)(spyi_sl_session *, spyi_sl_blob *, spyi_sl_int *version,
                                               const char **compiler_version, const char **name);
    spyi_sl_result (*getDeclSourceLocation)(spyi_sl_session *, spyi_sl_decl *, spyi_sl_source_location *);
};

#define SPYI_SL_COMPONENT(self)                                                                              \
    SPYI_SL_UNKNOWN(self)                                                                                    \
    spyi_sl_slot getSession;                                                                                 \
    spyi_sl_layout *(*getLayout)(self *, spyi_sl_int target, spyi_sl_blob * *diagnostics);                   \
    spyi_sl_int (*getSpecializationParamCount)(self *);                                                      \
    spyi_sl_result (*getEntryPointCode)(self *, spyi_sl_int entry_point, spyi_sl_int target,                 \
                                        spyi_sl_blob **, spyi_sl_blob * *diagnostics);                       \
    spyi_sl_slot getResultAsFileSystem;                                                                      \
    void (*getEntryPointHash)(self *, spyi_sl_int entry_point, spyi_sl_int target, spyi_sl_blob **);         \
    spyi_sl_slot specialize;                                                                                 \
    spyi_sl_result (*link)(self *, spyi_sl_component **, spyi_sl_blob * *diagnostics);                       \
    spyi_sl_slot getEntryPointHostCallable, renameEntryPoint;                                                \
    spyi_sl_result (*linkWithOptions)(self *, spyi_sl_component **, uint32_t count, const spyi_sl_option *,  \
                                      spyi_sl_blob **diagnostics);                                           \
    spyi_sl_slot getTargetCode, getTargetMetadata, getEntryPointMetadata;

struct spyi_sl_component_table {
    SPYI_SL_COMPONENT(spyi_sl_component)
};

struct spyi_sl_entry_point_table {
    SPYI_SL_COMPONENT(spyi_sl_entry_point)
    spyi_sl_function *(*getFunctionReflection)(spyi_sl_entry_point *);
};

struct spyi_sl_module_table {
    SPYI_SL_COMPONENT(spyi_sl_module)
    spyi_sl_slot findEntryPointByName;
    int32_t (*getDefinedEntryPointCount)(spyi_sl_module *);
    spyi_sl_result (*getDefinedEntryPoint)(spyi_sl_module *, int32_t, spyi_sl_entry_point **);
    spyi_sl_result (*serialize)(spyi_sl_module *, spyi_sl_blob **);
    spyi_sl_slot writeToFile;
    const char *(*getName)(spyi_sl_module *);
    const char *(*getFilePath)(spyi_sl_module *);
    spyi_sl_slot getUniqueIdentity;
    spyi_sl_result (*findAndCheckEntryPoint)(spyi_sl_module *, const char *name, uint32_t stage,
                                             spyi_sl_entry_point **, spyi_sl_blob **diagnostics);
    spyi_sl_slot getDependencyFileCount, getDependencyFilePath;
    spyi_sl_decl *(*getModuleReflection)(spyi_sl_module *);
    spyi_sl_result (*disassemble)(spyi_sl_module *, spyi_sl_blob **);
};

#undef SPYI_SL_COMPONENT
#undef SPYI_SL_UNKNOWN

// >>flat functions: X(result, name, arguments)

#define SPYI_SL_FUNCTIONS(X)                                                                                 \
    X(const char *, spGetBuildTagString, (void))                                                             \
    X(spyi_sl_result, slang_createGlobalSession2, (const spyi_sl_global_desc *, spyi_sl_global **))          \
    X(spyi_sl_blob *, slang_createBlob, (const void *, size_t))                                              \
    X(spyi_sl_type *, spReflection_FindTypeByName, (spyi_sl_layout *, const char *))                         \
    X(spyi_sl_function *, spReflection_FindFunctionByName, (spyi_sl_layout *, const char *))                 \
    X(spyi_sl_function *, spReflection_FindFunctionByNameInType,                                             \
      (spyi_sl_layout *, spyi_sl_type *, const char *))                                                      \
    X(bool, spReflection_isSubType, (spyi_sl_layout *, spyi_sl_type *, spyi_sl_type *))                      \
    X(unsigned, spReflectionDecl_getChildrenCount, (spyi_sl_decl *))                                         \
    X(spyi_sl_decl *, spReflectionDecl_getChild, (spyi_sl_decl *, unsigned))                                 \
    X(const char *, spReflectionDecl_getName, (spyi_sl_decl *))                                              \
    X(unsigned, spReflectionDecl_getKind, (spyi_sl_decl *))                                                  \
    X(spyi_sl_modifier *, spReflectionDecl_findModifier, (spyi_sl_decl *, uint32_t))                         \
    X(spyi_sl_type *, spReflection_getTypeFromDecl, (spyi_sl_decl *))                                        \
    X(spyi_sl_generic *, spReflectionDecl_castToGeneric, (spyi_sl_decl *))                                   \
    X(const char *, spReflectionGeneric_GetName, (spyi_sl_generic *))                                        \
    X(unsigned, spReflectionGeneric_GetInnerKind, (spyi_sl_generic *))                                       \
    X(const char *, spReflectionFunction_GetName, (spyi_sl_function *))                                      \
    X(spyi_sl_modifier *, spReflectionFunction_FindModifier, (spyi_sl_function *, uint32_t))                 \
    X(unsigned, spReflectionFunction_GetParameterCount, (spyi_sl_function *))                                \
    X(spyi_sl_variable *, spReflectionFunction_GetParameter, (spyi_sl_function *, unsigned))                 \
    X(spyi_sl_type *, spReflectionFunction_GetResultType, (spyi_sl_function *))                              \
    X(spyi_sl_generic *, spReflectionFunction_GetGenericContainer, (spyi_sl_function *))                     \
    X(spyi_sl_function *, spReflectionFunction_specializeWithArgTypes,                                       \
      (spyi_sl_function *, spyi_sl_int, spyi_sl_type *const *))                                              \
    X(bool, spReflectionFunction_isOverloaded, (spyi_sl_function *))                                         \
    X(unsigned, spReflectionFunction_getOverloadCount, (spyi_sl_function *))                                 \
    X(spyi_sl_function *, spReflectionFunction_getOverload, (spyi_sl_function *, unsigned))                  \
    X(const char *, spReflectionVariable_GetName, (spyi_sl_variable *))                                      \
    X(spyi_sl_type *, spReflectionVariable_GetType, (spyi_sl_variable *))                                    \
    X(spyi_sl_modifier *, spReflectionVariable_FindModifier, (spyi_sl_variable *, uint32_t))                 \
    X(bool, spReflectionVariable_HasDefaultValue, (spyi_sl_variable *))                                      \
    X(unsigned, spReflectionType_GetKind, (spyi_sl_type *))                                                  \
    X(unsigned, spReflectionType_GetFieldCount, (spyi_sl_type *))                                            \
    X(spyi_sl_variable *, spReflectionType_GetFieldByIndex, (spyi_sl_type *, unsigned))                      \
    X(size_t, spReflectionType_GetElementCount, (spyi_sl_type *))                                            \
    X(spyi_sl_type *, spReflectionType_GetElementType, (spyi_sl_type *))                                     \
    X(unsigned, spReflectionType_GetRowCount, (spyi_sl_type *))                                              \
    X(unsigned, spReflectionType_GetColumnCount, (spyi_sl_type *))                                           \
    X(unsigned, spReflectionType_GetScalarType, (spyi_sl_type *))                                            \
    X(spyi_sl_result, spReflectionType_GetFullName, (spyi_sl_type *, spyi_sl_blob **))                       \
    X(unsigned, spReflectionType_GetResourceShape, (spyi_sl_type *))                                         \
    X(unsigned, spReflectionType_GetResourceAccess, (spyi_sl_type *))                                        \
    X(spyi_sl_type *, spReflectionTypeLayout_GetType, (spyi_sl_type_layout *))                               \
    X(unsigned, spReflectionTypeLayout_getKind, (spyi_sl_type_layout *))                                     \
    X(spyi_sl_variable_layout *, spReflectionTypeLayout_GetElementVarLayout, (spyi_sl_type_layout *))        \
    X(spyi_sl_variable_layout *, spReflectionTypeLayout_getContainerVarLayout, (spyi_sl_type_layout *))      \
    X(size_t, spReflectionTypeLayout_GetSize, (spyi_sl_type_layout *, unsigned category))                    \
    X(size_t, spReflectionTypeLayout_GetStride, (spyi_sl_type_layout *, unsigned category))                  \
    X(int32_t, spReflectionTypeLayout_getAlignment, (spyi_sl_type_layout *, unsigned category))              \
    X(unsigned, spReflectionTypeLayout_GetFieldCount, (spyi_sl_type_layout *))                               \
    X(spyi_sl_variable_layout *, spReflectionTypeLayout_GetFieldByIndex, (spyi_sl_type_layout *, unsigned))  \
    X(size_t, spReflectionVariableLayout_GetOffset, (spyi_sl_variable_layout *, unsigned category))          \
    X(spyi_sl_variable *, spReflectionVariableLayout_GetVariable, (spyi_sl_variable_layout *))               \
    X(spyi_sl_variable_layout *, spReflection_getGlobalParamsVarLayout, (spyi_sl_layout *))                  \
    X(spyi_sl_variable_layout *, spReflectionEntryPoint_getVarLayout, (spyi_sl_entry_layout *))              \
    X(unsigned, spReflection_GetParameterCount, (spyi_sl_layout *))                                          \
    X(spyi_sl_variable_layout *, spReflection_GetParameterByIndex, (spyi_sl_layout *, unsigned))             \
    X(uint64_t, spReflection_getHashedStringCount, (spyi_sl_layout *))                                       \
    X(const char *, spReflection_getHashedString, (spyi_sl_layout *, uint64_t, size_t *))                    \
    X(uint32_t, spComputeStringHash, (const char *, size_t))                                                 \
    X(spyi_sl_function *, spReflectionDecl_castToFunction, (spyi_sl_decl *))                                 \
    X(spyi_sl_variable *, spReflectionDecl_castToVariable, (spyi_sl_decl *))                                 \
    X(spyi_sl_decl *, spReflectionGeneric_GetInnerDecl, (spyi_sl_generic *))                                 \
    X(unsigned, spReflectionGeneric_GetTypeParameterCount, (spyi_sl_generic *))                              \
    X(spyi_sl_variable *, spReflectionGeneric_GetTypeParameter, (spyi_sl_generic *, unsigned))               \
    X(unsigned, spReflectionGeneric_GetTypeParameterConstraintCount,                                         \
      (spyi_sl_generic *, spyi_sl_variable *))                                                               \
    X(spyi_sl_type *, spReflectionGeneric_GetTypeParameterConstraintType,                                    \
      (spyi_sl_generic *, spyi_sl_variable *, unsigned))                                                     \
    X(unsigned, spReflectionGeneric_GetValueParameterCount, (spyi_sl_generic *))                             \
    X(spyi_sl_variable *, spReflectionGeneric_GetValueParameter, (spyi_sl_generic *, unsigned))              \
    X(spyi_sl_decl *, spReflectionFunction_asDecl, (spyi_sl_function *))                                     \
    X(spyi_sl_decl *, spReflectionDecl_getParent, (spyi_sl_decl *))                                          \
    X(unsigned, spReflectionFunction_GetUserAttributeCount, (spyi_sl_function *))                            \
    X(spyi_sl_attribute *, spReflectionFunction_GetUserAttribute, (spyi_sl_function *, unsigned))            \
    X(unsigned, spReflectionVariable_GetUserAttributeCount, (spyi_sl_variable *))                            \
    X(spyi_sl_attribute *, spReflectionVariable_GetUserAttribute, (spyi_sl_variable *, unsigned))            \
    X(unsigned, spReflectionType_GetUserAttributeCount, (spyi_sl_type *))                                    \
    X(spyi_sl_attribute *, spReflectionType_GetUserAttribute, (spyi_sl_type *, unsigned))                    \
    X(const char *, spReflectionUserAttribute_GetName, (spyi_sl_attribute *))                                \
    X(unsigned, spReflectionUserAttribute_GetArgumentCount, (spyi_sl_attribute *))                           \
    X(spyi_sl_type *, spReflectionUserAttribute_GetArgumentType, (spyi_sl_attribute *, unsigned))            \
    X(spyi_sl_result, spReflectionUserAttribute_GetArgumentValueInt, (spyi_sl_attribute *, unsigned, int *)) \
    X(spyi_sl_result, spReflectionUserAttribute_GetArgumentValueFloat,                                       \
      (spyi_sl_attribute *, unsigned, float *))                                                              \
    X(const char *, spReflectionUserAttribute_GetArgumentValueString,                                        \
      (spyi_sl_attribute *, unsigned, size_t *))                                                             \
    X(spyi_sl_result, spReflectionVariable_GetDefaultValueInt, (spyi_sl_variable *, int64_t *))              \
    X(spyi_sl_result, spReflectionVariable_GetDefaultValueFloat, (spyi_sl_variable *, float *))              \
    X(spyi_sl_type *, spReflectionType_GetResourceResultType, (spyi_sl_type *))                              \
    X(size_t, spReflectionVariableLayout_GetSpace, (spyi_sl_variable_layout *, unsigned category))           \
    X(uint64_t, spReflection_getEntryPointCount, (spyi_sl_layout *))                                         \
    X(spyi_sl_entry_layout *, spReflection_getEntryPointByIndex, (spyi_sl_layout *, uint64_t))               \
    X(unsigned, spReflectionEntryPoint_getParameterCount, (spyi_sl_entry_layout *))                          \
    X(spyi_sl_variable_layout *, spReflectionEntryPoint_getParameterByIndex,                                 \
      (spyi_sl_entry_layout *, unsigned))                                                                    \
    X(spyi_sl_type_layout *, spReflectionVariableLayout_GetTypeLayout, (spyi_sl_variable_layout *))          \
    X(const char *, spReflectionVariableLayout_GetSemanticName, (spyi_sl_variable_layout *))                 \
    X(size_t, spReflectionVariableLayout_GetSemanticIndex, (spyi_sl_variable_layout *))                      \
    X(spyi_sl_variable_layout *, spReflectionEntryPoint_getResultVarLayout, (spyi_sl_entry_layout *))        \
    X(uint32_t, spReflectionEntryPoint_getStage, (spyi_sl_entry_layout *))                                   \
    X(void, spReflectionEntryPoint_getComputeThreadGroupSize, (spyi_sl_entry_layout *, uint64_t, uint64_t *))

#endif // SPYI_COMPILER_SLANG_ABI_H
