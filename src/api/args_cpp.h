// C++ only: overloads that accept SPY_ARGS(...) in each function that takes spy_args, and SPY_INDICES(...) in
// spy_create_indexed(). A list that is written inside the call lives until the call returns, so these
// overloads accept it. Where a list would be destroyed before its use, the program does not compile
// (spyi_arg_list in api/call.h).
#ifndef SPY_API_ARGS_CPP_H
#define SPY_API_ARGS_CPP_H

#include "api/checkpoint.h"
#include "api/fuse.h"
#include "api/gradient.h"
#include "api/list.h"
#include "api/raster.h"
#include "api/resolve.h"

#ifdef __cplusplus

// Returns a spy_args that points to the list and is valid within this statement. The list may be a named
// variable or a temporary.
template <size_t N, bool Inner> inline spy_args spyi_args_now(const spyi_arg_list<N, Inner> &list) {
    return list;
}
template <size_t N, bool Inner> inline spy_args spyi_args_now(spyi_arg_list<N, Inner> &&list) {
    return { list.items, N };
}
// Has the member `type` (= Result) only if List is the type of SPY_ARGS(...); for any other List the overload
// does not exist.
template <class List, class Result> struct spyi_with_list {};
template <size_t N, bool Inner, class Result> struct spyi_with_list<spyi_arg_list<N, Inner>, Result> {
    typedef Result type;
};
template <class List, class Result> struct spyi_with_list<List &, Result> : spyi_with_list<List, Result> {};
template <class List, class Result>
struct spyi_with_list<const List, Result> : spyi_with_list<List, Result> {};

template <class List>
inline typename spyi_with_list<List, spy_status>::type spy_call(spy_function *function, List &&args) {
    return spy_call(function, spyi_args_now(static_cast<List &&>(args)));
}
template <class List>
inline typename spyi_with_list<List, spy_status>::type spy_call_with(spy_function *function, List &&args,
                                                                     const spy_call_options *options) {
    return spy_call_with(function, spyi_args_now(static_cast<List &&>(args)), options);
}
template <class List>
inline typename spyi_with_list<List, spy_status>::type spy_gradcheck(spy_function *function, List &&args,
                                                                     const spy_gradcheck_desc *desc,
                                                                     spy_gradcheck_info *info) {
    return spy_gradcheck(function, spyi_args_now(static_cast<List &&>(args)), desc, info);
}
template <class List>
inline typename spyi_with_list<List, spy_function *>::type spy_declare(spy_function *function,
                                                                       List &&parameters) {
    return spy_declare(function, spyi_args_now(static_cast<List &&>(parameters)));
}
template <class List>
inline typename spyi_with_list<List, spy_node>::type spy_fuse_call(spy_fusion *fusion, spy_function *function,
                                                                   List &&args) {
    return spy_fuse_call(fusion, function, spyi_args_now(static_cast<List &&>(args)));
}
template <class List>
inline typename spyi_with_list<List, spy_node>::type spy_fuse_make(spy_fusion *fusion, const char *type,
                                                                   List &&args) {
    return spy_fuse_make(fusion, type, spyi_args_now(static_cast<List &&>(args)));
}
template <class List>
inline typename spyi_with_list<List, spy_node>::type spy_fuse_op(spy_fusion *fusion, const char *op,
                                                                 List &&args) {
    return spy_fuse_op(fusion, op, spyi_args_now(static_cast<List &&>(args)));
}
template <class List>
inline typename spyi_with_list<List, spy_status>::type spy_save_tensors(spy_device *device, const char *path,
                                                                        List &&tensors) {
    return spy_save_tensors(device, path, spyi_args_now(static_cast<List &&>(tensors)));
}
template <class List>
inline typename spyi_with_list<List, spy_status>::type spy_load_tensors(spy_device *device, const char *path,
                                                                        List &&tensors) {
    return spy_load_tensors(device, path, spyi_args_now(static_cast<List &&>(tensors)));
}
template <class List>
inline typename spyi_with_list<List, spy_status>::type spy_dispatch(spy_function *function, spy_uint3 threads,
                                                                    List &&args,
                                                                    const spy_call_options *options) {
    return spy_dispatch(function, threads, spyi_args_now(static_cast<List &&>(args)), options);
}
template <class List>
inline typename spyi_with_list<List, spy_status>::type spy_dispatch_indirect(
    spy_function *function, spy_tensor *groups, int64_t index, List &&args, const spy_call_options *options) {
    return spy_dispatch_indirect(function, groups, index, spyi_args_now(static_cast<List &&>(args)), options);
}
template <class List>
inline typename spyi_with_list<List, spy_status>::type spy_draw(spy_raster *raster, const spy_draw_desc *draw,
                                                                List &&args,
                                                                const spy_call_options *options) {
    return spy_draw(raster, draw, spyi_args_now(static_cast<List &&>(args)), options);
}
template <class List>
inline typename spyi_with_list<List, spy_status>::type spy_draw_backward(spy_raster *raster,
                                                                         const spy_draw_desc *draw,
                                                                         List &&args,
                                                                         const spy_call_options *options) {
    return spy_draw_backward(raster, draw, spyi_args_now(static_cast<List &&>(args)), options);
}
template <class List>
inline typename spyi_with_list<List, size_t>::type spy_explain_draw(spy_raster *raster,
                                                                    const spy_draw_desc *draw, List &&args,
                                                                    const spy_call_options *options,
                                                                    char *text, size_t capacity) {
    return spy_explain_draw(raster, draw, spyi_args_now(static_cast<List &&>(args)), options, text, capacity);
}
template <class List>
inline typename spyi_with_list<List, spy_status>::type spy_time_call(spy_function *function, List &&args,
                                                                     const spy_call_options *options,
                                                                     uint64_t *gpu_time_ns) {
    return spy_time_call(function, spyi_args_now(static_cast<List &&>(args)), options, gpu_time_ns);
}
template <class List>
inline typename spyi_with_list<List, size_t>::type spy_explain_call(spy_function *function, List &&args,
                                                                    const spy_call_options *options,
                                                                    char *text, size_t capacity) {
    return spy_explain_call(function, spyi_args_now(static_cast<List &&>(args)), options, text, capacity);
}
template <class List>
inline typename spyi_with_list<List, spy_prepared *>::type spy_prepare(spy_function *function, List &&args,
                                                                       const spy_prepare_desc *desc) {
    return spy_prepare(function, spyi_args_now(static_cast<List &&>(args)), desc);
}
template <class List>
inline typename spyi_with_list<List, spy_status>::type spy_call_prepared(spy_prepared *prepared,
                                                                         List &&args) {
    return spy_call_prepared(prepared, spyi_args_now(static_cast<List &&>(args)));
}
template <class List>
inline typename spyi_with_list<List, spy_status>::type spy_call_backward(spy_function *function,
                                                                         List &&args) {
    return spy_call_backward(function, spyi_args_now(static_cast<List &&>(args)));
}
template <class List>
inline typename spyi_with_list<List, spy_status>::type spy_call_forward_diff(spy_function *function,
                                                                             List &&args) {
    return spy_call_forward_diff(function, spyi_args_now(static_cast<List &&>(args)));
}
template <class List>
inline typename spyi_with_list<List, spy_resolution *>::type spy_resolve(spy_function *function, List &&args,
                                                                         const spy_call_options *options) {
    return spy_resolve(function, spyi_args_now(static_cast<List &&>(args)), options);
}
template <class List>
inline typename spyi_with_list<List, spy_status>::type spy_list_call(spy_command_list *list,
                                                                     spy_function *function, List &&args) {
    return spy_list_call(list, function, spyi_args_now(static_cast<List &&>(args)));
}
template <class List>
inline typename spyi_with_list<List, spy_status>::type spy_list_set(spy_command_list *list, uint32_t call,
                                                                    List &&args) {
    return spy_list_set(list, call, spyi_args_now(static_cast<List &&>(args)));
}
template <class List>
inline typename spyi_with_list<List, spy_status>::type spy_save_list(spy_command_list *list, const char *name,
                                                                     List &&tensors) {
    return spy_save_list(list, name, spyi_args_now(static_cast<List &&>(tensors)));
}
template <class List>
inline typename spyi_with_list<List, spy_command_list *>::type spy_load_list(spy_device *device, const char *name,
                                                                             List &&tensors) {
    return spy_load_list(device, name, spyi_args_now(static_cast<List &&>(tensors)));
}

// Arguments that point to a list. From a named list they return a spy_arg; from a temporary list they return
// a spyi_inner_arg, which can only be used in the same statement.
template <size_t N, bool Inner>
inline spy_arg spy_arg_struct(const char *name, const spyi_arg_list<N, Inner> &fields) {
    return spy_arg_struct(name, spy_args(fields));
}
template <size_t N, bool Inner>
inline spyi_inner_arg spy_arg_struct(const char *name, spyi_arg_list<N, Inner> &&fields) {
    return { spy_arg_struct(name, spyi_args_now(static_cast<spyi_arg_list<N, Inner> &&>(fields))) };
}
template <size_t N, bool Inner>
inline spy_arg spy_arg_diff_pair(const char *name, const spyi_arg_list<N, Inner> &pair) {
    return spy_arg_diff_pair(name, spy_args(pair));
}
template <size_t N, bool Inner>
inline spyi_inner_arg spy_arg_diff_pair(const char *name, spyi_arg_list<N, Inner> &&pair) {
    return { spy_arg_diff_pair(name, spyi_args_now(static_cast<spyi_arg_list<N, Inner> &&>(pair))) };
}

// The functions that accept a spyi_inner_arg within its statement.
inline spyi_inner_arg spy_vmap(const spyi_inner_arg &arg, spy_dims dims) {
    return { spy_vmap(arg.inner, dims) };
}
inline spyi_inner_arg spy_vdim(const spyi_inner_arg &arg, uint32_t count) {
    return { spy_vdim(arg.inner, count) };
}
inline spyi_inner_arg spy_vcast(const spyi_inner_arg &arg, const char *type) {
    return { spy_vcast(arg.inner, type) };
}
inline spy_packed *spy_pack(spy_device *device, const spyi_inner_arg &arg) {
    return spy_pack(device, arg.inner);
}

template <size_t N>
inline spy_tensor *spy_create_indexed(spy_tensor *tensor, const spyi_index_list<N> &list) {
    return spy_create_indexed(tensor, spy_indices(list));
}

#endif // __cplusplus

#endif // SPY_API_ARGS_CPP_H
