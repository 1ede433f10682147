/* Copy short chunks, each in one go with its index: read, checked, and used from a register. */

#include "gather.h"

#ifndef GROUP
#define GROUP 32 /* Indices between two fetches of what comes later. */
#endif
#define FETCH 4096 /* Bytes from an index to those to fetch: a page, as no processor fetches the next. */
#define MIXED 256 /* Indices after a negative one that are taken for either sign. */
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

/* Copy chunks of `width` bytes, by indices of `wide` bytes. Both are constants, and so is `far`:
   whether to fetch each chunk before it is copied.

   Measured: loads at random hide from the processor that the indices are read in order, so that they
   are fetched by hand, which halves the time. So does a row of `data` in memory that is fetched
   before it is read at random; where most of its lines are read, it is fetched whole. */
INLINE int
pick(const Picks *all, const int64_t width, const int wide, const int far)
{
    const Picks p = *all;
    const uint64_t size = (uint64_t)p.axis->size;
    const int64_t add = p.axis->add, bytes = p.axis->size * width, ahead = far ? AHEAD : 0;
    const int whole = p.data_row && p.rows > 1 && bytes <= ROW && p.n >= bytes / LINE;
    const int64_t share = whole ? (bytes / LINE * GROUP / p.n + 1) * LINE : 0;
    for (int64_t r = 0; r < p.rows; r++) {
        const char *data = p.data + r * p.data_row, *index = p.indices + r * p.index_row;
        char *out = p.out + r * p.out_row;
        int64_t fetched = whole && r + 1 < p.rows ? 0 : bytes; /* of the next row */
        for (int64_t k = 0; k < p.n;) {
            int64_t stop = p.n - k < GROUP ? p.n : k + GROUP;
            fetch(index, k * wide + FETCH, GROUP * wide);
            if (fetched < bytes) {
                fetch(data, p.data_row + fetched, share);
                fetched += share;
            }
            /* Most indices are neither negative nor outside, so that nothing waits for this test. */
            for (; k < stop; k++) {
                uint64_t at = (uint64_t)read_index(index + k * wide, wide);
                if (far && k + ahead < p.n) {
                    int64_t later = read_index(index + (k + ahead) * wide, wide);
                    fetch(data, (int64_t)((uint64_t)later * (uint64_t)width), 1);
                }
                if (RARE(at >= size))
                    break;
                memcpy(out + k * width, data + (int64_t)at * width, (size_t)width);
            }
            if (k == stop)
                continue;
            for (stop = p.n - k < MIXED ? p.n : k + MIXED; k < stop; k++) {
                int64_t value = read_index(index + k * wide, wide), at = value + (value >> 63 & add);
                if (far && k + ahead < p.n) {
                    int64_t later = read_index(index + (k + ahead) * wide, wide);
                    later += later >> 63 & add;
                    fetch(data, (int64_t)((uint64_t)later * (uint64_t)width), 1);
                }
                if (k % 8 == 0)
                    fetch(index, k * wide + FETCH, 1);
                if (RARE((uint64_t)at >= size)) {
                    at = position_of((uint64_t)value, value < 0, p.axis, p.outside);
                    if (at == REJECTED)
                        return 0;
                    if (at == NONE) {
                        memset(out + k * width, 0, (size_t)width);
                        continue;
                    }
                }
                memcpy(out + k * width, data + at * width, (size_t)width);
            }
        }
    }
    return 1;
}

#define PICK(WIDTH)                                                                               \
    static int pick_##WIDTH##_by_4(const Picks *all)                                              \
    {                                                                                             \
        return all->ahead ? pick(all, WIDTH, 4, 1) : pick(all, WIDTH, 4, 0);                      \
    }                                                                                             \
    static int pick_##WIDTH##_by_8(const Picks *all)                                              \
    {                                                                                             \
        return all->ahead ? pick(all, WIDTH, 8, 1) : pick(all, WIDTH, 8, 0);                      \
    }

PICK(1)
PICK(2)
PICK(4)
PICK(8)
PICK(16)

Pick
pick_for(int64_t chunk, int64_t itemsize)
{
#define CHOOSE(WIDTH)                                                                             \
    case WIDTH:                                                                                   \
        return itemsize == 4 ? pick_##WIDTH##_by_4 : itemsize == 8 ? pick_##WIDTH##_by_8 : NULL;
    switch (chunk) {
        CHOOSE(1)
        CHOOSE(2)
        CHOOSE(4)
        CHOOSE(8)
        CHOOSE(16)
    }
    return NULL;
}
