// Gradients: tensors that carry them, and calls that compute them.
#ifndef SPY_API_GRADIENT_H
#define SPY_API_GRADIENT_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

// >>tensors with gradients
// spy_tensor_desc.with_grad makes one gradient tensor, zeroed, that calls both read and add to; grad_in and grad_out give
// two. Gradients have their tensor's shape and, as element type, what Slang calls T.Differential: float3 for float3,
// "Light.Differential" for a struct. Half gradients of float tensors, and the other way round, may be given as well. Views see
// the gradients of what they are views of. Whoever holds a tensor holds its gradients.

// The gradient tensor: the one that with_grad made, or grad_out, or grad_in. NULL when there is none, without an error.
// Borrowed: lives as long as `tensor`. Threads: any.
SPY_API spy_tensor *spy_tensor_grad(spy_tensor *tensor);
// The gradient that calls read: of their outputs going backward, of their inputs in forward mode. NULL: none. Borrowed.
SPY_API spy_tensor *spy_tensor_grad_in(spy_tensor *tensor);
// The gradient that backward calls add to, and that forward mode writes. NULL: none. Borrowed.
SPY_API spy_tensor *spy_tensor_grad_out(spy_tensor *tensor);
// Set all gradients of a tensor to zero. Threads: any.
SPY_API spy_status spy_tensor_zero_grad(spy_tensor *tensor);
// The same elements without gradients: a view, released by the caller. NULL on failure.
SPY_API spy_tensor *spy_create_detached(spy_tensor *tensor);
// The same elements with other gradients than the tensor's own: a view, released by the caller; the tensor stays as it is.
// grad_in and grad_out as in spy_tensor_desc; both NULL: one new one for both, zeroed, for which a struct's type is looked up in
// `module` (NULL: the tensor's gradient, or one of a built-in type). NULL on failure. Threads: any.
SPY_API spy_tensor *spy_create_attached(spy_tensor *tensor, spy_tensor *grad_in, spy_tensor *grad_out,
                                        spy_module *module);

// >>a value and its gradient, given one by one
// pair.items[0] is the value, pair.items[1] its gradient; their names do not matter. Any kind of value that the parameter
// takes, also a number, host data or a struct. The gradient of an input is added to: a tensor or spy_inout_...; that of an
// output is only read: a tensor or spy_arg_.... Several inputs may add to one tensor, but not to the same host memory. In
// forward mode it is the other way round, and outputs are written. Calls that compute no gradients take the value alone. Two
// tensors have the same shape. The list must stay alive until the call.
// A parameter of type DifferentialPair<T> takes both in a call that computes no gradients. It also takes a tensor with a gradient, or
// a struct with the fields p (the value) and d (its gradient); an inout or out one writes both. So does a field of that type, in a
// struct that is given by its fields, and the T of a generic function comes from the value.
// spy_out_result() for both takes what there is: nothing of a function that returns nothing, no gradient of an int.
// spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 3), spy_inout_f32(NULL, &dx)))
SPY_API spy_arg spy_arg_diff_pair(const char *name, spy_args pair);

// >>calls

// Backward: takes the arguments of spy_call(), reads the gradients of the outputs ("_result", out parameters) and adds, for
// each element of the call, the product with the function's derivative to the gradients of the inputs. Nothing else is written:
// outputs themselves stay as they are, and gradients of outputs are only read. An input without a gradient is a constant. An
// inout parameter must hold the value that went in, and needs separate grad_in and grad_out.
// An input that is broadcast gets the sum over all elements that used it; sums of 16-bit gradients are made in float.
// The function must be [Differentiable], or have a derivative of its own; what it marks no_diff gets no gradient.
// Errors found before the launch leave every gradient as it was. Threads: as spy_call().
// Cost: as spy_call(), and one more dispatch for each further way in which inputs are broadcast; sums of half and double,
// and those of spy_call_options.deterministic, take a second dispatch when they are large.
// Short for spy_call_with() with options.mode = SPY_CALL_MODE_BACKWARD, which takes further options.
SPY_API spy_status spy_call_backward(spy_function *function, spy_args args);

// Forward mode: takes the arguments of spy_call(), reads the gradients of the inputs (tangents), and writes the outputs and
// their gradients: the derivative in that direction. An input without a gradient is a constant. Threads: as spy_call().
// Short for spy_call_with() with options.mode = SPY_CALL_MODE_FORWARD_DIFF.
SPY_API spy_status spy_call_forward_diff(spy_function *function, spy_args args);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_GRADIENT_H
