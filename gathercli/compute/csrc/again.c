/* Gather again, as a call before on arrays of the same ranks and types, whatever their sizes.

   That call passed every rule on ranks, types, attributes and policies. What is left are the sizes: the
   rules on them hold here, or the call goes the usual way, which says what is wrong. The loops are those
   of kernel.py: see `Kernel.__init__`, `_merged` and `_aligned` there. */

#include "gather.h"

#include <stddef.h>

/* What does not depend on sizes, in the order of `Kernel.signature`. */
typedef struct {
    int64_t itemsize, type, outside, wraps; /* Of an element, of an index; of the policy. */
    int64_t axis, components;               /* Axes that become one, an index for each. */
    int64_t data_rank, index_rank, rank;    /* Of the inputs, and of the output. */
    int64_t block, located, cache;          /* Of kernel.py. */
    int64_t tuples;                         /* Whether the last dimension of indices has tuples. */
    int64_t smaller;                        /* Whether their dimensions may be, beside the axis. */
    int64_t threads, shared, most;          /* Bytes for a second thread, and of any output. */
    int64_t map[2 * DIMS];                  /* Dimensions of both for each of the output, or -1. */
} Signature;

typedef struct {
    int64_t numbers[MOST_NUMBERS];
    int64_t count, bytes; /* Numbers; of the output. */
    Py_ssize_t shape[DIMS];
    Range range;
} Sized;

typedef struct {
    int64_t size, data, index; /* Coordinates, and elements from one to the next. */
} Walk;

/* Return whether a call is served, and its sizes and loops; none of its dimensions is empty. */
static int
size(Sized *sized, const Signature *of, const Py_buffer *data, const Py_buffer *indices)
{
    int64_t lead = of->index_rank - of->tuples, view = of->data_rank - of->components + 1;
    if (of->itemsize < 1 || of->type < 0 || of->type > 7 || of->located < 1 || of->located > INT32_MAX ||
        of->threads < 1 || of->threads > INT32_MAX)
        return 0;
    if (data->ndim != of->data_rank || indices->ndim != of->index_rank ||
        data->itemsize != of->itemsize || indices->itemsize != (int64_t)1 << of->type % 4 ||
        of->components < 1 || of->axis < 0 || view <= of->axis || (of->tuples | 1) != 1 || lead < 0 ||
        (of->tuples ? indices->shape[lead] : 1) != of->components)
        return 0;
    /* The sizes and steps of the view of `data` in which the indexed axes are one. */
    int64_t sizes[DIMS], data_step[DIMS], index_step[DIMS], step = 1;
    for (int64_t d = view; d-- > 0;) {
        int64_t first = d > of->axis ? d + of->components - 1 : d;
        sizes[d] = 1;
        for (int64_t k = 0; k < (d == of->axis ? of->components : 1); k++)
            sizes[d] *= data->shape[first + k];
        data_step[d] = step;
        step *= sizes[d];
    }
    if (step == 0)
        return 0;
    step = of->tuples ? of->components : 1;
    for (int64_t i = lead; i-- > 0;) {
        index_step[i] = step;
        step *= indices->shape[i];
    }
    if (step == 0)
        return 0;
    Walk walk[DIMS];
    int64_t walks = 0, cells = 1;
    for (int64_t n = 0; n < of->rank; n++) {
        int64_t d = of->map[2 * n], i = of->map[2 * n + 1];
        if (d >= view || i >= lead || (d < 0 && i < 0))
            return 0;
        Walk next = {i >= 0 ? indices->shape[i] : sizes[d], d >= 0 ? data_step[d] : 0,
                     i >= 0 ? index_step[i] : 0};
        if (d >= 0 && (of->smaller ? next.size > sizes[d] : next.size != sizes[d]))
            return 0;
        sized->shape[n] = (Py_ssize_t)next.size;
        if (cells > of->most / next.size)
            return 0;
        cells *= next.size;
        Walk *last = walks ? &walk[walks - 1] : NULL;
        if (next.size == 1)
            continue;
        if (last && last->data == next.data * next.size && last->index == next.index * next.size)
            *last = (Walk){last->size * next.size, next.data, next.index};
        else
            walk[walks++] = next;
    }
    sized->bytes = cells * of->itemsize;
    if (sized->bytes > of->most)
        return 0;
    int64_t chunk = 1, stride = data_step[of->axis];
    if (walks && walk[walks - 1].data == 1 && walk[walks - 1].index == 0) {
        chunk = walk[walks - 1].size;
        stride = sizes[of->axis] == 1 ? chunk : stride;
        int whole = stride % chunk == 0;
        for (int64_t n = 0; n + 1 < walks; n++)
            whole &= walk[n].data % chunk == 0;
        walks -= whole;
        chunk = whole ? chunk : 1;
    }
    int64_t most = of->block / of->itemsize, part = most < of->located * chunk ? most : of->located * chunk;
    part = part > 1 ? part : 1;
    /* Whole runs of the largest loop in a part. */
    int64_t span = walks ? cells / walk[0].size : 0;
    for (int64_t n = 0; n < walks; n++) {
        if (n)
            span /= walk[n].size;
        if (span > 0 && span <= part) {
            part = part / span * span;
            break;
        }
    }
    sized->range = (Range){0, 0, sized->bytes >= of->shared ? (int)of->threads : 1};
    if (walks >= 2 && walk[walks - 2].data == 0 && walk[walks - 1].data && walk[walks - 1].index &&
        sizes[of->axis] * walk[walks - 1].size * walk[walks - 1].data * of->itemsize > of->cache) {
        int64_t each = (cells + sized->range.threads - 1) / sized->range.threads;
        part = each > part ? each : part;
    }
    sized->range.part = part * of->itemsize;
    if (walks == 0)
        walk[walks++] = (Walk){1, 0, 0};
    int64_t *number = sized->numbers, index_size = indices->itemsize;
    *number++ = chunk * of->itemsize;
    *number++ = stride * of->itemsize;
    *number++ = of->type;
    *number++ = of->outside;
    *number++ = walks;
    *number++ = of->components;
    for (int64_t n = 0; n < walks; n++) {
        *number++ = walk[n].size;
        *number++ = walk[n].data * of->itemsize;
        *number++ = walk[n].index * index_size;
    }
    step = sizes[of->axis];
    for (int64_t j = 0; j < of->components; j++) {
        int64_t along = data->shape[of->axis + j];
        step /= along;
        *number++ = along;
        *number++ = of->wraps ? along : 0;
        *number++ = step;
        *number++ = j * index_size;
    }
    sized->count = number - sized->numbers;
    return 1;
}

/* Return whether two buffers share bytes. */
static int
overlap(const Py_buffer *one, const Py_buffer *other)
{
    uintptr_t a = (uintptr_t)one->buf, b = (uintptr_t)other->buf;
    return a < b + (uintptr_t)other->len && b < a + (uintptr_t)one->len;
}

/* Return a new array of a shape, or NULL with an error. */
static PyObject *
made(PyObject *make, PyObject *dtype, const Sized *sized, int64_t rank)
{
    PyObject *shape = PyTuple_New((Py_ssize_t)rank), *array = NULL;
    for (int64_t n = 0; shape && n < rank; n++) {
        PyObject *length = PyLong_FromSsize_t(sized->shape[n]);
        if (!length || PyTuple_SetItem(shape, (Py_ssize_t)n, length) < 0)
            Py_CLEAR(shape);
    }
    if (shape)
        array = PyObject_CallFunctionObjArgs(make, shape, dtype, NULL);
    Py_XDECREF(shape);
    return array;
}

const char fill_again_doc[] =
    "fill_again(signature, make, dtype, out, data, indices)\n--\n\n"
    "Gather into `out` or, if that is None, into ``make(shape, dtype)``, and return it.\n"
    "\n"
    "`signature` has int64: see kernel.py. All arrays have the types that it was made for. Return None\n"
    "for what the usual way must answer: other ranks, sizes that a rule may refuse, empty dimensions,\n"
    "gaps between elements, an `out` that does not fit, and an illegal index.";

PyObject *
fill_again(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *object[4], *make, *dtype, *out = NULL; /* Of the signature, the output, the inputs. */
    Py_buffer view[4];
    int got = 0, legal = 0;
    if (!PyArg_ParseTuple(args, "OOOOOO:fill_again", &object[0], &make, &dtype, &object[3],
                          &object[1], &object[2]))
        return NULL;
    for (; got < 3; got++)
        if (PyObject_GetBuffer(object[got], &view[got], PyBUF_ND) < 0)
            break;
    Signature of;
    Sized sized;
    int64_t head = (int64_t)offsetof(Signature, map);
    if (got == 3 && view[0].len >= head && view[0].len <= (Py_ssize_t)sizeof of) {
        memcpy(&of, view[0].buf, (size_t)view[0].len);
        if (of.rank >= 0 && of.rank <= DIMS && view[0].len == head + 16 * of.rank &&
            size(&sized, &of, &view[1], &view[2]))
            out = object[3] == Py_None ? made(make, dtype, &sized, of.rank) : Py_NewRef(object[3]);
        if (out && PyObject_GetBuffer(out, &view[got], PyBUF_ND | PyBUF_WRITABLE) == 0) {
            int fits = view[got].ndim == of.rank && view[got].len == sized.bytes &&
                       !overlap(&view[got], &view[1]) && !overlap(&view[got], &view[2]);
            for (int64_t n = 0; fits && n < of.rank; n++)
                fits = view[got].shape[n] == sized.shape[n];
            if (fits && copy_planned(sized.numbers, sized.count, &view[got], &view[1], &view[2],
                                     &sized.range, &legal))
                legal = 0;
            got++;
        }
    }
    while (got-- > 0)
        PyBuffer_Release(&view[got]);
    PyErr_Clear(); /* The usual way meets it again, and says it in its own words. */
    if (legal)
        return out;
    Py_XDECREF(out);
    Py_RETURN_NONE;
}
