#ifndef SPY_API_SLANGPY_CPP_H
#define SPY_API_SLANGPY_CPP_H

// The C functions with C++'s conveniences: handles that release what they hold, arguments from C++ values, and calls as calls.
// C++17; with C++20 std::span is taken too. All of it is inline: the implementation stays slangpy.h's, in whichever file has it,
// and the C functions may be mixed in anywhere by get().
//
//     #include "slangpy_vk.h"
//     #include "slangpy.hpp"
//
//     spy::device dev(spy_vk_backend());
//     spy::module mod = dev.load_module("saxpy.slang");
//     spy::tensor x = dev.tensor_from(std::vector<float>{ 1, 2, 3, 4 });
//     spy::tensor y = mod["saxpy"].get<spy::tensor>(spy::arg("a", 2.0f), spy::arg("x", x), spy::arg("y", 1));
//     std::vector<float> values = y.to_vector<float>();
//     if (spy::error e = dev.take_error()) std::fprintf(stderr, "%s\n", e.message.c_str());
//
// Handles. All may be copied, and a copy shares the object, but cursor and resolution, which can only be moved. An empty handle is false, and every function may be called on it: it fails by an error. The
// GPU device is released with the last handle of any kind that came from it, so that handles may be destroyed in any order.
//
// Errors. As in C nothing is thrown: functions return spy_status or an empty handle, and the device keeps the first error until
// take_error(). Whoever wants something else gives the device a function that is called at each error, in place of that:
//     spy::device dev(spy_vk_backend(), spy::throw_error);   // spy::exception, derived from std::runtime_error
//     spy::device dev(spy_vk_backend(), my_assert);          // void my_assert(const spy::error &)
// It is a function and not a macro, so that files of one program may be compiled differently, also with -fno-exceptions.
//
// Arguments are values, by position, or spy::arg("name", value): numbers and enums; std::array and arrays (vectors, matrices);
// std::vector, std::span and whatever has data() and size() (arrays that the call runs over), of numbers or of std::array;
// spy::array(pointer, shape); spy::tensor; spy::bytes(struct); spy::fields(spy::arg("x", ...), ...); spy::pair(value, gradient);
// spy::packed; and every spy_arg of C, such as spy_arg_range(). spy::out("name", variable) and spy::inout("name", variable) are
// written by the call. spy::vmap(argument, { 0, 1 }) and spy::vcast(argument, "float3") are spy_vmap() and spy_vcast(). An argument that
// is kept in a variable refers to the variables that it was made of, and owns what it was made of that had no name.
//
// Threads: as for the C functions of the same names; a handle is copied and destroyed by one thread at a time.
//
// A vector type of your own is an argument once you say what it is made of:
//     template <> struct spy::element<glm::vec3> : spy::elements<float, 3> {};

#include <array>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define SPYI_CPP_EXCEPTIONS 1
#include <stdexcept>
#endif

namespace spy {

// >>errors

struct error {
    spy_status code = SPY_OK;
    std::string message;
    explicit operator bool() const noexcept {
        return code != SPY_OK;
    }
};

// Called with an error that has just happened, on the thread that made it. The function that failed then
// returns as it does without a handler.
using error_handler = void (*)(const error &);

#ifdef SPYI_CPP_EXCEPTIONS
class exception : public std::runtime_error {
  public:
    explicit exception(const error &e) : std::runtime_error(e.message), code_(e.code) {
    }
    spy_status code() const noexcept {
        return code_;
    }

  private:
    spy_status code_;
};

// An error_handler that throws spy::exception.
[[noreturn]] inline void throw_error(const error &e) {
    throw exception(e);
}
#undef SPYI_CPP_EXCEPTIONS
#endif

// >>what values are made of

namespace detail {

// Appends a size. A rank beyond SPY_MAX_RANK is refused by the function that gets the shape.
inline void append(spy_shape &shape, int64_t size) {
    if (shape.rank < SPY_MAX_RANK) shape.dims[shape.rank] = size;
    shape.rank++;
}

} // namespace detail

// Sizes[0] * Sizes[1] * ... scalars of one type, row-major: the base class of an element<T>.
template <class Scalar, int64_t... Sizes> struct elements {
    using scalar = Scalar;
    static constexpr int64_t count = (Sizes * ... * 1);
    static void append([[maybe_unused]] spy_shape &shape) {
        (detail::append(shape, Sizes), ...);
    }
};
// The scalars that a type consists of, for arrays and vectors of the type. An element<T> without a base class
// means that they are unknown.
template <class T, class = void> struct element {};
template <class T>
struct element<T, std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<T, char>>> : elements<T> {};

namespace detail {

template <class T, class = void> struct is_element : std::false_type {};
template <class T> struct is_element<T, std::void_t<typename element<T>::scalar>> : std::true_type {};

template <class T, size_t N> struct row {
    using scalar = typename element<T>::scalar;
    static constexpr int64_t count = int64_t(N) * element<T>::count;
    static void append(spy_shape &shape) {
        detail::append(shape, int64_t(N));
        element<T>::append(shape);
    }
};

} // namespace detail

template <class T, size_t N>
struct element<std::array<T, N>, std::enable_if_t<detail::is_element<T>::value>> : detail::row<T, N> {};
template <class T, size_t N>
struct element<T[N], std::enable_if_t<detail::is_element<T>::value>> : detail::row<T, N> {};

namespace detail {

template <class T> constexpr spy_dtype dtype_of() {
    if constexpr (std::is_same_v<T, bool>) return SPY_DTYPE_BOOL;
    else if constexpr (std::is_floating_point_v<T>) {
        static_assert(sizeof(T) <= 8, "long double has no counterpart in Slang");
        return sizeof(T) == 4 ? SPY_DTYPE_FLOAT32 : SPY_DTYPE_FLOAT64;
    } else {
        static_assert(std::is_integral_v<T>, "a scalar is a number");
        constexpr spy_dtype with_sign[] = { SPY_DTYPE_INT8, SPY_DTYPE_INT16, SPY_DTYPE_INT32,
                                            SPY_DTYPE_INT64 };
        constexpr spy_dtype without[] = { SPY_DTYPE_UINT8, SPY_DTYPE_UINT16, SPY_DTYPE_UINT32,
                                          SPY_DTYPE_UINT64 };
        constexpr int log2 = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
        return std::is_signed_v<T> ? with_sign[log2] : without[log2];
    }
}

template <class T> using bare = std::remove_cv_t<std::remove_reference_t<T>>;

// Types with data() and size() whose elements are known: std::vector, std::span.
template <class T, class = void> struct is_range : std::false_type {};
template <class T>
struct is_range<
    T, std::void_t<decltype(std::data(std::declval<T &>())), decltype(std::size(std::declval<T &>()))>>
    : is_element<bare<decltype(*std::data(std::declval<T &>()))>> {};

// Returns the scalars at `data` as a host array; T may be const.
template <class T> auto scalars_of(T *data, spy_shape shape) {
    using what = element<std::remove_cv_t<T>>;
    using scalar = typename what::scalar;
    static_assert(sizeof(T) == sizeof(scalar) * size_t(what::count),
                  "spy::element<T> does not describe all bytes of T");
    what::append(shape);
    struct result {
        std::conditional_t<std::is_const_v<T>, const void *, void *> data;
        spy_shape shape;
        spy_dtype dtype;
    };
    return result{ data, shape, dtype_of<scalar>() };
}
// Returns a value, or a range with its size as the first dimension, as a host array of scalars.
template <class T> auto scalars_of_value(T &value) {
    spy_shape shape = {};
    if constexpr (is_element<std::remove_cv_t<T>>::value) {
        return scalars_of(std::addressof(value), shape);
    } else {
        shape.rank = 1;
        shape.dims[0] = int64_t(std::size(value));
        return scalars_of(std::data(value), shape);
    }
}
template <class T> constexpr bool has_scalars = is_element<T>::value || is_range<T>::value;

// >>handles

// The device that handles share. It has the error handler, so that the handler is the same in every file.
struct device_state {
    spy_device *device = nullptr;
    error_handler on_error = nullptr;
    bool owned = true;
    device_state() = default;
    device_state(const device_state &) = delete;
    ~device_state() {
        if (owned) spy_release_device(device);
    }
};
using owner = std::shared_ptr<const device_state>;

// Returns and clears the first error of a device, or, without a device, of this thread.
inline error take_error(spy_device *device) {
    spy_error e = spy_take_error(device);
    if (e.code == SPY_OK && device != nullptr) e = spy_take_error(nullptr);
    error result;
    result.code = e.code;
    result.message = e.message;
    return result;
}
inline void tell(const owner &device, spy_status status) {
    if (!device || device->on_error == nullptr) return;
    error e = take_error(device->device);
    if (e.code == SPY_OK) e.code = status, e.message = spy_status_text(status);
    device->on_error(e);
}
inline spy_status told(const owner &device, spy_status status) {
    if (status != SPY_OK) tell(device, status);
    return status;
}

template <class T, void (*Release)(T *)> class handle {
  public:
    handle() = default;
    // Takes `raw` over; NULL means that an error has just happened.
    handle(T *raw, owner device) : device_(std::move(device)), raw_(raw) {
        if (raw == nullptr) tell(device_, SPY_ERROR_INTERNAL);
    }
    handle(handle &&other) noexcept
        : device_(std::move(other.device_)), raw_(std::exchange(other.raw_, nullptr)) {
    }
    handle &operator=(handle &&other) noexcept {
        if (this != &other) {
            reset();
            device_ = std::move(other.device_);
            raw_ = std::exchange(other.raw_, nullptr);
        }
        return *this;
    }
    ~handle() {
        if (raw_ != nullptr) Release(raw_);
    }
    T *get() const noexcept {
        return raw_;
    }
    explicit operator bool() const noexcept {
        return raw_ != nullptr;
    }
    // Returns the device of this object, for objects that are made of it.
    const owner &shared_device() const noexcept {
        return device_;
    }
    void reset() noexcept {
        if (raw_ != nullptr) Release(std::exchange(raw_, nullptr));
        device_.reset();
    }
    // Returns the object and leaves the handle empty: the caller releases the object.
    T *release() noexcept {
        return std::exchange(raw_, nullptr);
    }

  protected:
    spy_status told(spy_status status) const {
        return detail::told(device_, status);
    }
    owner device_;
    T *raw_ = nullptr;
};

template <class T, void (*Release)(T *), void (*Retain)(T *)>
class shared_handle : public handle<T, Release> {
  public:
    using handle<T, Release>::handle;
    shared_handle() = default;
    shared_handle(const shared_handle &other) : handle<T, Release>() {
        *this = other;
    }
    shared_handle(shared_handle &&) noexcept = default;
    shared_handle &operator=(const shared_handle &other) {
        if (this == &other) return *this;
        if (other.raw_ != nullptr) Retain(other.raw_);
        this->reset();
        this->device_ = other.device_;
        this->raw_ = other.raw_;
        return *this;
    }
    shared_handle &operator=(shared_handle &&) noexcept = default;
};

} // namespace detail

class device;
class function;

// >>tensors

class tensor : public detail::shared_handle<spy_tensor, spy_release_tensor, spy_retain_tensor> {
  public:
    using shared_handle::shared_handle;
    // Takes over a tensor of the C interface, e.g. of spy_vk_create_tensor().
    tensor(spy_tensor *raw, const device &of);

    spy_tensor_info info() const {
        return spy_get_tensor_info(raw_);
    }
    spy_shape shape() const {
        return info().shape;
    }
    // Copies all elements to or from an array or a range with data() and size(); sizes in bytes must be
    // equal.
    template <class Range> spy_status read(Range &&to) const {
        return told(spy_tensor_read(raw_, std::data(to), std::size(to) * sizeof *std::data(to)));
    }
    template <class Range> spy_status write(const Range &from) const {
        return told(spy_tensor_write(raw_, std::data(from), std::size(from) * sizeof *std::data(from)));
    }
    // Returns all elements; empty after an error. T is as large as the element, or as its scalars, in C's
    // layout.
    template <class T> std::vector<T> to_vector() const {
        static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>,
                      "a tensor of bool is read into an array of bool");
        std::vector<T> values(info().host_size_bytes / sizeof(T));
        if (read(values) != SPY_OK) values.clear();
        return values;
    }
    spy_status fill(double value) const {
        return told(spy_tensor_fill(raw_, value));
    }
    spy_status copy_from(const tensor &from) const {
        return told(spy_tensor_copy(raw_, from.raw_));
    }
    std::string print() const {
        std::string text(spy_tensor_print(raw_, nullptr, 0), '\0');
        spy_tensor_print(raw_, text.data(), text.size() + 1);
        return text;
    }
    // The tensor that holds this tensor's gradient; an empty handle when the tensor has no gradient.
    tensor grad() const {
        return borrowed(spy_tensor_grad(raw_));
    }
    spy_status zero_grad() const {
        return told(spy_tensor_zero_grad(raw_));
    }
    tensor detached() const {
        return { spy_create_detached(raw_), device_ };
    }
    // Returns a view, which shares the memory and keeps it alive.
    tensor slice(uint32_t dim, int64_t start, int64_t stop, int64_t step = 1) const {
        return { spy_create_slice(raw_, dim, start, stop, step), device_ };
    }
    tensor select(uint32_t dim, int64_t index) const {
        return { spy_create_select(raw_, dim, index), device_ };
    }
    tensor broadcast(const spy_shape &shape) const {
        return { spy_create_broadcast(raw_, shape), device_ };
    }
    tensor reshape(const spy_shape &shape) const {
        return { spy_create_reshape(raw_, shape), device_ };
    }
    tensor transpose(const spy_dims &order) const {
        return { spy_create_transpose(raw_, order), device_ };
    }
    // Returns a view by numpy's indexing: indexed(spy_index_at(2), spy_index_rest()).
    template <class... Index> tensor indexed(const Index &...items) const {
        return { spy_create_indexed(raw_, SPY_INDICES(items...)), device_ };
    }
    tensor view(const spy_view_desc &desc) const {
        return { spy_create_view(raw_, &desc), device_ };
    }

  private:
    tensor borrowed(spy_tensor *raw) const {
        if (raw == nullptr) return {};
        spy_retain_tensor(raw);
        return { raw, device_ };
    }
};

class packed : public detail::shared_handle<spy_packed, spy_release_packed, spy_retain_packed> {
  public:
    using shared_handle::shared_handle;
};

class resolution : public detail::handle<spy_resolution, spy_release_resolution> {
  public:
    using handle::handle;
    const spy_resolution *operator->() const noexcept {
        return raw_;
    }
};

// >>arguments

// A value with the name of its parameter. T is a reference to a variable, or a value without a variable.
template <class T> struct named {
    const char *name;
    T value;
};
template <class T> auto arg(const char *name, T &&value) {
    // Numbers are copied, so that a list of them may be kept.
    using kept = std::conditional_t<std::is_arithmetic_v<detail::bare<T>> || std::is_enum_v<detail::bare<T>>,
                                    detail::bare<T>, T>;
    return named<kept>{ name, std::forward<T>(value) };
}

// The numbers at `data` in a shape, e.g. array(pixels, SPY_SHAPE(480, 640, 4)); const for inputs.
template <class T> struct host_array {
    T *data;
    spy_shape shape;
};
template <class T> host_array<T> array(T *data, const spy_shape &shape) {
    return { data, shape };
}
template <class T> host_array<T> array(T *data, size_t count) {
    return { data, SPY_SHAPE(count) };
}

// A struct as bytes, in C's layout of the Slang type.
template <class T> struct bytes_of { T value; };
template <class T> bytes_of<T> bytes(T &&value) {
    static_assert(std::is_trivially_copyable_v<detail::bare<T>>,
                  "spy::bytes takes a struct without constructors of its own");
    return { std::forward<T>(value) };
}

namespace detail {

// An argument that is made of other arguments. The list of the C interface lies beside the parts, for as long
// as they live.
template <class... A> struct parts {
    std::tuple<A...> values;
    mutable spy_arg items[sizeof...(A) == 0 ? 1 : sizeof...(A)];
    spy_args list() const;
};
template <class... A> struct fields_of : parts<A...> {};
template <class... A> struct pair_of : parts<A...> {};
template <class A> struct mapped {
    A inner;
    spy_dims dims;
};
template <class A> struct casted {
    A inner;
    const char *type;
};
// A variable that the call writes, or reads and writes.
template <class T> struct output {
    const char *name;
    T &to;
    bool both; // the call also reads the variable
};
struct tensor_output {
    const char *name;
    tensor &to;
    mutable spy_tensor *made;
};

} // namespace detail

// Makes an argument of a struct's fields, or of x, y, z and w of a vector.
template <class... A> detail::fields_of<A...> fields(A &&...parts) {
    return { { { std::forward<A>(parts)... }, {} } };
}
// Makes an argument of a value and its gradient: spy::pair(3.0f, spy::inout(nullptr, dx)).
template <class Value, class Gradient>
detail::pair_of<Value, Gradient> pair(Value &&value, Gradient &&gradient) {
    return { { { std::forward<Value>(value), std::forward<Gradient>(gradient) }, {} } };
}
// Maps dimension i of the argument to dimension dims[i] of the call.
template <class A> detail::mapped<A> vmap(A &&argument, std::initializer_list<int32_t> dims) {
    spy_dims list = {};
    for (int32_t d : dims) {
        if (list.count < SPY_MAX_RANK) list.dims[list.count] = d;
        list.count++; // the call reports too many dimensions
    }
    return { std::forward<A>(argument), list };
}
// Maps the first dimensions: vdim(argument, 2) is vmap(argument, { 0, 1 }).
template <class A> detail::mapped<A> vdim(A &&argument, uint32_t count) {
    spy_dims list = {};
    list.count = count; // the call reports too many dimensions
    for (int32_t d = 0; d < SPY_MAX_RANK; d++) list.dims[d] = d;
    return { std::forward<A>(argument), list };
}
template <class A> detail::casted<A> vcast(A &&argument, const char *type) {
    return { std::forward<A>(argument), type };
}
// Stands for any argument in the list of function::declare().
inline spy_arg any(const char *name = nullptr) {
    return spy_arg_any(name);
}
template <class T> detail::output<T> out(const char *name, T &variable) {
    return { name, variable, false };
}
// An argument that makes a new tensor of the call's shape. It replaces the tensor in `variable` when the call
// succeeds.
inline detail::tensor_output out(const char *name, tensor &variable) {
    return { name, variable, nullptr };
}
template <class T> detail::output<T> inout(const char *name, T &variable) {
    static_assert(!std::is_same_v<T, tensor>, "a tensor that is read and written is a plain argument");
    return { name, variable, true };
}

namespace detail {

template <class T> constexpr bool unknown = false;

// >>arguments as spy_arg: to_arg(name, value) for values, item(x) for whatever stands in a call.

template <class T> spy_arg to_arg(const char *name, const T &value) {
    if constexpr (std::is_enum_v<T>) return to_arg(name, static_cast<std::underlying_type_t<T>>(value));
    else if constexpr (std::is_same_v<T, bool>) return spy_arg_bool(name, value);
    else if constexpr (std::is_same_v<T, float>) return spy_arg_f32(name, value);
    else if constexpr (std::is_same_v<T, double>) return spy_arg_f64(name, value);
    else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, char>) {
        if constexpr (std::is_signed_v<T>)
            return sizeof(T) <= 4 ? spy_arg_i32(name, int32_t(value)) : spy_arg_i64(name, value);
        else return sizeof(T) <= 4 ? spy_arg_u32(name, uint32_t(value)) : spy_arg_u64(name, value);
    } else if constexpr (std::is_convertible_v<const T &, const tensor &>)
        return spy_arg_tensor(name, value.get());
    else if constexpr (std::is_same_v<T, spy_tensor *>) return spy_arg_tensor(name, value);
    else if constexpr (std::is_same_v<T, packed>) return spy_arg_packed(name, value.get());
    else if constexpr (std::is_same_v<T, spy_arg>) {
        spy_arg a = value;
        if (name != nullptr) a.name = name;
        return a;
    } else if constexpr (has_scalars<T>) {
        const auto s = scalars_of_value(value);
        return spy_arg_array(name, s.data, s.shape, s.dtype);
    } else {
        static_assert(unknown<T>, "no argument is made of this type: numbers, std::array, std::vector, "
                                  "std::span, spy::array(pointer, shape), "
                                  "spy::tensor, spy::bytes(struct) or spy::fields(...); a vector type of "
                                  "your own needs a spy::element<T>");
        return spy_arg();
    }
}
template <class T> spy_arg to_arg(const char *name, const host_array<T> &value) {
    const auto s = scalars_of(value.data, value.shape);
    return spy_arg_array(name, s.data, s.shape, s.dtype);
}
template <class T> spy_arg to_arg(const char *name, const bytes_of<T> &value) {
    return spy_arg_data(name, std::addressof(value.value), sizeof value.value);
}
template <class... A> spy_arg to_arg(const char *name, const fields_of<A...> &value) {
    return spy_arg_struct(name, value.list());
}
template <class... A> spy_arg to_arg(const char *name, const pair_of<A...> &value) {
    return spy_arg_diff_pair(name, value.list());
}

template <class T> spy_arg item(const T &value) {
    return to_arg(nullptr, value);
}
template <class T> spy_arg item(const named<T> &a) {
    return to_arg(a.name, a.value);
}
template <class A> spy_arg item(const mapped<A> &a) {
    return spy_vmap(item(a.inner), a.dims);
}
template <class A> spy_arg item(const casted<A> &a) {
    return spy_vcast(item(a.inner), a.type);
}
inline spy_arg item(const tensor_output &a) {
    return spy_out_tensor(a.name, &a.made);
}

inline spy_arg out_array(const char *name, bool both, spy_dtype dtype, const spy_shape &shape, void *data) {
    return both ? spy_inout_array(name, data, shape, dtype) : spy_out_array(name, data, shape, dtype);
}
inline spy_arg out_data(const char *name, bool both, void *data, size_t size) {
    return both ? spy_inout_data(name, data, size) : spy_out_data(name, data, size);
}
template <class T> spy_arg out_item(const char *name, bool both, T &to) {
    static_assert(!std::is_const_v<T>, "the call writes it: it must not be const");
    if constexpr (std::is_same_v<T, bool>) return both ? spy_inout_bool(name, &to) : spy_out_bool(name, &to);
    else if constexpr (std::is_same_v<T, int32_t>)
        return both ? spy_inout_i32(name, &to) : spy_out_i32(name, &to);
    else if constexpr (std::is_same_v<T, uint32_t>)
        return both ? spy_inout_u32(name, &to) : spy_out_u32(name, &to);
    else if constexpr (std::is_same_v<T, int64_t>)
        return both ? spy_inout_i64(name, &to) : spy_out_i64(name, &to);
    else if constexpr (std::is_same_v<T, uint64_t>)
        return both ? spy_inout_u64(name, &to) : spy_out_u64(name, &to);
    else if constexpr (std::is_same_v<T, float>)
        return both ? spy_inout_f32(name, &to) : spy_out_f32(name, &to);
    else if constexpr (std::is_same_v<T, double>)
        return both ? spy_inout_f64(name, &to) : spy_out_f64(name, &to);
    else if constexpr (has_scalars<T> && !std::is_arithmetic_v<T>) {
        const auto s = scalars_of_value(to);
        return out_array(name, both, s.dtype, s.shape, const_cast<void *>(static_cast<const void *>(s.data)));
    } else {
        static_assert(std::is_trivially_copyable_v<T>, "no result is written to this type");
        return out_data(name, both, std::addressof(to), sizeof to);
    }
}
template <class T> spy_arg out_item(const char *name, bool both, host_array<T> &to) {
    static_assert(!std::is_const_v<T>, "the call writes it: it must not be const");
    const auto s = scalars_of(to.data, to.shape);
    return out_array(name, both, s.dtype, s.shape, s.data);
}
template <class T> spy_arg item(const output<T> &a) {
    return out_item(a.name, a.both, a.to);
}

template <class... A> spy_args parts<A...>::list() const {
    std::apply(
        [this](const auto &...all) {
            size_t i = 0;
            ((items[i++] = item(all)), ...);
        },
        values);
    return { items, sizeof...(A) };
}

// Called after a call that succeeded: stores new tensors in their variables.
template <class T> void finish(const T &, const owner &) {
}
inline void finish(const tensor_output &a, const owner &device) {
    if (a.made != nullptr) a.to = tensor(a.made, device);
}
template <class A> void finish(const mapped<A> &a, const owner &device) {
    finish(a.inner, device);
}
template <class A> void finish(const casted<A> &a, const owner &device) {
    finish(a.inner, device);
}

// Makes the list of arguments for `use`, which returns a spy_status or a pointer.
template <class Use, class... A> auto with_args(const owner &device, Use &&use, const A &...arguments) {
    const spy_arg items[sizeof...(A) + 1] = { item(arguments)..., spy_arg() };
    const spy_args list = { items, sizeof...(A) };
    auto result = use(list);
    if constexpr (std::is_same_v<decltype(result), spy_status>) {
        if (result == SPY_OK) (finish(arguments, device), ...);
        told(device, result);
    }
    return result;
}

} // namespace detail

// >>calls

class prepared : public detail::shared_handle<spy_prepared, spy_release_prepared, spy_retain_prepared> {
  public:
    using shared_handle::shared_handle;
    template <class... A> spy_status operator()(const A &...arguments) const {
        return detail::with_args(
            device_, [this](spy_args a) { return spy_call_prepared(raw_, a); }, arguments...);
    }
    // Returns spy_prepared_ready(). SPY_ERROR_NOT_READY is not an error here: the call is still being
    // compiled.
    spy_status ready() const {
        return spy_prepared_ready(raw_);
    }
};

class module : public detail::shared_handle<spy_module, spy_release_module, spy_retain_module> {
  public:
    using shared_handle::shared_handle;
    module(spy_module *raw, const device &of);

    // Finds a function of the module by its name; an empty handle when the module has no such function.
    function find(const char *name) const;
    function operator[](const char *name) const;
    bool has_type(const char *name) const {
        return spy_has_type(raw_, name);
    }
    spy_status reload(const char *source = nullptr) const {
        return told(spy_reload_module(raw_, source));
    }
    spy_status save(const char *path) const {
        return told(spy_save_module(raw_, path));
    }
};

// A function of a module. It keeps the module.
class function {
  public:
    function() = default;
    function(spy_function *raw, const module &of) : module_(of), raw_(raw) {
        if (raw == nullptr) detail::tell(of.shared_device(), SPY_ERROR_NOT_FOUND);
    }
    spy_function *get() const noexcept {
        return raw_;
    }
    explicit operator bool() const noexcept {
        return raw_ != nullptr;
    }
    const char *name() const {
        return spy_function_name(raw_);
    }

    // Calls the function over the broadcast shape of the arguments, like spy_call().
    template <class... A> spy_status operator()(const A &...arguments) const {
        return run([this](spy_args a) { return spy_call(raw_, a); }, arguments...);
    }
    template <class... A> spy_status call_with(const spy_call_options &options, const A &...arguments) const {
        return run([&](spy_args a) { return spy_call_with(raw_, a, &options); }, arguments...);
    }
    // Returns the result of a call as a value, or as a spy::tensor of all results; R() after an error.
    template <class R, class... A> R get(const A &...arguments) const {
        static_assert(!detail::is_range<R>::value || detail::is_element<R>::value,
                      "a result of unknown size is a spy::tensor; its values come by to_vector()");
        R result{};
        (void)(*this)(arguments..., out("_result", result));
        return result;
    }
    template <class... A> spy_status backward(const A &...arguments) const {
        return run([this](spy_args a) { return spy_call_backward(raw_, a); }, arguments...);
    }
    template <class... A> spy_status forward_diff(const A &...arguments) const {
        return run([this](spy_args a) { return spy_call_forward_diff(raw_, a); }, arguments...);
    }
    template <class... A> spy_status dispatch(const spy_uint3 &threads, const A &...arguments) const {
        return run([&](spy_args a) { return spy_dispatch(raw_, threads, a, nullptr); }, arguments...);
    }
    template <class... A>
    spy_status dispatch_with(const spy_uint3 &threads, const spy_call_options &options,
                             const A &...arguments) const {
        return run([&](spy_args a) { return spy_dispatch(raw_, threads, a, &options); }, arguments...);
    }
    template <class... A>
    spy_status dispatch_indirect(const tensor &groups, int64_t index, const A &...arguments) const {
        return run([&](spy_args a) { return spy_dispatch_indirect(raw_, groups.get(), index, a, nullptr); },
                   arguments...);
    }
    // Makes the call, waits, and returns the GPU's time in nanoseconds; 0 after an error.
    template <class... A> uint64_t time_ns(const A &...arguments) const {
        uint64_t time = 0;
        (void)run([&](spy_args a) { return spy_time_call(raw_, a, nullptr, &time); }, arguments...);
        return time;
    }
    // Calls spy_gradcheck() with the default options.
    template <class... A> spy_status gradcheck(const A &...arguments) const {
        return run([this](spy_args a) { return spy_gradcheck(raw_, a, nullptr, nullptr); }, arguments...);
    }
    // Calls spy_declare(): f.declare(spy::vdim(spy::any(), 2), spy::any(), spy::vcast(spy::any("_result"),
    // "float3")).
    template <class... A> function declare(const A &...parameters) const {
        return { run([this](spy_args a) { return spy_declare(raw_, a); }, parameters...), module_ };
    }
    template <class... A> prepared prepare(const A &...arguments) const {
        return prepare_with({}, arguments...);
    }
    template <class... A> prepared prepare_with(const spy_prepare_desc &desc, const A &...arguments) const {
        return { run([&](spy_args a) { return spy_prepare(raw_, a, &desc); }, arguments...),
                 module_.shared_device() };
    }
    template <class... A> resolution resolve(const A &...arguments) const {
        return { run([this](spy_args a) { return spy_resolve(raw_, a, nullptr); }, arguments...),
                 module_.shared_device() };
    }
    // Describes a call: its table of arguments and its kernel. Nothing runs.
    template <class... A> std::string explain(const A &...arguments) const {
        std::string text;
        (void)run(
            [&](spy_args a) {
                text.resize(spy_explain_call(raw_, a, nullptr, nullptr, 0));
                spy_explain_call(raw_, a, nullptr, text.data(), text.size() + 1);
                return text.size();
            },
            arguments...);
        return text;
    }

  private:
    template <class Use, class... A> auto run(Use &&use, const A &...arguments) const {
        return detail::with_args(module_.shared_device(), use, arguments...);
    }
    spy::module module_;
    spy_function *raw_ = nullptr;
};

inline function module::find(const char *name) const {
    return { spy_find_function(raw_, name), *this };
}
inline function module::operator[](const char *name) const {
    return find(name);
}

class command_list
    : public detail::shared_handle<spy_command_list, spy_release_command_list, spy_retain_command_list> {
  public:
    using shared_handle::shared_handle;
    template <class... A> spy_status call(const function &f, const A &...arguments) const {
        return detail::with_args(
            device_, [&](spy_args a) { return spy_list_call(raw_, f.get(), a); }, arguments...);
    }
    template <class... A> spy_status set(uint32_t call, const A &...arguments) const {
        return detail::with_args(
            device_, [&](spy_args a) { return spy_list_set(raw_, call, a); }, arguments...);
    }
    spy_status copy(const tensor &to, const tensor &from) const {
        return told(spy_list_copy(raw_, to.get(), from.get()));
    }
    spy_status fill(const tensor &to, double value) const {
        return told(spy_list_fill(raw_, to.get(), value));
    }
    template <class Range> spy_status write(const tensor &to, const Range &from) const {
        return told(
            spy_list_write(raw_, to.get(), std::data(from), std::size(from) * sizeof *std::data(from)));
    }
    spy_status barrier() const {
        return told(spy_list_barrier(raw_));
    }
    spy_status push_label(const char *name) const {
        return told(spy_list_push_label(raw_, name));
    }
    spy_status pop_label() const {
        return told(spy_list_pop_label(raw_));
    }
    spy_status marker(const char *name) const {
        return told(spy_list_marker(raw_, name));
    }
    spy_status timestamp() const {
        return told(spy_list_timestamp(raw_));
    }
    spy_status finish() const {
        return told(spy_list_finish(raw_));
    }
    spy_status submit() const {
        return told(spy_list_submit(raw_));
    }
    spy_list_info info() const {
        return spy_get_list_info(raw_);
    }
    std::vector<uint64_t> timestamps_ns() const {
        std::vector<uint64_t> times(info().timestamp_count);
        if (told(spy_list_read_timestamps(raw_, times.data(), times.size())) != SPY_OK) times.clear();
        return times;
    }
};

// The elements of a tensor in host memory, with their fields by name. Parts of them are values of the C
// interface, for spy_cursor_read() and others.
class cursor {
  public:
    cursor() = default;
    cursor(const tensor &of, int64_t first, int64_t count)
        : of_(of), raw_(spy_create_cursor(of.get(), first, count)) {
        if (spy_get_cursor_info(raw_).type == nullptr)
            detail::tell(of_.shared_device(), SPY_ERROR_INVALID_ARGUMENT);
    }
    cursor(cursor &&other) noexcept
        : of_(std::move(other.of_)), raw_(std::exchange(other.raw_, spy_cursor())) {
    }
    cursor &operator=(cursor &&other) noexcept {
        std::swap(of_, other.of_);
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~cursor() {
        spy_release_cursor(raw_);
    }
    spy_cursor get() const noexcept {
        return raw_;
    }
    spy_cursor field(const char *path) const {
        return spy_cursor_field(raw_, path);
    }
    spy_cursor operator[](int64_t index) const {
        return spy_cursor_at(raw_, index);
    }
    spy_status apply() const {
        return detail::told(of_.shared_device(), spy_cursor_apply(raw_));
    }

  private:
    tensor of_;
    spy_cursor raw_ = {};
};

// >>the device

class device {
  public:
    device() = default;
    // Makes a device; it is empty when that fails, and take_error() says why.
    explicit device(const spy_device_desc &desc, error_handler on_error = nullptr) {
        open(spy_create_device(&desc), on_error, true);
    }
    explicit device(const spy_backend *backend, error_handler on_error = nullptr) {
        spy_device_desc desc = {};
        desc.backend = backend;
        open(spy_create_device(&desc), on_error, true);
    }
    // Makes a handle of a device of the C interface. It is released with the last handle; with owned = false
    // the caller releases it, after all handles.
    device(spy_device *raw, bool owned, error_handler on_error = nullptr) {
        open(raw, on_error, owned);
    }
    spy_device *get() const noexcept {
        return state_ ? state_->device : nullptr;
    }
    explicit operator bool() const noexcept {
        return get() != nullptr;
    }
    // Returns and clears the first error since the last call, of the device or, for an empty handle, of this
    // thread.
    error take_error() const {
        return detail::take_error(get());
    }

    spy::module load_module(const spy_module_desc &desc) const {
        return { spy_load_module(get(), &desc), state_ };
    }
    spy::module load_module(const char *path) const {
        spy_module_desc desc = {};
        desc.path = path;
        return load_module(desc);
    }
    spy::module load_source(const char *name, const char *source) const {
        spy_module_desc desc = {};
        desc.name = name;
        desc.source = source;
        return load_module(desc);
    }
    tensor create_tensor(const spy_tensor_desc &desc) const {
        return { spy_create_tensor(get(), &desc), state_ };
    }
    // Makes a tensor of zeros, e.g. zeros<float>(SPY_SHAPE(480, 640)), on request with a gradient.
    template <class T> tensor zeros(const spy_shape &shape, bool with_grad = false) const {
        spy_tensor_desc desc = {};
        desc.shape = shape;
        element<T>::append(desc.shape);
        desc.dtype = detail::dtype_of<typename element<T>::scalar>();
        desc.zeroed = true;
        desc.with_grad = with_grad;
        return create_tensor(desc);
    }
    // Makes a tensor of scalars with these values: 1,000 std::array<float, 3> give the shape (1000, 3).
    template <class Range> tensor tensor_from(const Range &values, bool with_grad = false) const {
        static_assert(detail::has_scalars<Range>,
                      "a tensor is made from std::array, std::vector, std::span or an array of numbers");
        const auto s = detail::scalars_of_value(values);
        return from(s.data, s.shape, s.dtype, with_grad);
    }
    template <class T>
    tensor tensor_from(const T *values, const spy_shape &shape, bool with_grad = false) const {
        const auto s = detail::scalars_of(values, shape);
        return from(s.data, s.shape, s.dtype, with_grad);
    }
    command_list create_command_list(const char *label = nullptr) const {
        spy_list_desc desc = {};
        desc.label = label;
        return { spy_create_command_list(get(), &desc), state_ };
    }
    template <class A> packed pack(const A &argument) const {
        return { spy_pack(get(), detail::item(argument)), state_ };
    }

    spy_submit_id flush() const {
        return spy_flush(get());
    }
    spy_status wait() const {
        return detail::told(state_, spy_wait(get()));
    }
    // Calls spy_wait_for_submit(). SPY_ERROR_NOT_READY, when the time is over first, is not an error here.
    spy_status wait_for(spy_submit_id id, uint64_t timeout_ns) const {
        spy_status status = spy_wait_for_submit(get(), id, timeout_ns);
        return status == SPY_ERROR_NOT_READY ? status : detail::told(state_, status);
    }
    bool is_finished(spy_submit_id id) const {
        return spy_is_submit_finished(get(), id);
    }
    spy_status trim() const {
        return detail::told(state_, spy_trim(get()));
    }
    spy_status poll_reload(uint64_t interval_ns = 0) const {
        return detail::told(state_, spy_poll_reload(get(), interval_ns, nullptr));
    }
    spy_device_info info() const {
        return spy_get_device_info(get());
    }
    spy_device_stats stats() const {
        return spy_get_device_stats(get());
    }
    // Empties this handle; the GPU device is released with the last handle of all.
    void reset() noexcept {
        state_.reset();
    }

  private:
    friend class tensor;
    friend class module;
    void open(spy_device *raw, error_handler on_error, bool owned) {
        auto state = std::make_shared<detail::device_state>();
        state->device = raw;
        state->on_error = on_error;
        state->owned = owned;
        state_ = std::move(state);
        if (raw == nullptr) detail::tell(state_, SPY_ERROR_NO_DEVICE);
    }
    tensor from(const void *data, const spy_shape &shape, spy_dtype dtype, bool with_grad) const {
        spy_tensor_desc desc = {};
        desc.shape = shape;
        desc.dtype = dtype;
        desc.data = data;
        desc.with_grad = with_grad;
        return create_tensor(desc);
    }
    detail::owner state_;
};

inline tensor::tensor(spy_tensor *raw, const device &of) : tensor(raw, of.state_) {
}
inline module::module(spy_module *raw, const device &of) : module(raw, of.state_) {
}

} // namespace spy

#endif // SPY_API_SLANGPY_CPP_H
