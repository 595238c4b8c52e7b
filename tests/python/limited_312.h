// Stands for Python 3.12's headers where only 3.11's are: what the limited API gained between them, for a compile check.
#include <Python.h>
#include <structmember.h>
typedef PyObject *(*vectorcallfunc)(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames);
#define PyVectorcall_NARGS(n) ((Py_ssize_t)((n) & ~((size_t)1 << (8 * sizeof(size_t) - 1))))
PyObject *PyVectorcall_Call(PyObject *callable, PyObject *tuple, PyObject *dict);
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
