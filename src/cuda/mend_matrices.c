// Repairs, in CUDA text, the matrices that a kernel passes to a [CudaKernel] function. Slang passes a matrix
// in a struct of its numbers. With row-major layouts (2026.14.1) it writes them row by row and reads them in
// another order: a square matrix arrives transposed, and others with their numbers mixed up.
//
// The function that reads them is, for a float2x3,
//   __device__ Matrix<float, 2, 3>  unpackStorage_0(_MatrixStorage_float2x3_0 * _S1)
//   {
//       return makeMatrix<float, 2, 3> (_S1->data_1[int(0)], _S1->data_1[int(3)], _S1->data_1[int(1)], ...);
#include "cuda/internal.h"

// Returns the position behind a type's name such as "_MatrixStorage_float2x3_0", or NULL if another name
// stands at `c`. Names of storage with layouts for memory have a word before the last number.
static const char *spyi_matrix_storage(const char *c) {
    static const char begin[] = "_MatrixStorage_";
    const char *end = c, *number;
    if (strncmp(c, begin, sizeof begin - 1) != 0) return NULL;
    while (spyi_is_word(*end)) end++;
    for (number = end; number > c && number[-1] >= '0' && number[-1] <= '9';) number--;
    bool good = number < end && number - c > (ptrdiff_t)sizeof begin + 3 && number[-1] == '_' &&
                number[-2] >= '1' && number[-2] <= '4' && number[-3] == 'x';
    return good ? end : NULL;
}

// Writes the arguments "P[int(a)], P[int(b)], ..." again in the order of their numbers, which are 0 to n - 1.
// Leaves other arguments as they are. The text keeps its size.
static void spyi_matrix_order(char *c, const char *end) {
    enum { SPYI_MATRIX_MOST = 16 };
    static const char index[] = "[int(";
    char *out = c, *open = strstr(c, index);
    spyi_text prefix = { NULL, 0, 0 };
    uint32_t seen = 0, count = 0;
    if (!open || open >= end) return;
    spyi_text_add_n(&prefix, c, (size_t)(open - c) + sizeof index - 1);
    bool good = spyi_text_str(&prefix)[0] != 0;
    while (good && c < end) {
        unsigned long number = SPYI_MATRIX_MOST;
        good = strncmp(c, spyi_text_str(&prefix), prefix.size) == 0;
        if (good) number = strtoul(c + prefix.size, &c, 10);
        good = good && number < SPYI_MATRIX_MOST && !(seen & 1u << number) && strncmp(c, ")]", 2) == 0;
        if (!good) break;
        seen |= 1u << number;
        count++;
        c += 2;
        if (c < end && (good = strncmp(c, ", ", 2) == 0)) c += 2;
    }
    if (good && seen == (1u << count) - 1) {
        const char after = *end; // snprintf() writes a NUL there
        for (uint32_t i = 0; i < count; i++)
            out += snprintf(out, (size_t)(end - out) + 1, "%s%s%u)]", i ? ", " : "", spyi_text_str(&prefix),
                            (unsigned)i);
        *out = after;
    }
    spyi_text_free(&prefix);
}

void spyi_cuda_order_matrices(char *body) {
    static const char name[] = " unpackStorage_", make[] = "return makeMatrix<";
    for (char *c = strstr(body, name); c; c = strstr(c + 1, name)) {
        const char *type = c + sizeof name - 1;
        while (*type >= '0' && *type <= '9') type++;
        type = *type == '(' ? spyi_matrix_storage(type + 1) : NULL;
        if (!type || strncmp(type, " * ", 3) != 0) continue;
        const char *close = strstr(type, "\n}");
        char *first = close ? strstr(c, make) : NULL;
        char *open = first && first < close ? strstr(first, "> (") : NULL;
        const char *end = open ? strstr(open, ");\n") : NULL;
        if (end && end < close) spyi_matrix_order(open + 3, end);
    }
}
