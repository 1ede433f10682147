#include "native.h"

/* The shortest digits of float32, by R. Giulietti, "The Schubfach way to render doubles" (2021).

   A float is m * 2^e, and reads back from between the middles to its neighbours. Let 10^k be the
   largest power of ten that is at most as long as this interval. Then at most one multiple of
   10^(k+1) is inside, which is the shortest, or else the nearest multiple of 10^k is. Floats with an
   exponent in their text are left to the caller: for the others all numbers fit in 64 bits exactly. */

#define LEAST 0x38D1B717u /* The bits of 1e-4f, the least float written without an exponent. */
#define MOST 0x4E6E6B28u  /* The bits of 1e9f, the least beyond them. */
#define NUMBER 16         /* The most bytes of a number and its comma: "-0.000123456789,". */
#define SLACK 32          /* Bytes behind a number that are written before it is cut. */
#define ZEROS 0x3030303030303030u

/* Return the digits D of a float D * 10^*scale, of bits in [LEAST, MOST): D is less than 10^9. */
INLINE uint32_t
shortest(uint32_t bits, int *scale)
{
    static const uint32_t five[] = {1,     5,      25,      125,     625,      3125,     15625,
                                    78125, 390625, 1953125, 9765625, 48828125, 244140625};
    uint64_t m = (bits & 0x7FFFFF) | 0x800000, odd = m & 1;
    int e = (int)(bits >> 23) - 150, even = m == 0x800000; /* a power of two: nearer below */
    /* floor(e * log10(2)), or floor(e * log10(2) + log10(3/4)), for e from -37 to 6 */
    int k = ((13 << 12) + e * 1233 - (even ? 512 : 0)) / (1 << 12) - 13;
    /* In eighths of 2^e: the value, the interval, and the unit 10^k, all times the same factor. */
    uint64_t factor = k > 0 ? (uint64_t)1 << (e - 3) : five[-k];
    uint64_t unit = k > 0 ? 10 : (uint64_t)1 << (k + 3 - e);
    uint64_t value = 8 * m * factor, low = value - (even ? 2 : 4) * factor + odd;
    uint64_t high = value + 4 * factor - odd;
    uint32_t below = (uint32_t)(k > 0 ? value / 10 : value >> (k + 3 - e)), ten = below / 10 * 10;
    *scale = k;
    uint64_t twice = 2 * (value - below * unit);
    int up = (twice > unit) | ((twice == unit) & below) | (below * unit < low);
    /* Random digits take either way at random: a sixth faster without branches. */
    uint32_t number = below + (uint32_t)up;
    number ^= (number ^ (ten + 10)) & -(uint32_t)((ten + 10) * unit <= high);
    return number ^ ((number ^ ten) & -(uint32_t)(ten * unit >= low));
}

/* Split a number of up to eight digits into bytes, the first digit in the lowest one. */
INLINE uint64_t
digits_of(uint32_t number)
{
    uint64_t parts = number / 10000 | (uint64_t)(number % 10000) << 32;
    uint64_t heads = parts * 10486 >> 20 & 0x0000007F0000007Fu; /* divided by 100 */
    parts = heads | (parts - 100 * heads) << 16;
    heads = parts * 103 >> 10 & 0x000F000F000F000Fu; /* divided by 10 */
    return heads | (parts - 10 * heads) << 8;
}

INLINE void
put(char *out, uint64_t bytes)
{
    for (int b = 0; b < 8; b++)
        out[b] = (char)(bytes >> 8 * b);
}

/* Write a float as Python does, or null if Python writes it with an exponent or as a word. Return
   the end, at most NUMBER - 1 bytes further; up to SLACK bytes are overwritten. */
INLINE char *
write_float(char *out, uint32_t bits)
{
    uint32_t magnitude = bits & 0x7FFFFFFF;
    if (magnitude - LEAST >= MOST - LEAST && magnitude) {
        memcpy(out, "null", 4);
        return out + 4;
    }
    *out = '-';
    out += bits >> 31;
    put(out, ZEROS);
    put(out + 8, ZEROS);
    if (!magnitude) {
        out[1] = '.';
        return out + 3;
    }
    int k;
    uint32_t number = shortest(magnitude, &k);
    int ninth = number >= 100000000; /* whether a digit 1 comes before eight others */
    uint64_t digits = digits_of(number - (ninth ? 100000000 : 0));
    int blank = ninth ? 0 : LOW_ZEROS(digits) / 8;
    digits >>= 8 * blank;
    int count = ninth + (digits ? 8 - HIGH_ZEROS(digits) / 8 : 0); /* without zeros at the end */
    int point = ninth + 8 - blank + k;                             /* the digits before it */
    char *start = point > 0 ? out : out + 2 - point;
    *start = '1';
    put(start + ninth, digits | ZEROS);
    if (point <= 0) {
        out[1] = '.';
        return start + count;
    }
    int whole = point - ninth; /* of `digits` */
    out[point] = '.';
    put(out + point + 1, digits >> 4 * whole >> 4 * whole | ZEROS);
    return out + point + 1 + (count - point > 1 ? count - point : 1);
}

/* Return how many lists begin at a row, or equivalently end before it. */
static int
lists_at(Py_ssize_t row, const Py_buffer *view)
{
    int lists = 1;
    for (; lists < view->ndim && row % view->shape[view->ndim - 1 - lists] == 0; lists++)
        row /= view->shape[view->ndim - 1 - lists];
    return lists;
}

const char float_lists_doc[] =

             "float_lists(values)\n--\n\n"
             "Write float32 values, C-contiguous, as nested lists of JSON.\n"
             "\n"
             "Magnitudes from 1e-4 to before 1e9, and zeros, get the shortest digits; others null.";

PyObject *
float_lists(PyObject *module, PyObject *values)
{
    (void)module;
    Py_buffer view;
    PyObject *text = NULL;
    if (PyObject_GetBuffer(values, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
        return NULL;
    Py_ssize_t total = view.len / 4;
    if (!view.ndim || !total || view.itemsize != 4 || !view.format || strcmp(view.format, "f")) {
        PyErr_SetString(PyExc_ValueError, "the values are no array of float32 with elements");
    } else if (total > (PY_SSIZE_T_MAX - 2 * SLACK) / (NUMBER + 2 * view.ndim)) {
        PyErr_NoMemory();
    } else {
        Py_ssize_t width = view.shape[view.ndim - 1], rows = total / width;
        text = PyByteArray_FromStringAndSize(NULL, total * NUMBER + rows * 2 * view.ndim + SLACK);
        char *begin = text ? PyByteArray_AsString(text) : NULL, *out = begin;
        const char *value = view.buf;
        for (Py_ssize_t row = 0; text && row < rows; row++) {
            for (int lists = lists_at(row, &view); lists > 0; lists--)
                *out++ = '[';
            for (Py_ssize_t column = 0; column < width; column++, value += 4) {
                uint32_t bits;
                memcpy(&bits, value, 4);
                PIN(bits); /* Read once: it may change. */
                out = write_float(out, bits);
                *out++ = ',';
            }
            out--; /* the last comma */
            for (int lists = lists_at(row + 1, &view); lists > 0; lists--)
                *out++ = ']';
            *out++ = ',';
        }
        if (text && PyByteArray_Resize(text, out - 1 - begin) < 0)
            Py_CLEAR(text);
    }
    PyBuffer_Release(&view);
    return text;
}
