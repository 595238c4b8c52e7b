// Gradients: tensors with gradients, and calls that compute derivatives.
#ifndef SPY_API_GRADIENT_H
#define SPY_API_GRADIENT_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

// >>tensors with gradients
// spy_tensor_desc.with_grad makes one zeroed gradient tensor, which calls read and add to; grad_in and
// grad_out are two separate ones. A gradient has its tensor's shape; its element type is what Slang calls
// T.Differential: float3 for float3, "Light.Differential" for a struct. A float tensor may be given half
// gradients, and a half tensor float gradients. A view has the corresponding view of its tensor's gradients.
// A tensor keeps its gradients alive.

// Returns the gradient tensor: the one that with_grad made, or grad_out, or grad_in, in this order. Returns
// NULL, without an error, when the tensor has no gradient. The caller does not release it; it lives as long
// as `tensor`. Threads: any.
SPY_API spy_tensor *spy_tensor_grad(spy_tensor *tensor);
// Returns the gradient that calls read: backward calls read it of their outputs, forward-mode calls of their
// inputs. Returns NULL if the tensor has none. The caller does not release it. Threads: any.
SPY_API spy_tensor *spy_tensor_grad_in(spy_tensor *tensor);
// Returns the gradient that backward calls add to and that forward-mode calls write. Returns NULL if the
// tensor has none. The caller does not release it. Threads: any.
SPY_API spy_tensor *spy_tensor_grad_out(spy_tensor *tensor);
// Sets all gradients of a tensor to zero. Threads: any.
SPY_API spy_status spy_tensor_zero_grad(spy_tensor *tensor);
// Returns a view of the same elements without gradients, which the caller releases. Returns NULL on failure.
// Threads: any.
SPY_API spy_tensor *spy_create_detached(spy_tensor *tensor);
// Returns a view of the same elements with other gradients, which the caller releases; the tensor itself is
// not changed. grad_in and grad_out are as in spy_tensor_desc. When both are NULL, one new zeroed gradient
// serves for both; the gradient type of a struct is looked up in `module`, which may be NULL when the tensor
// has a gradient or its element type is built in. Returns NULL on failure. Threads: any.
SPY_API spy_tensor *spy_create_attached(spy_tensor *tensor, spy_tensor *grad_in, spy_tensor *grad_out,
                                        spy_module *module);

// >>a value and its gradient as two arguments
// Passes a value and its gradient: pair.items[0] is the value, pair.items[1] its gradient; their names do not
// matter. The value may be of any kind that the parameter takes, also a number, host data or a struct. When
// both are tensors, they have the same shape. In a backward call, the gradient of an input is added to, so it
// is a tensor or spy_inout_...; the gradient of an output is only read, so it is a tensor or spy_arg_.... In
// forward mode, gradients of inputs are read and gradients of outputs are written. Several inputs may add to
// one tensor, but not to the same host memory. Calls that compute no gradients use only the value. The list
// must stay alive until the call.
// A parameter of type DifferentialPair<T> takes value and gradient in a call that computes no gradients. It
// also takes a tensor with a gradient, or a struct with the fields p (the value) and d (its gradient). An
// inout or out parameter writes both. The same holds for a field of type DifferentialPair<T> in a struct that
// is given by its fields. The T of a generic function is inferred from the value. With spy_out_result() for
// both, a function that returns nothing sets neither, and a result without a derivative, such as an int, sets
// no gradient. spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 3), spy_inout_f32(NULL, &dx)))
SPY_API spy_arg spy_arg_diff_pair(const char *name, spy_args pair);

// >>calls

// Computes gradients of inputs from gradients of outputs (reverse mode). It takes the arguments of
// spy_call(). For each element of the call it reads the gradients of the outputs ("_result", out parameters),
// multiplies them with the function's derivative, and adds the product to the gradients of the inputs.
// Nothing else is written, neither the outputs nor their gradients. An input without a gradient is a
// constant. An inout parameter must hold the value that it had before the forward call, and needs separate
// grad_in and grad_out.
// An input that is broadcast gets the sum over all elements that used it; sums of 16-bit gradients are
// computed in float. The function must be [Differentiable] or have a custom derivative; parameters marked
// no_diff get no gradient. Errors found before the launch leave every gradient unchanged. Threads: as
// spy_call().
// Cost: as spy_call(), and one more dispatch for each further way in which inputs are broadcast. Large sums
// of half and double, and large sums with spy_call_options.deterministic, take a second dispatch.
// Short for spy_call_with() with options.mode = SPY_CALL_MODE_BACKWARD, which takes further options.
SPY_API spy_status spy_call_backward(spy_function *function, spy_args args);

// Computes the outputs and their derivatives in one direction (forward mode). It takes the arguments of
// spy_call(), reads the gradients of the inputs (the direction, or tangents), and writes the outputs and the
// gradients of the outputs. An input without a gradient is a constant. Threads: as spy_call(). Short for
// spy_call_with() with options.mode = SPY_CALL_MODE_FORWARD_DIFF.
SPY_API spy_status spy_call_forward_diff(spy_function *function, spy_args args);

// >>checks

// Options of spy_gradcheck(). All members may stay zero.
typedef struct spy_gradcheck_desc {
    double step;               // distance by which each number is moved up and down; 0 means 2^-17 for
                               // float64, 2^-8 for float32 and 2^-4 for float16, times the number where that
                               // is above 1
    double relative_tolerance; // 0 means 1e-5 for float64, 1e-2 for float32 and 0.1 for float16
    double absolute_tolerance; // 0 means 1e-7 for float64, 1e-3 for float32 and 0.05 for float16
    uint32_t max_elements;     // the numbers of each argument that are checked, chosen at random; 0 means 64
    uint64_t seed;             // seed of the outputs' random gradients and of the choice of elements
    uint64_t _end_canary;      // must be 0, like all unset members: detects a struct that was not zeroed
} spy_gradcheck_desc;

// The result of spy_gradcheck().
typedef struct spy_gradcheck_info {
    uint32_t checked, wrong;  // the number of gradients that were compared, and number of those that differ
    bool float64;             // some gradients were compared in float64
    char argument[64];        // the argument with the largest error: "x", "light.color"
    int64_t element;          // the index of the number among the argument's scalars, in row-major order
    double analytic, numeric; // gradient of that number by the derivative, and by central differences
} spy_gradcheck_info;

// Compares the gradients of spy_call_backward() with central differences of spy_call(). It takes the
// arguments of spy_call(), of which it works on copies: float numbers, host arrays and tensors, also within
// structs, get gradients, and other arguments are constants. "_result" need not be given. The check runs in
// float64 where the function takes doubles for all of them, as generic functions do, and else in the
// arguments' types. SPY_OK: all gradients agree. SPY_ERROR_WRONG_GRADIENT: the message names the argument
// and the element with the largest error, and both values; *info has them, too (`info` may be NULL). inout
// parameters are SPY_ERROR_UNSUPPORTED. At a kink, such as that of abs() at 0, the two values differ.
// `desc` may be NULL. Threads: any. Cost: two calls, which wait, for each number that is checked.
SPY_API spy_status spy_gradcheck(spy_function *function, spy_args args, const spy_gradcheck_desc *desc,
                                 spy_gradcheck_info *info);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_GRADIENT_H
