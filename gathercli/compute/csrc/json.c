#include "native.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* JSON of floats and of texts.

   The digits of floats are the shortest that read back, by R. Giulietti, "The Schubfach way to
   render doubles" (2021): a float is c * 2^q, and reads back from between the middles to its
   neighbours. Let 10^k be the largest power of ten that is at most as long as this interval. Then
   at most one multiple of 10^(k+1) is inside, which is the shortest, or else the nearest multiple
   of 10^k is. The float is scaled by 10^-k, rounded up to 128 bits. Where that decides, the last
   digit is compared with half the interval; elsewhere the float and both middles are scaled, to
   quarters of 10^k: as the paper proves, it is seen whether such a product is an integer. */

#define LEAST_POWER (-292) /* The powers of ten that scale a float64. */
#define MOST_POWER 324
#define LIMBS 38             /* 32-bit limbs of 10^MOST_POWER times 2^128. */
#define MOST_NUMBER_BYTES 25 /* With its comma: "-2.2250738585072014e-308,". */
#define MOST_WORD_BYTES 16   /* Of the text of a number that is not finite. */
#define SLACK 48             /* Bytes behind a number that are written before it is cut. */
#define DIGITS 17            /* The most digits of a float64. */
#define LEAST_DECIMAL 10000000000000000u /* The least number of so many digits. */
#define ZEROS 0x3030303030303030u

/* The high and the low half of floor(10^e * 2^n) + 1 of 128 bits, by e from LEAST_POWER on. */
static uint64_t powers[MOST_POWER - LEAST_POWER + 1][2];

/* The texts of NaN and the infinities, with their lengths. */
typedef struct {
    const char *text[3];
    Py_ssize_t length[3];
} Words;

/* Keep the first 128 bits of a big integer, whose lowest four limbs are below them, plus 1. */
static void
keep_power(int e, const uint32_t *limbs)
{
    int top = LIMBS - 1, shift = 0;
    while (!limbs[top])
        top--;
    while (!(limbs[top] << shift >> 31))
        shift++;
    uint64_t *half = powers[e - LEAST_POWER], parts[3];
    for (int n = 0; n < 3; n++)
        parts[n] = (uint64_t)limbs[top - 2 * n] << 32 | (n < 2 ? limbs[top - 2 * n - 1] : 0);
    half[0] = parts[0] << shift | parts[1] >> 1 >> (63 - shift);
    half[1] = (parts[1] << shift | parts[2] >> 1 >> (63 - shift)) + 1;
    half[0] += !half[1];
}

/* Compute the powers by exact arithmetic, which takes less than their table would to be read. */
static void
compute_powers(void)
{
    uint32_t limbs[LIMBS] = {0};
    limbs[4] = 1;
    for (int e = 0; e <= MOST_POWER; e++) {
        keep_power(e, limbs);
        uint64_t carry = 0;
        for (int n = 0; n < LIMBS; n++, carry >>= 32) {
            carry += (uint64_t)limbs[n] * 10;
            limbs[n] = (uint32_t)carry;
        }
    }
    memset(limbs, 0, sizeof limbs);
    limbs[LIMBS - 1] = 1;
    for (int e = -1; e >= LEAST_POWER; e--) {
        uint64_t rest = 0;
        for (int n = LIMBS - 1; n >= 0; n--) {
            rest = rest << 32 | limbs[n];
            limbs[n] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        keep_power(e, limbs);
    }
}

/* Multiply by a power: return the product without its lowest 128 bits, and the next 64 of it. */
INLINE uint64_t
multiplied(const uint64_t *power, uint64_t number, uint64_t *fraction)
{
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 uint128;
    uint128 high = (uint128)power[0] * number;
    uint64_t middle = (uint64_t)((uint128)power[1] * number >> 64);
    *fraction = (uint64_t)high + middle;
    return (uint64_t)(high >> 64) + (*fraction < middle);
#else
    uint64_t carry = 0, a = number >> 32, b = (uint32_t)number;
    for (int n = 1; n >= 0; n--) {
        uint64_t c = power[n] >> 32, d = (uint32_t)power[n];
        uint64_t cross = (b * d >> 32) + (uint32_t)(a * d) + (uint32_t)(b * c);
        *fraction = power[n] * number + carry;
        carry = a * c + (a * d >> 32) + (b * c >> 32) + (cross >> 32) + (*fraction < carry);
    }
    return carry;
#endif
}

/* Multiply by a power and drop 128 bits; the last bit is odd if they are not zero. */
INLINE uint64_t
scaled(const uint64_t *power, uint64_t number)
{
    uint64_t fraction, whole = multiplied(power, number, &fraction);
    return whole | (fraction > 1); /* the factor is rounded up */
}

/* Return the digits of c * 2^q in units of 10^k, given by the power 10^-k, to the last bit. */
static uint64_t
exactly(uint64_t c, int h, int tapers, const uint64_t *power)
{
    uint64_t odd = c & 1, value = scaled(power, 4 * c << h);
    uint64_t low = scaled(power, (4 * c - (tapers ? 1 : 2)) << h) + odd;
    uint64_t high = scaled(power, (4 * c + 2) << h) - odd;
    uint64_t below = value / 4, ten = below / 10 * 10;
    if (4 * ten >= low)
        return ten;
    if (4 * (ten + 10) <= high)
        return ten + 10;
    return below + (value + (below & 1) > 4 * below + 2 || 4 * below < low);
}

/* Return the digits D of the float c * 2^q = D * 10^*scale; `tapers` if it is nearer below. */
INLINE uint64_t
shortest(uint64_t c, int q, int tapers, int *scale)
{
    /* floor(log10(2^q)), or floor(log10(2^q * 3/4)), and floor(log2(10^-k)) + q + 1 */
    int k = (q * 1262611 - (tapers ? 524031 : 0)) >> 22, h = q + ((-k * 1741647) >> 19) + 1;
    const uint64_t *power = powers[-k - LEAST_POWER];
    *scale = k;
    /* In 2^-60 of 10^k, up to two: the float beyond a multiple of ten, and half the interval. */
    uint64_t fraction, number = multiplied(power, c << h, &fraction), last = number % 10;
    uint64_t beyond = last << 60 | fraction >> 4, half = power[0] >> (5 - h);
    const uint64_t ten = (uint64_t)10 << 60;
    if (tapers | (beyond - half + 2 <= 4) | (ten - beyond - half + 2 <= 4) |
        (fraction - ((uint64_t)1 << 63) + 2 <= 4))
        return exactly(c, h, tapers, power); /* these comparisons do not decide */
    /* Random digits take any way at random: faster without branches. */
    uint64_t nearest = number + (fraction >> 63), below = number - last;
    nearest ^= (nearest ^ below) & -(uint64_t)(beyond < half);
    return nearest ^ ((nearest ^ (below + 10)) & -(uint64_t)(ten - beyond < half));
}

/* Split two numbers of up to eight digits into bytes, the first digit in the lowest one. */
INLINE void
split(uint32_t first, uint32_t second, uint64_t digits[2])
{
#if defined(__SSE2__)
    __m128i n = _mm_set_epi64x(second, first), heads; /* and by 10^4, 10^2 and 10 */
    heads = _mm_srli_epi64(_mm_mul_epu32(n, _mm_set1_epi64x(0xD1B71759)), 45);
    n = _mm_sub_epi64(n, _mm_mul_epu32(heads, _mm_set1_epi64x(10000)));
    n = _mm_or_si128(heads, _mm_slli_epi64(n, 32));
    heads = _mm_srli_epi16(_mm_mulhi_epu16(n, _mm_set1_epi16(5243)), 3);
    n = _mm_sub_epi16(n, _mm_mullo_epi16(heads, _mm_set1_epi16(100)));
    n = _mm_or_si128(heads, _mm_slli_epi32(n, 16));
    heads = _mm_mulhi_epu16(n, _mm_set1_epi16(6554));
    n = _mm_sub_epi16(n, _mm_mullo_epi16(heads, _mm_set1_epi16(10)));
    n = _mm_or_si128(heads, _mm_slli_epi16(n, 8));
    _mm_storeu_si128((__m128i *)digits, n);
#else
    for (int n = 0; n < 2; n++) {
        uint32_t number = n ? second : first;
        uint64_t parts = number / 10000 | (uint64_t)(number % 10000) << 32;
        uint64_t heads = parts * 10486 >> 20 & 0x0000007F0000007Fu; /* divided by 100 */
        parts = heads | (parts - 100 * heads) << 16;
        heads = parts * 103 >> 10 & 0x000F000F000F000Fu; /* divided by 10 */
        digits[n] = heads | (parts - 10 * heads) << 8;
    }
#endif
}

INLINE void
put(char *out, uint64_t bytes)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(out, &bytes, 8);
#else
    for (int b = 0; b < 8; b++)
        out[b] = (char)(bytes >> 8 * b);
#endif
}

/* Write digits as Python does: D * 10^scale, without zeros at the end. Return the end. */
INLINE char *
write_decimal(char *out, uint64_t number, int scale)
{
    int lacks = number < LEAST_DECIMAL; /* one of the digits, at random */
    number *= lacks ? 10 : 1;
    scale -= lacks;
    for (; number < LEAST_DECIMAL; scale--) /* few do */
        number *= 10;
    uint32_t nine = (uint32_t)(number / 100000000), first = nine / 100000000;
    uint64_t digits[2], a, b;
    split(nine - first * 100000000, (uint32_t)(number - (uint64_t)nine * 100000000), digits);
    a = digits[0];
    b = digits[1];
    int count = b ? DIGITS - HIGH_ZEROS(b) / 8 : a ? 9 - HIGH_ZEROS(a) / 8 : 1;
    int point = DIGITS + scale; /* the digits before it */
    a |= ZEROS;
    b |= ZEROS;
    if (point > 0 && point <= 16) {
        int n = 8 * (point - 1) & 63; /* the bits of the digits in `a`, or in `b`, before it */
        put(out, (uint64_t)('0' + first) | a << 8);
        if (point <= 8) {
            put(out + point + 1, a >> n | b << 1 << (63 - n));
            put(out + point + 9, b >> n);
        } else {
            put(out + 8, a >> 56 | b << 8);
            put(out + point + 1, b >> n);
        }
        out[point] = '.';
        return out + point + 1 + (count - point > 1 ? count - point : 1);
    }
    char *start = out + 1;
    if (point <= 0 && point > -4) {
        put(out, ZEROS);
        out[1] = '.';
        start = out + 2 - point;
    }
    start[0] = (char)('0' + first);
    if (start != out + 1) {
        put(start + 1, a);
        put(start + 9, b);
        return start + count;
    }
    out[0] = start[0];
    out[1] = '.';
    put(out + 2, a);
    put(out + 10, b);
    out += count > 1 ? count + 1 : 1;
    int exponent = point - 1, size = exponent < 0 ? -exponent : exponent;
    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    *out = (char)('0' + size / 100);
    out += size >= 100;
    *out++ = (char)('0' + size / 10 % 10);
    *out++ = (char)('0' + size % 10);
    return out;
}

/* Write a float64, or if not `wide` a float32, given by its bits. Return the end. */
INLINE char *
write_float(char *out, uint64_t bits, int wide, const Words *words)
{
    int width = wide ? 52 : 23, most = wide ? 0x7FF : 0xFF;
    uint64_t one = (uint64_t)1 << width, c = bits & (one - 1);
    int exponent = (int)(bits >> width) & most, negative = (int)(bits >> (wide ? 63 : 31)) & 1;
    if (exponent == most) {
        int word = c ? 0 : 1 + negative;
        memcpy(out, words->text[word], (size_t)words->length[word]);
        return out + words->length[word];
    }
    *out = '-';
    out += negative;
    if (!c && !exponent) {
        memcpy(out, "0.0", 3);
        return out + 3;
    }
    int scale, tapers = !c && exponent > 1, q = (exponent ? exponent : 1) - most / 2 - width;
    uint64_t number = shortest(exponent ? c | one : c, q, tapers, &scale);
    if (!wide) { /* to as many digits as a float64 has, or one or two fewer */
        number *= 100000000;
        scale -= 8;
        /* The one float32, as a trial of all shows, whose shortest digits read by way of float64
           give a neighbour: 7.038531e-26 is next to the middle between the two. */
        if ((bits & 0x7FFFFFFF) == 0x15AE43FD) {
            number = 70385306918512090u;
            scale = -42;
        }
    }
    return write_decimal(out, number, scale);
}

/* Write a text in quotes; return NULL for what is not printable ASCII, or must be escaped. */
INLINE char *
write_text(char *out, const char *text, Py_ssize_t length)
{
    Py_ssize_t written = 0;
    *out++ = '"';
    for (Py_ssize_t n = 0; n < length; n++) { /* zeros are at the end only */
        uint32_t code;
        memcpy(&code, text + 4 * n, 4);
        PIN(code); /* Read once: it may change. */
        if (!code)
            continue;
        if (written < n || code - 0x20 >= 0x7F - 0x20 || code == '"' || code == '\\')
            return NULL;
        out[written++] = (char)code;
    }
    out[written] = '"';
    return out + written + 1;
}

/* Write the element of a type at an address; return the end, or NULL as `write_text` does. */
INLINE char *
write_element(char *out, const char *at, char type, Py_ssize_t size, const Words *words)
{
    uint64_t bits = 0;
    uint32_t half;
    if (type == 'w')
        return write_text(out, at, size / 4);
    if (type == 'd') {
        memcpy(&bits, at, 8);
    } else {
        memcpy(&half, at, 4);
        bits = half;
    }
    PIN(bits); /* Read once: it may change. */
    return write_float(out, bits, type == 'd', words);
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

/* Write all values as nested lists; return the end, behind a comma, or NULL for some text. */
INLINE char *
write_lists(char *out, const Py_buffer *view, char type, Py_ssize_t size, const Words *words)
{
    Py_ssize_t width = view->shape[view->ndim - 1], rows = view->len / size / width;
    const char *value = view->buf;
    for (Py_ssize_t row = 0; row < rows; row++) {
        for (int lists = lists_at(row, view); lists > 0; lists--)
            *out++ = '[';
        for (Py_ssize_t column = 0; column < width; column++, value += size) {
            out = write_element(out, value, type, size, words);
            if (!out)
                return NULL;
            *out++ = ',';
        }
        out--; /* the last comma */
        for (int lists = lists_at(row + 1, view); lists > 0; lists--)
            *out++ = ']';
        *out++ = ',';
    }
    return out;
}

/* Return `d` for float64, `f` for float32, `w` for texts, 0 for other types. */
static char
type_of(const Py_buffer *view)
{
    const char *format = view->format ? view->format : "B";
    if (!strcmp(format, "d") || !strcmp(format, "f"))
        return *format;
    while (*format >= '0' && *format <= '9')
        format++;
    return strcmp(format, "w") ? 0 : 'w';
}

const char json_lists_doc[] =

             "json_lists(values, words)\n--\n\n"
             "Write floats or texts, C-contiguous and native, as nested lists of JSON.\n"
             "\n"
             "Floats have the shortest digits, in Python's notation; the three words are what is\n"
             "written for NaN, infinity and its negative. None if a text has a character that is\n"
             "not ASCII, or must be escaped.";

PyObject *
json_lists(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer view;
    Words words;
    PyObject *values, *text = NULL;
    if (!PyArg_ParseTuple(args, "O(y#y#y#)", &values, words.text, words.length, words.text + 1,
                          words.length + 1, words.text + 2, words.length + 2))
        return NULL;
    if (PyObject_GetBuffer(values, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
        return NULL;
    char type = type_of(&view);
    Py_ssize_t size = view.itemsize, most = type == 'w' ? size / 4 + 3 : MOST_NUMBER_BYTES;
    Py_ssize_t total = view.len && view.ndim ? view.len / size : 0;
    if (!total || !type) {
        PyErr_SetString(PyExc_ValueError, "the values are no array of floats or texts");
    } else if (words.length[0] > MOST_WORD_BYTES || words.length[1] > MOST_WORD_BYTES ||
               words.length[2] > MOST_WORD_BYTES) {
        PyErr_SetString(PyExc_ValueError, "a word is too long");
    } else if (total > (PY_SSIZE_T_MAX - 2 * SLACK) / (most + 2 * view.ndim)) {
        PyErr_NoMemory();
    } else {
        if (!powers[0][0])
            compute_powers();
        Py_ssize_t rows = total / view.shape[view.ndim - 1];
        text = PyByteArray_FromStringAndSize(NULL, total * most + rows * 2 * view.ndim + SLACK);
        if (text) {
            char *begin = PyByteArray_AsString(text), *end;
            end = type == 'd'   ? write_lists(begin, &view, 'd', 8, &words)
                  : type == 'f' ? write_lists(begin, &view, 'f', 4, &words)
                                : write_lists(begin, &view, 'w', size, &words);
            if (!end) {
                Py_DECREF(text);
                text = Py_NewRef(Py_None);
            } else if (PyByteArray_Resize(text, end - 1 - begin) < 0) {
                Py_CLEAR(text);
            }
        }
    }
    PyBuffer_Release(&view);
    return text;
}
