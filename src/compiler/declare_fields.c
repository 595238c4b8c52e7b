// A tree of declarations as fields of a stream, to be kept on disk.
#include "compiler/declare.h"
#include "compiler/memo.h"

enum { SPYI_SL_MOST_NODES = 1 << 20, SPYI_SL_DEEPEST_NODE = 64 };

typedef struct spyi_sl_tree {
    spyi_declarations *to;
    spy_type_info **infos; // descriptions by their number in the stream, in the order of first use
    uint32_t info_count, info_capacity;
    uint32_t depth;
} spyi_sl_tree;

static void spyi_sl_node_fields(spyi_stream *r, spyi_sl_tree *tree, spy_decl *node);

// Writes or reads a text, which is in the tree's memory and never NULL.
static void spyi_sl_tree_text(spyi_stream *r, spyi_sl_tree *tree, const char **text) {
    char *copy = (char *)(uintptr_t)*text;
    spyi_stream_text(r, &copy);
    if (r->out) return;
    *text = spyi_sl_keep(tree->to, copy);
    free(copy);
}

// Writes or reads the number of items of a list. Reading allocates the items in the tree's memory.
static void *spyi_sl_tree_list(spyi_stream *r, spyi_sl_tree *tree, uint32_t *count, const void *items,
                               size_t item_size) {
    spyi_stream_u32(r, count);
    if (r->out) return (void *)(uintptr_t)items;
    if (!spyi_stream_expect(r, *count <= SPYI_SL_MOST_NODES && *count <= r->left, "a list is too long"))
        *count = 0;
    void *made = *count ? spyi_sl_take(tree->to, *count * item_size) : NULL;
    if (!made) *count = 0;
    return made;
}

static void spyi_sl_size_fields(spyi_stream *r, size_t *size) {
    uint64_t v = *size;
    spyi_stream_u64(r, &v);
    if (!r->out) *size = (size_t)v;
}

// >>types

static void spyi_sl_info_new(spyi_stream *r, spyi_sl_tree *tree, spy_type_info *info);

static void spyi_sl_info_fields(spyi_stream *r, spyi_sl_tree *tree, const spy_type_info **info) {
    uint32_t number = 0; // numbers begin with 1; 0 stands for NULL
    if (r->out && *info)
        for (number = 1; number <= tree->info_count && tree->infos[number - 1] != *info;) number++;
    spyi_stream_u32(r, &number);
    if (!spyi_stream_expect(r, number <= tree->info_count + 1, "there is no such type")) number = 0;
    bool fresh = number == tree->info_count + 1;
    if (fresh &&
        !spyi_sl_grow((void **)&tree->infos, &tree->info_capacity, tree->info_count, sizeof *tree->infos)) {
        spyi_stream_fail(r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
        return;
    }
    if (fresh) {
        spy_type_info *made = r->out ? (spy_type_info *)(uintptr_t)*info
                                     : (spy_type_info *)spyi_sl_take(tree->to, sizeof *made);
        if (!made || ++tree->depth > SPYI_SL_DEEPEST_NODE) {
            spyi_stream_fail(r, SPY_ERROR_UNSUPPORTED, "types are nested too deeply");
            return;
        }
        tree->infos[tree->info_count++] = made;
        spyi_sl_info_new(r, tree, made);
        tree->depth--;
    }
    if (!r->out) *info = number ? tree->infos[number - 1] : NULL;
}

static void spyi_sl_info_new(spyi_stream *r, spyi_sl_tree *tree, spy_type_info *info) {
    // The fields of a declared struct are its declaration's children.
    bool own = r->out && info->fields && !info->decl;
    info->kind = (spy_type_kind)spyi_stream_enum(r, (uint32_t)info->kind, SPY_TYPE_KIND_HANDLE + 1);
    spyi_sl_tree_text(r, tree, &info->name);
    info->dtype = (spy_dtype)spyi_stream_enum(r, (uint32_t)info->dtype, SPY_DTYPE_COUNT);
    spyi_stream_u32(r, &info->rows);
    spyi_stream_u32(r, &info->columns);
    spyi_stream_raw(r, &info->count, sizeof info->count);
    spyi_sl_size_fields(r, &info->size_bytes);
    spyi_sl_size_fields(r, &info->align_bytes);
    spyi_sl_size_fields(r, &info->device_size_bytes);
    spyi_sl_size_fields(r, &info->device_align_bytes);
    spyi_sl_size_fields(r, &info->device_stride_bytes);
    spyi_sl_info_fields(r, tree, &info->element);
    spyi_stream_bool(r, &own);
    if (!own) return;
    spy_decl *fields =
        (spy_decl *)spyi_sl_tree_list(r, tree, &info->field_count, info->fields, sizeof *info->fields);
    info->fields = fields;
    for (uint32_t i = 0; i < info->field_count; i++) spyi_sl_node_fields(r, tree, &fields[i]);
}

// >>declarations

static void spyi_sl_constant_fields(spyi_stream *r, spyi_sl_tree *tree, spy_constant *c) {
    c->kind = (spy_constant_kind)spyi_stream_enum(r, (uint32_t)c->kind, SPY_CONSTANT_KIND_STRING + 1);
    spyi_stream_raw(r, &c->int_value, sizeof c->int_value);
    spyi_stream_raw(r, &c->float_value, sizeof c->float_value);
    spyi_sl_tree_text(r, tree, &c->string);
}

static void spyi_sl_attribute_fields(spyi_stream *r, spyi_sl_tree *tree, spy_attribute *a) {
    spyi_sl_tree_text(r, tree, &a->name);
    spy_constant *args = (spy_constant *)spyi_sl_tree_list(r, tree, &a->arg_count, a->args, sizeof *a->args);
    a->args = args;
    for (uint32_t i = 0; i < a->arg_count; i++) spyi_sl_constant_fields(r, tree, &args[i]);
}

static void spyi_sl_node_fields(spyi_stream *r, spyi_sl_tree *tree, spy_decl *node) {
    node->kind = (spy_decl_kind)spyi_stream_enum(r, (uint32_t)node->kind, SPY_DECL_KIND_SHADER_PARAMETER + 1);
    spyi_stream_u32(r, &node->flags);
    spyi_sl_tree_text(r, tree, &node->name);
    spyi_sl_tree_text(r, tree, &node->path);
    spyi_sl_tree_text(r, tree, &node->text);
    spyi_sl_info_fields(r, tree, &node->type);
    spy_attribute *attributes = (spy_attribute *)spyi_sl_tree_list(
        r, tree, &node->attribute_count, node->attributes, sizeof *node->attributes);
    node->attributes = attributes;
    for (uint32_t i = 0; i < node->attribute_count; i++) spyi_sl_attribute_fields(r, tree, &attributes[i]);
    spyi_sl_constant_fields(r, tree, &node->value);
    spyi_sl_size_fields(r, &node->offset_bytes);
    spyi_sl_size_fields(r, &node->device_offset_bytes);
    spyi_stream_u32(r, &node->binding);
    spyi_stream_u32(r, &node->space);
    node->stage = (spy_stage)spyi_stream_enum(r, (uint32_t)node->stage, SPY_STAGE_DISPATCH + 1);
    spyi_stream_raw(r, node->group_size, sizeof node->group_size);
    spyi_sl_tree_text(r, tree, &node->file);
    spyi_stream_u32(r, &node->line);
    spyi_sl_tree_text(r, tree, &node->doc);
    spy_decl *children =
        (spy_decl *)spyi_sl_tree_list(r, tree, &node->child_count, node->children, sizeof *node->children);
    node->children = children;
    if (++tree->depth > SPYI_SL_DEEPEST_NODE)
        spyi_stream_fail(r, SPY_ERROR_UNSUPPORTED, "declarations are nested too deeply");
    for (uint32_t i = 0; i < node->child_count && r->status == SPY_OK; i++)
        spyi_sl_node_fields(r, tree, &children[i]);
    tree->depth--;
}

SPYI_FN void spyi_sl_declarations_fields(spyi_stream *r, void *answer) {
    spyi_declarations *to = (spyi_declarations *)answer;
    spyi_sl_tree tree = { to, NULL, 0, 0, 0 };
    uint32_t known = 0;
    spyi_sl_node_fields(r, &tree, &to->root);
    // The number of the library's types that have descriptions, followed by their identifiers.
    for (uint32_t i = 0; r->out && i < to->by_id_count; i++) known += to->by_id[i] != NULL;
    spyi_stream_u32(r, &known);
    for (uint32_t i = 0, id = 0; i < known && r->status == SPY_OK; i++, id++) {
        const spyi_type *type = NULL;
        const spy_type_info *info = NULL;
        while (r->out && !to->by_id[id]) id++;
        if (r->out) {
            type = to->types[id];
            info = to->by_id[id];
        }
        spyi_stream_type(r, &type);
        spyi_sl_info_fields(r, &tree, &info);
        if (r->out) continue;
        if (!spyi_stream_expect(r, type && info, "a description has no type")) break;
        if (spyi_sl_know_type(to, type)) to->by_id[type->id] = (spy_type_info *)(uintptr_t)info;
    }
    if (to->failed) spyi_stream_fail(r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    free((void *)tree.infos);
}
