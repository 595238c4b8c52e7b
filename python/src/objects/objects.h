// The classes that Python's users see: functions that the files of this folder call in each other.
#ifndef SPYP_OBJECTS_H
#define SPYP_OBJECTS_H

#include "calls/calls.h"

// >>function.c, describe.c
// Returns the last part of a path, without generic arguments: "step" of "Particle::step", "f" of "f<float>".
PyObject *spyp_short_name(PyObject *path);
PyObject *spyp_function_make(spyp_module *module, spy_function *function, PyObject *name);
PyObject *spyp_function_str(PyObject *self); // Slang's declarations with their comments
int spyp_describe_ready(void);
int spyp_function_ready(PyObject *module);

// >>modules.c, names.c
// Returns type_conformances as a tuple of str, or NULL with an exception set.
PyObject *spyp_conformances_parse(PyObject *items, const char *where);
// Returns the function, type or constant of a name as a new reference. NULL without an exception means that the module has nothing of that name.
PyObject *spyp_module_find(spyp_module *module, PyObject *name);
// Returns the device's empty module, for built-in types, as a new reference.
spyp_module *spyp_module_default(spyp_device *device);
// Returns ", did you mean 'a', 'b'?" with the names in a declaration that are similar to `name`, or "", as a
// new reference. The declaration may be NULL.
PyObject *spyp_near_names(const spy_decl *decl, PyObject *name);
// Returns the value of a constant or of an enum's case by its path, or NULL, without an exception.
// Call it inside the device.
PyObject *spyp_module_constant(spyp_module *module, const char *path);
int spyp_modules_ready(PyObject *module);
int spyp_names_ready(void);

// >>tensor.c, buffer.c, cursor.c
// Returns a view of `size` bytes of a tensor's memory from byte `offset` on, which the caller releases. If
// `size` is -1, the view goes to the end. Returns NULL with an exception set. Call it inside the device.
spy_tensor *spyp_buffer_range(spyp_tensor *tensor, long long offset, long long size, const char *what);
// Makes a BufferCursor over `count` elements of a tensor from element `first` on. It keeps `owner`. Returns
// NULL with an exception set.
PyObject *spyp_cursor_make(spyp_device *device, spy_tensor *tensor, PyObject *owner, PyObject *module, int64_t first, int64_t count);
int spyp_cursor_ready(PyObject *module);
int spyp_tensor_ready(PyObject *module);
int spyp_buffer_ready(PyObject *module);

// >>texture.c
int spyp_texture_ready(PyObject *module);

// >>raster.c
int spyp_raster_ready(PyObject *module);

// >>fuse.c
int spyp_fuse_ready(PyObject *module);

// >>device.c, cuda.c, sharing.c, encoder.c, reflection.c
int spyp_device_ready(PyObject *module);
int spyp_cuda_ready(PyObject *module);
int spyp_sharing_ready(PyObject *module);
int spyp_encoder_ready(PyObject *module);
PyObject *spyp_device_load_list(PyObject *self, PyObject *args); // a method of Device
int spyp_reflection_ready(PyObject *module);

#endif // SPYP_OBJECTS_H
