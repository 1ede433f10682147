/* What the files of the extension module `_native` share. */

#ifndef GATHERCLI_NATIVE_H
#define GATHERCLI_NATIVE_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define PREFETCH(at) __builtin_prefetch(at)
#define LOW_ZEROS(bits) __builtin_ctzll(bits)
#define HIGH_ZEROS(bits) __builtin_clzll(bits)
#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("unroll 4")
#else
#define UNROLL _Pragma("GCC unroll 4")
#endif
/* Make the compiler take a value, or all memory, as it was read; never read it again. */
#define PIN(value) __asm__("" : "+r"(value))
#define PIN_MEMORY(at) __asm__ volatile("" : : "r"(at) : "memory")
#else
#define PREFETCH(at) ((void)(at))
#define INLINE static inline
#define UNROLL
#define PIN(value) ((void)(value))
#define PIN_MEMORY(at) ((void)(at))
/* Count the zeros below the lowest bit that is set, and above the highest one. */
static int LOW_ZEROS(uint64_t bits) { return bits & 1 ? 0 : 1 + LOW_ZEROS(bits >> 1); }
static int HIGH_ZEROS(uint64_t bits) { return bits >> 63 ? 0 : 1 + HIGH_ZEROS(bits << 1); }
#endif

/* Call `work`, which returns when there is nothing left to do, here and in up to `helpers` threads at
   the same time. Return when all calls have. */
void work_together(int helpers, void (*work)(void *), void *argument);

/* The functions of the module, and their docstrings: of gather.c, of again.c, of beams.c, and of json.c. */
extern const char fill_doc[], fill_again_doc[], fill_tree_doc[], json_lists_doc[];
PyObject *fill(PyObject *module, PyObject *args);
PyObject *fill_again(PyObject *module, PyObject *args);
PyObject *fill_tree(PyObject *module, PyObject *args);
PyObject *json_lists(PyObject *module, PyObject *args);

#endif
