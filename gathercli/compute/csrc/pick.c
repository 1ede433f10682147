/* Copy short chunks, each in one go with its index: read, checked, and used from a register. */

#include "gather.h"

#ifndef GROUP
#define GROUP 32 /* Indices between two fetches of what comes later. */
#endif
#define FETCH 4096 /* Bytes from an index to those to fetch: a page, as no processor fetches the next. */
#ifndef ROW
#define ROW (4 << 20) /* Bytes of a row of `data` that are fetched before it is read. */
#endif

#if defined(__GNUC__)
#define RARE(condition) __builtin_expect(condition, 0)
#else
#define RARE(condition) (condition)
#endif

/* Read an index of `wide` bytes, once. */
INLINE int64_t
read_index(const char *at, const int wide)
{
    if (wide == 4) {
        int32_t value;
        memcpy(&value, at, 4);
        PIN(value);
        return value;
    }
    int64_t value;
    memcpy(&value, at, 8);
    PIN(value);
    return value;
}

/* Fetch `bytes` bytes from a place on, which may be outside of what there is. */
INLINE void
fetch(const char *from, int64_t offset, int64_t bytes)
{
    for (int64_t b = 0; b < bytes; b += LINE)
        PREFETCH((const void *)((uintptr_t)from + (uintptr_t)(offset + b)));
}

/* Copy chunks of `width` bytes, by tuples of `axes` indices of `wide` bytes. These are constants, and
   so is `far`: whether to fetch each chunk before it is copied.

   Measured: loads at random hide from the processor that the indices are read in order, so that they
   are fetched by hand, which halves the time. A row of `data` that no cache holds gains as much from
   being fetched in order before it is read at random, where most of its lines are read. */
INLINE int
pick(const Picks *all, const int64_t width, const int wide, const int axes, const int far)
{
    const Picks p = *all;
    const int64_t bytes = p.bytes, ahead = far ? AHEAD : 0, tuple = (int64_t)wide * axes;
    const int whole = p.data_row && p.rows > 1 && bytes <= ROW && p.n >= bytes / LINE;
    const int64_t share = whole ? (bytes / LINE * GROUP / p.n + 1) * LINE : 0;
    Axis axis[MOST_PICKED];
    for (int j = 0; j < axes; j++)
        axis[j] = p.axis[j];
    if (axes == 1)
        axis[0].step = 1;
    for (int64_t r = 0; r < p.rows; r++) {
        const char *data = p.data + r * p.data_row, *index = p.indices + r * p.index_row;
        char *out = p.out + r * p.out_row;
        int64_t fetched = whole && r + 1 < p.rows ? 0 : bytes; /* of the next row */
        int odd = 0; /* Whether the last group had an index that is negative or outside. */
        for (int64_t k = 0; k < p.n;) {
            const int64_t stop = p.n - k < GROUP ? p.n : k + GROUP;
            fetch(index, k * tuple + FETCH, GROUP * tuple);
            if (fetched < bytes) {
                fetch(data, p.data_row + fetched, share);
                fetched += share;
            }
            /* Most groups have none, so that nothing waits for this test. */
            for (; !odd && k < stop; k++) {
                uint64_t at = 0;
                for (int j = 0; j < axes; j++) {
                    uint64_t value = (uint64_t)read_index(index + k * tuple + j * wide, wide);
                    odd |= value >= (uint64_t)axis[j].size;
                    at += value * (uint64_t)axis[j].step;
                }
                if (far && k + ahead < p.n) {
                    uint64_t later = 0;
                    for (int j = 0; j < axes; j++)
                        later += (uint64_t)read_index(index + (k + ahead) * tuple + j * wide, wide) *
                                 (uint64_t)axis[j].step;
                    fetch(data, (int64_t)(later * (uint64_t)width), 1);
                }
                if (RARE(odd))
                    break; /* with this index to copy */
                memcpy(out + k * width, data + (int64_t)at * width, (size_t)width);
            }
            if (k == stop)
                continue;
            for (odd = 0; k < stop; k++) {
                int64_t at = 0;
                int none = 0;
                for (int j = 0; j < axes; j++) {
                    int64_t value = read_index(index + k * tuple + j * wide, wide);
                    int64_t own = value + (value >> 63 & axis[j].add);
                    odd |= (uint64_t)value >= (uint64_t)axis[j].size;
                    if (RARE((uint64_t)own >= (uint64_t)axis[j].size)) {
                        own = position_of((uint64_t)value, value < 0, &axis[j], p.outside);
                        if (own == REJECTED)
                            return 0;
                        none |= own == NONE;
                    }
                    at += own * axis[j].step;
                }
                if (far && k + ahead < p.n) {
                    uint64_t later = 0;
                    for (int j = 0; j < axes; j++) {
                        int64_t value = read_index(index + (k + ahead) * tuple + j * wide, wide);
                        later += (uint64_t)(value + (value >> 63 & axis[j].add)) * (uint64_t)axis[j].step;
                    }
                    fetch(data, (int64_t)(later * (uint64_t)width), 1);
                }
                if (RARE(none))
                    memset(out + k * width, 0, (size_t)width);
                else
                    memcpy(out + k * width, data + at * width, (size_t)width);
            }
        }
    }
    return 1;
}

#define PICK(WIDTH, WIDE, AXES)                                                                   \
    static int pick_##WIDTH##_##WIDE##_##AXES(const Picks *all)                                   \
    {                                                                                             \
        return all->ahead ? pick(all, WIDTH, WIDE, AXES, 1) : pick(all, WIDTH, WIDE, AXES, 0);    \
    }
/* Of a width: by single indices of 4 and 8 bytes; by pairs and triples, too. */
#define SINGLE(WIDTH)                                                                             \
    PICK(WIDTH, 4, 1) PICK(WIDTH, 8, 1)                                                           \
    static const Pick picks_##WIDTH[MOST_PICKED][2] = {{pick_##WIDTH##_4_1, pick_##WIDTH##_8_1}};
#define TUPLES(WIDTH)                                                                             \
    PICK(WIDTH, 4, 1) PICK(WIDTH, 8, 1) PICK(WIDTH, 4, 2) PICK(WIDTH, 8, 2) PICK(WIDTH, 4, 3)     \
    PICK(WIDTH, 8, 3)                                                                             \
    static const Pick picks_##WIDTH[MOST_PICKED][2] = {                                           \
        {pick_##WIDTH##_4_1, pick_##WIDTH##_8_1},                                                 \
        {pick_##WIDTH##_4_2, pick_##WIDTH##_8_2},                                                 \
        {pick_##WIDTH##_4_3, pick_##WIDTH##_8_3},                                                 \
    };

TUPLES(1)
TUPLES(2)
TUPLES(4)
TUPLES(8)
TUPLES(16)
SINGLE(3)  /* pixels */
SINGLE(6)
SINGLE(12) /* points, strings of three characters */
SINGLE(20)
SINGLE(24)

Pick
pick_for(int64_t chunk, int64_t itemsize, int64_t axes)
{
    if (itemsize < 4 || axes > MOST_PICKED)
        return NULL;
#define CASE(WIDTH)                                                                               \
    case WIDTH:                                                                                   \
        return picks_##WIDTH[axes - 1][itemsize / 8];
    switch (chunk) {
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(6)
        CASE(8)
        CASE(12)
        CASE(16)
        CASE(20)
        CASE(24)
    }
    return NULL;
}
