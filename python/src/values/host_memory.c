// The memory of large numpy arrays that the library makes. The first touch of new pages takes longer than the copy itself:
// an H200's host fills new memory with 13 GB/s and touched memory with 47 (docs/measurements.md, "Copies between host
// memory and a GPU"). Memory of freed arrays is therefore kept for the next array, up to a bound, until a device is closed.
#include "values/values.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

// Smaller arrays get memory from numpy, because malloc keeps their memory itself.
#define SPYP_LARGE_BYTES ((size_t)16 << 20)
#define SPYP_KEPT_BYTES ((size_t)512 << 20) // most memory that is kept
#define SPYP_HUGE_PAGE ((uintptr_t)2 << 20)

typedef struct spyp_host_block {
    PyObject_HEAD
    spyp_memory memory;
} spyp_host_block;

static void spyp_memory_free(spyp_memory *m) {
    PyMem_Free(m->data);
    m->data = NULL;
    m->size = 0;
}

void spyp_host_memory_drop(void) {
    for (int i = 0; i < SPYP_KEPT_BLOCKS; i++) spyp_memory_free(&spyp.kept[i]);
}

// Keeps the memory of a freed array, and frees the memory that was kept longest if there is not enough room.
static void spyp_memory_keep(spyp_memory *m) {
    size_t kept = m->size;
    if (!m->data) return;
    if (kept > SPYP_KEPT_BYTES || spyp.exiting) {
        spyp_memory_free(m);
        return;
    }
    spyp_memory_free(&spyp.kept[SPYP_KEPT_BLOCKS - 1]);
    for (int i = SPYP_KEPT_BLOCKS - 1; i > 0; i--) spyp.kept[i] = spyp.kept[i - 1];
    spyp.kept[0] = *m;
    for (int i = 1; i < SPYP_KEPT_BLOCKS; i++) {
        kept += spyp.kept[i].size;
        if (kept <= SPYP_KEPT_BYTES) continue;
        kept -= spyp.kept[i].size;
        spyp_memory_free(&spyp.kept[i]);
    }
}

// Takes kept memory of at least `size` bytes, if it is not much larger, or new memory. Returns false with an exception set.
static bool spyp_memory_take(size_t size, spyp_memory *m) {
    for (int i = 0; i < SPYP_KEPT_BLOCKS; i++) {
        if (spyp.kept[i].size < size || spyp.kept[i].size / 4 * 3 > size) continue;
        *m = spyp.kept[i];
        spyp.kept[i].data = NULL;
        spyp.kept[i].size = 0;
        return true;
    }
    m->data = PyMem_Malloc(size);
    m->size = size;
    if (!m->data) {
        PyErr_NoMemory();
        return false;
    }
#if defined(MADV_HUGEPAGE)
    uintptr_t begin = ((uintptr_t)m->data + SPYP_HUGE_PAGE - 1) / SPYP_HUGE_PAGE * SPYP_HUGE_PAGE,
              end = ((uintptr_t)m->data + size) / SPYP_HUGE_PAGE * SPYP_HUGE_PAGE;
    if (begin < end) (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE); // an error has no effect on the result
#endif
    return true;
}

static void spyp_host_block_dealloc(PyObject *self) {
    spyp_memory_keep(&((spyp_host_block *)self)->memory);
    spyp_free(self);
}

static int spyp_host_block_buffer(PyObject *self, Py_buffer *view, int flags) {
    const spyp_memory *m = &((spyp_host_block *)self)->memory;
    return PyBuffer_FillInfo(view, self, m->data, (Py_ssize_t)m->size, 0, flags);
}

static PyType_Slot spyp_host_block_slots[] = {
    { Py_tp_dealloc, (void *)spyp_host_block_dealloc },
    { Py_bf_getbuffer, (void *)spyp_host_block_buffer },
    { 0, NULL },
};

static PyType_Spec spyp_host_block_spec = { "slangpy._slangpy._HostMemory", sizeof(spyp_host_block), 0,
                                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, spyp_host_block_slots };

PyObject *spyp_empty_array(PyObject *numpy, PyObject *shape, PyObject *dtype, size_t size) {
    if (size < SPYP_LARGE_BYTES) return PyObject_CallMethod(numpy, "empty", "OO", shape, dtype);
    if (!spyp.host_block) spyp.host_block = (PyTypeObject *)PyType_FromSpec(&spyp_host_block_spec);
    spyp_host_block *block = spyp.host_block ? (spyp_host_block *)spyp_alloc(spyp.host_block) : NULL;
    PyObject *array = NULL;
    if (block && spyp_memory_take(size, &block->memory)) // the array keeps the block
        array = PyObject_CallMethod(numpy, "ndarray", "OOO", shape, dtype, (PyObject *)block);
    Py_XDECREF((PyObject *)block);
    return array;
}
