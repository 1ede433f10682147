/* Copy the tokens of GatherTree: the fast way of beams whose parents are all legal.

   All beams are followed at once, from the last step back, so that the rows of every step are read
   and written in order. The memory of the inputs may change at any time: a parent is read once and
   checked, and only the checked copy is used. */

#include "native.h"

#define UNINTERRUPTED (1 << 26) /* Cells between two looks at signals. */

typedef struct {
    const char *steps, *parents, *lengths, *end;
    char *out;
    int64_t size, batches, width; /* T, B and W. */
    int32_t *length;              /* The steps of each batch, from 0 to T. */
    int32_t *beam;                /* The beam that each path passes, from 0 to W - 1. */
    int32_t *last;                /* The last step of each path that is no end token after another. */
    int64_t ended;                /* The step from which any path has such tokens; T for none. */
} Tree;

typedef struct {
    int64_t itemsize;
    int (*begin)(Tree *tree);            /* Read the lengths; return whether all values are served. */
    int (*step)(Tree *tree, int64_t t);  /* Copy a row and move the beams; return whether all can. */
    void (*end)(const Tree *tree, int64_t t); /* Put end tokens where a path has ended. */
} Type;

/* Return an index below `most`; -1 for a negative one, and `most` for any other. */
INLINE int64_t
clip_integer(uint64_t value, int negative, int64_t most)
{
    return negative ? -1 : value < (uint64_t)most ? (int64_t)value : most;
}

INLINE int64_t
clip_float(double value, int64_t most)
{
    return value < 0 ? -1 : value < (double)most ? (int64_t)value : most;
}

/* Return whether a float is an integer of 32 bits. */
INLINE int
is_whole(double value)
{
    int32_t whole = value >= INT32_MIN && value <= INT32_MAX ? (int32_t)value : 0;
    return whole == value;
}

/* Read an element once. */
#define READ(T, BITS, value, at)                                                                  \
    T value;                                                                                      \
    do {                                                                                          \
        BITS bits;                                                                                \
        memcpy(&bits, at, sizeof bits);                                                           \
        PIN(bits);                                                                                \
        memcpy(&value, &bits, sizeof value);                                                      \
    } while (0)

#define TYPE(NAME, T, BITS, CLIP, IS_WHOLE)                                                       \
    static int are_whole_##NAME(const char *at, int64_t n)                                        \
    {                                                                                             \
        int whole = 1;                                                                            \
        for (int64_t k = 0; k < n; k++) {                                                         \
            T value;                                                                              \
            memcpy(&value, at + k * (int64_t)sizeof value, sizeof value);                         \
            whole &= IS_WHOLE(value);                                                             \
        }                                                                                         \
        return whole;                                                                             \
    }                                                                                             \
                                                                                                  \
    static int begin_##NAME(Tree *tree)                                                           \
    {                                                                                             \
        const int64_t paths = tree->batches * tree->width, cells = tree->size * paths;            \
        if (!are_whole_##NAME(tree->steps, cells) || !are_whole_##NAME(tree->parents, cells) ||   \
            !are_whole_##NAME(tree->lengths, tree->batches) || !are_whole_##NAME(tree->end, 1))   \
            return 0;                                                                             \
        for (int64_t b = 0; b < tree->batches; b++) {                                             \
            READ(T, BITS, value, tree->lengths + b * (int64_t)sizeof(T));                         \
            int64_t length = CLIP(value, tree->size);                                             \
            tree->length[b] = length < 0 ? 0 : (int32_t)length;                                   \
            tree->ended = tree->length[b] < tree->ended ? tree->length[b] : tree->ended;          \
            for (int64_t w = 0; w < tree->width; w++) {                                           \
                tree->beam[b * tree->width + w] = (int32_t)w;                                     \
                tree->last[b * tree->width + w] = tree->length[b] - 1;                            \
            }                                                                                     \
        }                                                                                         \
        return 1;                                                                                 \
    }                                                                                             \
                                                                                                  \
    static int step_##NAME(Tree *tree, int64_t t)                                                 \
    {                                                                                             \
        const int64_t batches = tree->batches, width = tree->width;                               \
        READ(T, BITS, end, tree->end);                                                            \
        for (int64_t b = 0; b < batches; b++) {                                                   \
            if (t >= tree->length[b])                                                             \
                continue;                                                                         \
            const int64_t row = (t * batches + b) * width * (int64_t)sizeof(T);                   \
            const char *steps = tree->steps + row, *parents = tree->parents + row;                \
            char *out = tree->out + row;                                                          \
            int32_t *beam = tree->beam + b * width, *last = tree->last + b * width;               \
            for (int64_t w = 0; w < width; w++) {                                                 \
                const int64_t at = beam[w] * (int64_t)sizeof(T);                                  \
                READ(T, BITS, token, steps + at);                                                 \
                memcpy(out + w * (int64_t)sizeof(T), &token, sizeof(T));                          \
                if (token == end) {                                                               \
                    last[w] = (int32_t)t;                                                         \
                    tree->ended = t + 1 < tree->ended ? t + 1 : tree->ended;                      \
                }                                                                                 \
                READ(T, BITS, value, parents + at);                                               \
                int64_t parent = t ? CLIP(value, width) : 0;                                      \
                if (parent < 0 || parent >= width)                                                \
                    return 0;                                                                     \
                beam[w] = (int32_t)parent;                                                        \
            }                                                                                     \
        }                                                                                         \
        return 1;                                                                                 \
    }                                                                                             \
                                                                                                  \
    static void end_##NAME(const Tree *tree, int64_t t)                                           \
    {                                                                                             \
        const int64_t paths = tree->batches * tree->width;                                        \
        const int32_t *last = tree->last;                                                         \
        char *out = tree->out + t * paths * (int64_t)sizeof(T);                                   \
        READ(T, BITS, end, tree->end);                                                            \
        for (int64_t c = 0; c < paths; c++) {                                                     \
            T token;                                                                              \
            memcpy(&token, out + c * (int64_t)sizeof token, sizeof token);                        \
            token = t > last[c] ? end : token;                                                    \
            memcpy(out + c * (int64_t)sizeof token, &token, sizeof token);                        \
        }                                                                                         \
    }

#define ALWAYS(value) ((void)(value), 1)
#define CLIP_SIGNED(value, most) clip_integer((uint64_t)(value), (value) < 0, most)
#define CLIP_UNSIGNED(value, most) clip_integer(value, 0, most)

TYPE(b, int8_t, uint8_t, CLIP_SIGNED, ALWAYS)
TYPE(h, int16_t, uint16_t, CLIP_SIGNED, ALWAYS)
TYPE(i, int32_t, uint32_t, CLIP_SIGNED, ALWAYS)
TYPE(q, int64_t, uint64_t, CLIP_SIGNED, ALWAYS)
TYPE(B, uint8_t, uint8_t, CLIP_UNSIGNED, ALWAYS)
TYPE(H, uint16_t, uint16_t, CLIP_UNSIGNED, ALWAYS)
TYPE(I, uint32_t, uint32_t, CLIP_UNSIGNED, ALWAYS)
TYPE(Q, uint64_t, uint64_t, CLIP_UNSIGNED, ALWAYS)
TYPE(f, float, uint32_t, clip_float, is_whole)
TYPE(d, double, uint64_t, clip_float, is_whole)

/* Fill the output, without the interpreter's lock; return whether all parents are legal, and -1 with
   an error for a signal. */
static int
follow(const Type *type, Tree *tree)
{
    const int64_t paths = tree->batches * tree->width;
    int64_t quiet = 0;
    int legal, stopped = 0;
    Py_BEGIN_ALLOW_THREADS
    legal = type->begin(tree);
    for (int64_t t = tree->size; legal && !stopped && t-- > 0; quiet += paths) {
        legal = type->step(tree, t);
        if (quiet > UNINTERRUPTED) {
            quiet = 0;
            Py_BLOCK_THREADS
            stopped = PyErr_CheckSignals();
            Py_UNBLOCK_THREADS
        }
    }
    for (int64_t t = tree->ended; legal && !stopped && t < tree->size; t++)
        type->end(tree, t);
    Py_END_ALLOW_THREADS
    return stopped ? -1 : legal;
}

/* Return whether the buffers of the output and of the inputs are as long as the sizes say. */
static int
fits(const Py_buffer *view, int64_t itemsize, int64_t size, int64_t batches, int64_t width)
{
    if (batches * width > INT64_MAX / itemsize / size)
        return 0;
    int64_t cells = size * batches * width;
    for (int n = 0; n < 5; n++)
        if (view[n].len != (n < 3 ? cells : n == 3 ? batches : 1) * itemsize)
            return 0;
    return 1;
}

const char fill_tree_doc[] =

             "fill_tree(type, steps, batches, beams, out, step_ids, parent_ids, max_seq_len, end_token)\n"
             "--\n\n"
             "Copy the output of GatherTree to `out`, without the interpreter's lock.\n"
             "\n"
             "Return whether this is done; if not, `out` is undefined: a parent on a path is no beam, a\n"
             "float no integer of 32 bits, a size is 0 or of more than 31 bits, or `type` is no\n"
             "character of `struct` in bhiqBHIQfd. Raise ValueError, before anything is read, if a\n"
             "buffer has another size.";

PyObject *
fill_tree(PyObject *module, PyObject *args)
{
    (void)module;
    static const char letters[] = "bhiqBHIQfd";
#define AS(NAME, T) {sizeof(T), begin_##NAME, step_##NAME, end_##NAME}
    static const Type types[] = {AS(b, int8_t),   AS(h, int16_t),  AS(i, int32_t),  AS(q, int64_t),
                                 AS(B, uint8_t),  AS(H, uint16_t), AS(I, uint32_t), AS(Q, uint64_t),
                                 AS(f, float),    AS(d, double)};
    PyObject *objects[5];
    Py_buffer view[5];
    int letter, got = 0, legal = 0;
    long long size, batches, width;
    if (!PyArg_ParseTuple(args, "CLLLOOOOO:fill_tree", &letter, &size, &batches, &width, &objects[0],
                          &objects[1], &objects[2], &objects[3], &objects[4]))
        return NULL;
    for (; got < 5; got++)
        if (PyObject_GetBuffer(objects[got], &view[got], got ? PyBUF_SIMPLE : PyBUF_WRITABLE) < 0)
            break;
    if (got == 5) {
        const char *found = letter > 0 && letter < 128 ? strchr(letters, letter) : NULL;
        const Type *type = found ? types + (found - letters) : NULL;
        int32_t *room = NULL;
        /* Sizes that fit in 32 bits, so that the product of two fits in 64. */
        if (!type || size < 1 || batches < 1 || width < 1 || size >= INT32_MAX ||
            batches >= INT32_MAX || width >= INT32_MAX) {
            legal = 0;
        } else if (!fits(view, type->itemsize, size, batches, width)) {
            PyErr_SetString(PyExc_ValueError, "the buffers do not fit the sizes of the tree");
        } else if (batches * width > PY_SSIZE_T_MAX / 3 / (Py_ssize_t)sizeof *room ||
                   !(room = PyMem_Malloc((size_t)(batches * (1 + 2 * width)) * sizeof *room))) {
            PyErr_NoMemory();
        } else {
            Tree tree = {view[1].buf, view[2].buf, view[3].buf, view[4].buf, view[0].buf, size,
                         batches, width, room, room + batches, room + batches + batches * width, size};
            legal = follow(type, &tree);
        }
        PyMem_Free(room);
    }
    while (got-- > 0)
        PyBuffer_Release(&view[got]);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(legal);
}
