/* The extension module `_native`. */

#include "native.h"

static PyMethodDef methods[] = {{"fill", fill, METH_VARARGS, fill_doc},
                                {"fill_again", fill_again, METH_VARARGS, fill_again_doc},
                                {"fill_tree", fill_tree, METH_VARARGS, fill_tree_doc},
                                {"json_lists", json_lists, METH_VARARGS, json_lists_doc},
                                {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "The kernels in C, and text of JSON.",
    .m_size = 0,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    return PyModuleDef_Init(&module);
}
