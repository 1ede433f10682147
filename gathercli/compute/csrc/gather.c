/* Copy any range of the output of a gather along one axis; the fast way of kernel.py.

   Each dimension of the output is a loop: a step in `data` and a step in `indices`. After the loops
   comes one chunk, contiguous in `data`. A chunk starts at the sum of the loops' steps and of a
   position, which an index, or the components of a tuple, give.

   Memory that is mapped or shared may change at any time, so that no index is trusted: each is read
   once. Short chunks go with their index, in a register (pick.c); otherwise a block of indices becomes
   positions on the stack, these are checked there, and only these are used. All other numbers are
   checked against the buffers before anything is read or written. */

#include "gather.h"

#include <pthread.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#ifndef BLOCK
#define BLOCK 512 /* Positions on the stack. */
#endif
#ifndef SLAB
#define SLAB (512 << 10) /* Bytes of `data` that stay in a core's cache. */
#endif
#ifndef STREAM
#define STREAM (16 << 20) /* Bytes of output from which its caller will not find it in a cache. */
#endif
#define ROWS_AHEAD 4 /* Rows to fetch before they are copied, if they are a few columns. */
#ifndef NEAR
#define NEAR (512 << 10) /* Bytes of `data` for all indices that need no fetching: measured. */
#endif
#ifndef FRESH
#define FRESH (32 << 10) /* The same where each row has its own, which no cache has yet. */
#endif
#define FAR (8 << 10) /* Bytes of rows to fetch before they are copied, and the most rows. */
#define FAR_ROWS 32
#ifndef LONG
#define LONG (1 << 10) /* Bytes of a row of `data` worth fetching whole: see pick.c. */
#endif
#ifndef NEARBY
#define NEARBY (128 << 10) /* Bytes of `data` that a core's own cache has. */
#endif
#define THREADS 256 /* The most that help the caller. */

typedef struct {
    int64_t size;  /* Coordinates. */
    int64_t data;  /* Bytes from one to the next in `data`, 0 or more. */
    int64_t index; /* The same in `indices`. */
} Loop;

enum { LEGAL, FILLS, REFUSED };     /* What a block of indices has: no NONE, some, or a refused one. */

typedef int (*Load)(const char *at, int64_t stride, int64_t n, const Axis *axis, int outside,
                    int32_t *position);

typedef struct {
    const char *data;
    char *out;
    const int32_t *position;
    int64_t rows, n;                       /* Rows, and chunks of a row. */
    int64_t data_row, out_row, position_row; /* From one row to the next. */
    int64_t each;                          /* Bytes of `data` from one chunk of a row to the next. */
    int64_t step;                          /* Bytes from one position to the next. */
    int64_t chunk;                         /* Bytes. */
    int stream;                            /* Whether to write past the cache. */
} Rows;

typedef void (*Copy)(const Rows *rows);

typedef struct {
    const char *data, *indices;
    int64_t chunk, step, reach; /* Bytes: of a chunk, between positions, of all positions. */
    int64_t loops, axes, itemsize;
    int outside, stream, far; /* Far `data` is fetched before it is read. */
    Load load;
    Pick pick;       /* How adjacent indices copy adjacent chunks in one go; or NULL. */
    Copy copy[2][2]; /* By whether each position is a chunk of `data`, and whether some are NONE. */
    Loop loop[DIMS];
    int64_t span[DIMS]; /* Bytes of the output in a coordinate of each loop. */
    Axis axis[DIMS];
} Plan;

/* Resolve indices `stride` bytes apart to positions on an axis. The first pass is simple enough
   for vectors; only where it meets an index outside the axis are they read again, one by one. */
#define LOADER(T, SIGNED)                                                                         \
    INLINE int32_t narrow_##T(const char *restrict at, int64_t stride, int64_t n, int32_t add,    \
                              int32_t *restrict position)                                         \
    {                                                                                             \
        int32_t lost = 0; /* bits that do not fit */                                              \
        for (int64_t k = 0; k < n; k++) {                                                         \
            T value;                                                                              \
            memcpy(&value, at + k * stride, sizeof value);                                        \
            int32_t low = (int32_t)value, sign = SIGNED ? low >> 31 : 0;                          \
            if (sizeof(T) == 8)                                                                   \
                lost |= (int32_t)((uint64_t)value >> 32) ^ sign;                                  \
            position[k] = low + (sign & add);                                                     \
        }                                                                                         \
        return lost;                                                                              \
    }                                                                                             \
    static int load_##T(const char *at, int64_t stride, int64_t n, const Axis *axis, int outside, \
                        int32_t *position)                                                        \
    {                                                                                             \
        int32_t add = (int32_t)axis->add;                                                         \
        int32_t lost = stride == sizeof(T) ? narrow_##T(at, sizeof(T), n, add, position)          \
                                           : narrow_##T(at, stride, n, add, position);            \
        if (!beyond(position, n, axis->size) && !lost)                                            \
            return LEGAL;                                                                         \
        int fills = LEGAL;                                                                        \
        for (int64_t k = 0; k < n; k++) {                                                         \
            T value;                                                                              \
            memcpy(&value, at + k * stride, sizeof value);                                        \
            PIN(value);                                                                           \
            int negative = SIGNED && (uint64_t)(int64_t)value >> 63;                              \
            int64_t found = position_of((uint64_t)value, negative, axis, outside);                \
            if (found == REJECTED)                                                                \
                return REFUSED;                                                                   \
            if (found == NONE)                                                                    \
                fills = FILLS;                                                                    \
            position[k] = (int32_t)found;                                                         \
        }                                                                                         \
        return fills;                                                                             \
    }

/* Return whether any position is outside an axis. */
static int
beyond(const int32_t *position, int64_t n, int64_t size)
{
    PIN_MEMORY(position); /* What was stored is checked, whatever `indices` are by now. */
    uint32_t last = (uint32_t)(size - 1), signs = 0;
    for (int64_t k = 0; k < n; k++)
        signs |= (uint32_t)position[k] | (last - (uint32_t)position[k]);
    return signs >> 31 != 0;
}

LOADER(int8_t, 1)
LOADER(uint8_t, 0)
LOADER(int16_t, 1)
LOADER(uint16_t, 0)
LOADER(int32_t, 1)
LOADER(uint32_t, 0)
LOADER(int64_t, 1)
LOADER(uint64_t, 0)

/* Resolve n <= BLOCK indices or tuples, `stride` bytes apart, to positions. */
static int
resolve(const Plan *plan, const char *at, int64_t stride, int64_t n, int32_t *position)
{
    const Axis *axis = plan->axis;
    int state = plan->load(at + axis->offset, stride, n, axis, plan->outside, position);
    if (plan->axes == 1 && axis->step == 1)
        return state;
    int32_t more[BLOCK];
    for (int64_t j = 0; j < plan->axes && state != REFUSED; j++, axis++) {
        int32_t step = (int32_t)axis->step;
        if (j == 0) {
            for (int64_t k = 0; k < n; k++)
                position[k] = position[k] < 0 ? NONE : position[k] * step;
            continue;
        }
        int own = plan->load(at + axis->offset, stride, n, axis, plan->outside, more);
        state = own > state ? own : state;
        if (state == LEGAL)
            for (int64_t k = 0; k < n; k++)
                position[k] += more[k] * step;
        else if (state == FILLS)
            for (int64_t k = 0; k < n; k++)
                position[k] = (position[k] | more[k]) < 0 ? NONE : position[k] + more[k] * step;
    }
    return state;
}

/* Copy chunks of `width` bytes, a constant, for which the compiler makes few moves. If `far`, fetch
   those that follow: a core waits for fewer loads at a time than it can have under way. */
INLINE void
copy_chunks(const Rows *all, const size_t width, const int dense, const int fills, const int far)
{
    static const char zeros[64];
    const Rows rows = *all;
    const int64_t step = dense ? (int64_t)width : rows.step, each = dense ? 0 : rows.each;
    const int64_t ahead = width <= 16 ? AHEAD : AHEAD * 16 / (int64_t)width;
    const int64_t n = rows.n, fetched = far ? n - ahead : 0;
#define SOURCE(k) (data + position[k] * step + (k) * each)
/* The same as an address alone, which may be in front of the data: positions of fills are -1. */
#define ADDRESS(base, position, k)                                                                \
    ((const void *)((uintptr_t)(base) + (uintptr_t)((position)[k] * step + (k) * each)))
    for (int64_t r = 0; r < rows.rows; r++) {
        const char *data = rows.data + r * rows.data_row;
        const int32_t *restrict position = rows.position + r * rows.position_row;
        char *restrict out = rows.out + r * rows.out_row;
        int64_t k = 0;
        for (; k < fetched; k++) {
            PREFETCH(ADDRESS(data, position, k + ahead));
            if (width > 16) /* which may end on another line */
                PREFETCH(ADDRESS(data + width - 1, position, k + ahead));
            memcpy(out + k * (int64_t)width, fills && position[k] < 0 ? zeros : SOURCE(k), width);
        }
        if (!dense && r + ROWS_AHEAD < rows.rows) { /* a few columns of many rows */
            const int32_t *next = position + ROWS_AHEAD * rows.position_row;
            for (; k < n; k++) {
                PREFETCH(ADDRESS(data + ROWS_AHEAD * rows.data_row, next, k));
                memcpy(out + k * (int64_t)width, fills && position[k] < 0 ? zeros : SOURCE(k), width);
            }
        }
        UNROLL
        for (; k < n; k++)
            memcpy(out + k * (int64_t)width, fills && position[k] < 0 ? zeros : SOURCE(k), width);
    }
#undef SOURCE
#undef ADDRESS
}

#define COPY_AS(NAME, WIDTH, DENSE, FILLS, FAR)                                                   \
    static void NAME(const Rows *rows) { copy_chunks(rows, WIDTH, DENSE, FILLS, FAR); }
#define COPY(WIDTH)                                                                               \
    COPY_AS(copy_##WIDTH, WIDTH, 0, 0, 0)                                                         \
    COPY_AS(copy_##WIDTH##_fills, WIDTH, 0, 1, 0)                                                 \
    COPY_AS(dense_##WIDTH, WIDTH, 1, 0, 0)                                                        \
    COPY_AS(dense_##WIDTH##_fills, WIDTH, 1, 1, 0)                                                \
    COPY_AS(far_##WIDTH, WIDTH, 1, 0, 1)                                                          \
    COPY_AS(far_##WIDTH##_fills, WIDTH, 1, 1, 1)

COPY(1)
COPY(2)
COPY(4)
COPY(8)
COPY(16)
COPY(32)
COPY(64)

/* Copy a chunk of any size; short ones by overlapping moves of 4, 8 or 16 bytes. */
INLINE void
move(char *restrict out, const char *restrict source, int64_t chunk)
{
    if (chunk > 256 || chunk < 4) {
        memcpy(out, source, (size_t)chunk);
        return;
    }
    if (chunk < 8) {
        memcpy(out, source, 4);
        memcpy(out + chunk - 4, source + chunk - 4, 4);
        return;
    }
    if (chunk < 16) {
        memcpy(out, source, 8);
        memcpy(out + chunk - 8, source + chunk - 8, 8);
        return;
    }
    for (int64_t at = 0; at < chunk - 16; at += 16)
        memcpy(out + at, source + at, 16);
    memcpy(out + chunk - 16, source + chunk - 16, 16);
}

/* Write a chunk past the cache, and fetch as many bytes from `next` on. Other stores first read the
   lines that they change. */
INLINE void
stream(char *restrict out, const char *restrict source, const char *next, int64_t chunk)
{
#ifdef __SSE2__
    for (int64_t at = 0; at < chunk; at += LINE) {
        int64_t stop = chunk - at < LINE ? chunk : at + LINE;
        PREFETCH(next + at);
        for (int64_t b = at; b < stop; b += 16)
            _mm_stream_si128((__m128i *)(void *)(out + b),
                             _mm_loadu_si128((const __m128i *)(const void *)(source + b)));
    }
    PREFETCH(next + chunk - 1);
#else
    (void)next;
    memcpy(out, source, (size_t)chunk);
#endif
}

/* Copy chunks of any size, and fetch those that follow. */
static void
copy_rows(const Rows *rows)
{
    const int64_t chunk = rows->chunk, n = rows->n;
    const int64_t ahead = chunk * FAR_ROWS < FAR ? FAR_ROWS : chunk < FAR ? FAR / chunk : 1;
    const int64_t fetch = chunk < 1024 ? chunk : 1024;
    const int streams = rows->stream && chunk % 16 == 0 && (uintptr_t)rows->out % 16 == 0;
    for (int64_t r = 0; r < rows->rows; r++) {
        const char *data = rows->data + r * rows->data_row;
        const int32_t *position = rows->position + r * rows->position_row;
        char *out = rows->out + r * rows->out_row;
#define SOURCE(k) (data + position[k] * rows->step + (k) * rows->each)
        for (int64_t k = 0; k < n; k++, out += chunk) {
            const char *next = k + ahead < n && position[k + ahead] >= 0 ? SOURCE(k + ahead) : NULL;
            if (position[k] < 0) {
                memset(out, 0, (size_t)chunk);
            } else if (streams) {
                stream(out, SOURCE(k), next ? next : SOURCE(k), chunk);
            } else {
                for (int64_t at = 0; next && at < fetch; at += LINE)
                    PREFETCH(next + at);
                if (next)
                    PREFETCH(next + fetch - 1);
                move(out, SOURCE(k), chunk);
            }
        }
#undef SOURCE
    }
}

/* Return whether all chunks of one row are at the start of `data`, in a cache. */
static int
is_near(const Plan *plan, const Rows *rows)
{
    int32_t bits = 0; /* Of all positions: none is larger. */
    for (int64_t k = 0; k < rows->n; k++)
        bits |= rows->position[k];
    return rows->rows == 1 && rows->each == 0 && bits >= 0 && bits * plan->step < NEARBY;
}

static void
copy(const Plan *plan, Rows *rows, int state)
{
    int dense = rows->each == 0 && plan->step == plan->chunk;
    rows->step = plan->step;
    rows->chunk = plan->chunk;
    rows->stream = plan->stream;
    /* Measured: where no load waits, the stores decide. */
    if (plan->stream && plan->chunk == LINE && is_near(plan, rows))
        copy_rows(rows);
    else
        plan->copy[dense][state == FILLS](rows);
}

/* Copy chunks that share one position each row. */
static int
copy_shared(const Plan *plan, Loop rows, Loop inner, const char *data, const char *index, char *out)
{
    int32_t position[BLOCK];
    for (int64_t first = 0; first < rows.size; first += BLOCK) {
        int64_t n = rows.size - first < BLOCK ? rows.size - first : BLOCK;
        if (resolve(plan, index + first * rows.index, rows.index, n, position) == REFUSED)
            return REFUSED;
        for (int64_t r = 0; r < n; r++) {
            const char *source = data + (first + r) * rows.data + position[r] * plan->step;
            for (int64_t k = 0; k < inner.size; k++, out += plan->chunk)
                if (position[r] < 0)
                    memset(out, 0, (size_t)plan->chunk);
                else
                    memcpy(out, source + k * inner.data, (size_t)plan->chunk);
        }
    }
    return LEGAL;
}

/* Copy part of the chunks of each row: `inner.size` of them, `out_row` bytes from row to row. */
static int
copy_part(const Plan *plan, Loop rows, Loop inner, const char *data, const char *index, char *out,
          int64_t out_row)
{
    int32_t position[BLOCK];
    /* Measured: short chunks go faster without a block of positions between. But where rows that are
       short, or of which little is read, share the indices, each becomes a position once. */
    if (plan->pick && inner.data == 0 && inner.index == plan->itemsize * plan->axes &&
        (rows.index || rows.size == 1 || inner.size > BLOCK ||
         (plan->reach > LONG && inner.size >= plan->reach / LINE))) {
        Picks picks = {
            .data = data,
            .indices = index,
            .out = out,
            .rows = rows.size,
            .n = inner.size,
            .data_row = rows.data,
            .index_row = rows.index,
            .out_row = out_row,
            .bytes = plan->reach,
            .axis = plan->axis,
            .outside = plan->outside,
            .ahead = plan->far,
        };
        return plan->pick(&picks) ? LEGAL : REFUSED;
    }
    /* Rows that fit in a block together, and whether they are one stretch of indices. */
    int64_t fit = inner.size < BLOCK ? BLOCK / inner.size : 1;
    int joined = rows.index == inner.size * inner.index;
    if (rows.index == 0)
        fit = inner.size <= BLOCK ? rows.size : 1;
    for (int64_t first = 0; first < rows.size; first += fit) {
        int64_t count = rows.size - first < fit ? rows.size - first : fit;
        const char *at = index + first * rows.index;
        for (int64_t k = 0; k < inner.size; k += BLOCK) {
            int64_t n = inner.size - k < BLOCK ? inner.size - k : BLOCK;
            int state = LEGAL;
            int64_t stretches = rows.index == 0 || joined ? 1 : count;
            int64_t length = joined && rows.index ? count * n : n;
            for (int64_t r = 0; r < stretches; r++) {
                const char *from = at + r * rows.index + k * inner.index;
                int own = resolve(plan, from, inner.index, length, position + r * n);
                if (own == REFUSED)
                    return REFUSED;
                state = own > state ? own : state;
                /* The next block of indices; where loads of `data` are fast, it comes by itself. */
                const char *next = from + (stretches == 1 ? length * inner.index : fit * rows.index);
                if (inner.index <= LINE)
                    for (int64_t b = 0; b < length * inner.index; b += LINE)
                        PREFETCH(next + b);
            }
            Rows part = {
                .data = data + first * rows.data + k * inner.data,
                .out = out + first * out_row + k * plan->chunk,
                .position = position,
                .rows = count,
                .n = n,
                .data_row = rows.data,
                .out_row = out_row,
                .position_row = rows.index ? n : 0,
                .each = inner.data,
            };
            copy(plan, &part, state);
        }
    }
    return LEGAL;
}

/* Copy two loops with the chunks in them. */
static int
copy_pair(const Plan *plan, Loop rows, Loop inner, const char *data, const char *index, char *out)
{
    int64_t out_row = inner.size * plan->chunk, slab = inner.size;
    if (inner.index == 0)
        return copy_shared(plan, rows, inner, data, index, out);
    /* Each column has its own elements of `data`: go through all rows of a few columns at a time,
       whose elements stay in the cache. */
    if (inner.data && rows.data == 0 && plan->reach > SLAB) {
        slab = SLAB / inner.data / (plan->reach / plan->step);
        if (slab * inner.data < LINE) /* measured: of more than the cache, two lines at a time */
            slab = inner.data < 2 * LINE ? 2 * LINE / inner.data : 1;
    }
    for (int64_t k = 0; k < inner.size; k += slab) {
        Loop part = {inner.size - k < slab ? inner.size - k : slab, inner.data, inner.index};
        if (copy_part(plan, rows, part, data + k * inner.data, index + k * inner.index,
                      out + k * plan->chunk, out_row) == REFUSED)
            return REFUSED;
    }
    return LEGAL;
}

/* Copy `count` whole coordinates of a loop. */
static int
copy_whole(const Plan *plan, int64_t level, int64_t count, const char *data, const char *index,
           char *out)
{
    Loop loop = plan->loop[level];
    loop.size = count;
    if (level + 1 == plan->loops)
        return copy_pair(plan, (Loop){1, 0, 0}, loop, data, index, out);
    if (level + 2 == plan->loops)
        return copy_pair(plan, loop, plan->loop[level + 1], data, index, out);
    for (int64_t c = 0; c < count; c++)
        if (copy_whole(plan, level + 1, plan->loop[level + 1].size, data + c * loop.data,
                       index + c * loop.index, out + c * plan->span[level]) == REFUSED)
            return REFUSED;
    return LEGAL;
}

/* Copy bytes `start` to `stop` of a loop: the partial coordinates at both ends, then the others. */
static int
copy_range(const Plan *plan, int64_t level, int64_t start, int64_t stop, const char *data,
           const char *index, char *out)
{
    if (level == plan->loops) { /* part of one chunk */
        int32_t position;
        int state = resolve(plan, index, 0, 1, &position);
        if (state == FILLS)
            memset(out, 0, (size_t)(stop - start));
        else if (state == LEGAL)
            memcpy(out, data + position * plan->step + start, (size_t)(stop - start));
        return state;
    }
    const Loop *loop = &plan->loop[level];
    int64_t span = plan->span[level];
    int64_t first = start / span, head = start % span, last = stop / span, tail = stop % span;
#define FROM(c) data + (c) * loop->data, index + (c) * loop->index
    if (first == last)
        return head == tail ? LEGAL : copy_range(plan, level + 1, head, tail, FROM(first), out);
    if (head) {
        if (copy_range(plan, level + 1, head, span, FROM(first), out) == REFUSED)
            return REFUSED;
        out += span - head;
        first++;
    }
    if (tail && copy_range(plan, level + 1, 0, tail, FROM(last), out + (last - first) * span) == REFUSED)
        return REFUSED;
    return last > first ? copy_whole(plan, level, last - first, FROM(first), out) : LEGAL;
#undef FROM
}

/* Add n * step to a sum; -1 for a number below 0 or beyond int64. */
static int64_t
sum(int64_t total, int64_t n, int64_t step)
{
    if (total < 0 || n < 0 || step < 0 || (n && step > (INT64_MAX - total) / n))
        return -1;
    return total + n * step;
}

/* Read a plan from numbers, and check it against the buffers:
   chunk, step, index type, outside, loops, axes, then the members of each loop and of each axis. */
static const char *
read_plan(Plan *plan, const int64_t *number, int64_t count, const Py_buffer *data,
          const Py_buffer *indices, int64_t *total)
{
    static const Load loads[] = {load_int8_t,  load_int16_t,  load_int32_t,  load_int64_t,
                                 load_uint8_t, load_uint16_t, load_uint32_t, load_uint64_t};
    if (count < 6)
        return "too few numbers";
    plan->data = data->buf;
    plan->indices = indices->buf;
    plan->chunk = number[0];
    plan->step = number[1];
    int64_t type = number[2];
    plan->outside = (int)number[3];
    plan->loops = number[4];
    plan->axes = number[5];
    if (plan->chunk < 1 || plan->step < 0 || type < 0 || type > 7 || number[3] < REFUSE ||
        number[3] > WRAP || plan->loops < 1 || plan->loops > DIMS || plan->axes < 1 ||
        plan->axes > DIMS || count != 6 + 3 * plan->loops + 4 * plan->axes)
        return "an unknown kind";
    plan->load = loads[type];
    plan->itemsize = (int64_t)1 << type % 4;
    number += 6;
    int64_t read = 0, taken = 0;
    int shared = 1; /* Whether all indices count from the start of `data`. */
    for (int64_t n = 0; n < plan->loops; n++, number += 3) {
        int moves = number[0] > 1; /* One coordinate is never left: any distance will do. */
        plan->loop[n] = (Loop){number[0], moves ? number[1] : 0, moves ? number[2] : 0};
        shared &= plan->loop[n].data == 0;
        if (number[0] < 1)
            return "an empty loop";
        read = sum(read, number[0] - 1, plan->loop[n].data);
        taken = sum(taken, number[0] - 1, plan->loop[n].index);
    }
    *total = plan->chunk;
    for (int64_t n = plan->loops; n-- > 0;) {
        plan->span[n] = *total;
        *total = sum(0, plan->loop[n].size, *total);
    }
    int64_t last = 0, offset = 0;
    for (int64_t j = 0; j < plan->axes; j++, number += 4) {
        int64_t step = number[0] > 1 ? number[2] : 0;
        plan->axis[j] = (Axis){number[0], number[1], step, number[3]};
        if (number[0] < 1 || (number[1] != 0 && number[1] != number[0]) || number[3] < 0)
            return "an axis of no size";
        last = sum(last, number[0] - 1, step);
        offset = number[3] > offset ? number[3] : offset;
        /* Also the steps: they are multiplied as int32. */
        if (last < 0 || last >= INT32_MAX || number[0] > INT32_MAX || step > INT32_MAX)
            return "too many positions";
    }
    plan->reach = sum(0, last, plan->step);
    int adjacent = type < 4 && plan->step == plan->chunk && (plan->axes > 1 || plan->axis->step == 1);
    for (int64_t n = 0; n < plan->axes; n++)
        adjacent &= plan->axis[n].offset == n * plan->itemsize;
    plan->pick = adjacent ? pick_for(plan->chunk, plan->itemsize, plan->axes) : NULL;
    plan->far = plan->reach > (shared ? NEAR : FRESH);
    read = sum(sum(read, last, plan->step), 1, plan->chunk);
    taken = sum(sum(taken, 1, offset), 1, plan->itemsize);
    if (*total < 0 || read < 0 || read > data->len || taken < 0 || taken > indices->len)
        return "a loop beyond its buffer";
    return NULL;
}

static void
choose_copies(Plan *plan)
{
    int far = plan->far;
#define CHOOSE(WIDTH)                                                                             \
    case WIDTH:                                                                                   \
        plan->copy[0][0] = copy_##WIDTH;                                                          \
        plan->copy[0][1] = copy_##WIDTH##_fills;                                                  \
        plan->copy[1][0] = far ? far_##WIDTH : dense_##WIDTH;                                     \
        plan->copy[1][1] = far ? far_##WIDTH##_fills : dense_##WIDTH##_fills;                     \
        return;
    switch (plan->chunk) {
        CHOOSE(1)
        CHOOSE(2)
        CHOOSE(4)
        CHOOSE(8)
        CHOOSE(16)
        CHOOSE(32)
        CHOOSE(64)
    }
    plan->copy[0][0] = plan->copy[0][1] = plan->copy[1][0] = plan->copy[1][1] = copy_rows;
}

typedef struct {
    const Plan *plan;
    char *out;
    int64_t start, size, part; /* Bytes: where the range starts, its size, and that of its parts. */
    int64_t next;              /* Where in the range the next part starts. */
    int state;
    pthread_mutex_t lock; /* Of the two above. */
} Work;

/* Copy parts of the range until there are no more. */
static void
copy_parts(void *argument)
{
    Work *work = argument;
    const Plan *plan = work->plan;
    int state = LEGAL;
    for (;;) {
        pthread_mutex_lock(&work->lock);
        if (state == REFUSED) {
            work->state = REFUSED;
            work->next = work->size;
        }
        int64_t at = work->next, size = work->size - at;
        size = size < work->part ? size : work->part;
        work->next += size;
        pthread_mutex_unlock(&work->lock);
        if (size == 0)
            break;
        state = copy_range(plan, 0, work->start + at, work->start + at + size, plan->data,
                           plan->indices, work->out + at);
    }
#ifdef __SSE2__
    _mm_sfence(); /* Other threads see what was streamed only after it. */
#endif
}

/* Copy a range with up to `threads` threads; fewer if it has fewer parts, or the system no more. */
static int
copy_with(int threads, const Plan *plan, int64_t start, int64_t size, int64_t part, char *out)
{
    Work work = {plan, out, start, size, part, .state = LEGAL, .lock = PTHREAD_MUTEX_INITIALIZER};
    int64_t parts = size / part + (size % part != 0);
    int helpers = threads - 1 < parts - 1 ? threads - 1 : (int)parts - 1;
    work_together(helpers < THREADS ? helpers : THREADS, copy_parts, &work);
    pthread_mutex_destroy(&work.lock);
    return work.state;
}

const char fill_doc[] =

             "fill(out, data, indices, plan, start, part, threads)\n--\n\n"
             "Copy the bytes of the output from `start` on to `out`, without the interpreter's lock,\n"
             "with up to `threads` threads that take `part` bytes at a time.\n"
             "\n"
             "`plan` has int64: see kernel.py. Return whether every index was legal; if not, `out` is\n"
             "undefined. Raise ValueError, before anything is read, if the plan leaves a buffer.";

const char *
copy_planned(const int64_t *numbers, int64_t count, const Py_buffer *out, const Py_buffer *data,
             const Py_buffer *indices, const Range *range, int *legal)
{
    Plan plan;
    int64_t total;
    const char *wrong = read_plan(&plan, numbers, count, data, indices, &total);
    if (wrong)
        return wrong;
    if (range->start < 0 || range->start > total || out->len > total - range->start)
        return "a range beyond the output";
    if (range->part < 1)
        return "empty parts";
    choose_copies(&plan);
    plan.stream = out->len >= STREAM;
    int state;
    Py_BEGIN_ALLOW_THREADS
    state = copy_with(range->threads, &plan, range->start, out->len, range->part, out->buf);
    Py_END_ALLOW_THREADS
    *legal = state != REFUSED;
    return NULL;
}

PyObject *
fill(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *objects[4];
    Py_buffer view[4];
    long long start, part;
    int threads, got = 0, legal = 0;
    const char *wrong = NULL;
    if (!PyArg_ParseTuple(args, "OOOOLLi:fill", &objects[0], &objects[1], &objects[2],
                          &objects[3], &start, &part, &threads))
        return NULL;
    for (; got < 4; got++)
        if (PyObject_GetBuffer(objects[got], &view[got], got ? PyBUF_SIMPLE : PyBUF_WRITABLE) < 0)
            break;
    if (got == 4) {
        int64_t numbers[MOST_NUMBERS];
        if (view[3].len > (Py_ssize_t)sizeof numbers || view[3].len % 8) {
            wrong = "too many numbers";
        } else {
            memcpy(numbers, view[3].buf, (size_t)view[3].len);
            Range range = {start, part, threads};
            wrong = copy_planned(numbers, view[3].len / 8, &view[0], &view[1], &view[2], &range,
                                 &legal);
        }
    }
    while (got-- > 0)
        PyBuffer_Release(&view[got]);
    if (PyErr_Occurred())
        return NULL;
    if (wrong) {
        PyErr_Format(PyExc_ValueError, "the plan has %s", wrong);
        return NULL;
    }
    return PyBool_FromLong(legal);
}
