/* What gather.c and pick.c share. */

#ifndef GATHERCLI_GATHER_H
#define GATHERCLI_GATHER_H

#include "native.h"

#ifndef AHEAD
#define AHEAD 128 /* Elements to fetch before they are copied. */
#endif
#define DIMS 64 /* The most loops, and the most components of a tuple. */
#define MOST_NUMBERS (6 + 7 * DIMS)
#define LINE 64 /* Bytes of a line of the cache. */

typedef struct {
    int64_t size;   /* s, the size of the axis. */
    int64_t add;    /* What is added, once, to a negative index: s or 0. */
    int64_t step;   /* Positions from one index to the next. */
    int64_t offset; /* Bytes from the start of a tuple to the component. */
} Axis;

enum { REFUSE, ZERO, CLAMP, WRAP }; /* The treatment of an index outside its axis. */
enum { NONE = -1, REJECTED = -2 }; /* In place of a position: a chunk of zeros; an error. */

/* Return the position of an index, NONE, or REJECTED. */
INLINE int64_t
position_of(uint64_t value, int negative, const Axis *axis, int outside)
{
    uint64_t wide = value + (uint64_t)(negative ? axis->add : 0);
    if (wide < (uint64_t)axis->size)
        return (int64_t)wide;
    if (outside == REFUSE)
        return REJECTED;
    if (outside == ZERO)
        return NONE;
    if (outside == CLAMP)
        return negative ? 0 : axis->size - 1;
    if (!negative)
        return (int64_t)(value % (uint64_t)axis->size);
    int64_t rest = (int64_t)value % axis->size;
    return rest < 0 ? rest + axis->size : rest;
}

#define MOST_PICKED 3 /* Indices of a tuple. */

/* Rows of tuples of indices, each of which picks a chunk of its row of `data`. */
typedef struct {
    const char *data, *indices;
    char *out;
    int64_t rows, n;                      /* Rows, and tuples of a row, which are adjacent. */
    int64_t data_row, index_row, out_row; /* Bytes from one row to the next. */
    int64_t bytes;                        /* From the first chunk of a row to behind the last. */
    const Axis *axis;                     /* One for each index of a tuple. */
    int outside;
    int ahead; /* Whether to fetch chunks before they are copied. */
} Picks;

/* Copy the chunks; return whether no index was rejected. */
typedef int (*Pick)(const Picks *picks);

/* Return what does so for chunks of a size and tuples of signed indices of `itemsize` bytes; or NULL. */
Pick pick_for(int64_t chunk, int64_t itemsize, int64_t axes);

/* A range of the output: where it starts, and the bytes that each of so many threads takes at a time. */
typedef struct {
    int64_t start, part;
    int threads;
} Range;

/* Copy a range as long as `out` by the numbers of kernel.py, without the interpreter's lock; say what is
   wrong with them, and whether every index was legal. */
const char *copy_planned(const int64_t *numbers, int64_t count, const Py_buffer *out,
                         const Py_buffer *data, const Py_buffer *indices, const Range *range,
                         int *legal);

#endif
