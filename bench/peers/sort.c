// Radix sort by digits of eight bits, the least significant first, one element after the other.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint32_t ascending(uint32_t bits)
{
    return bits;
}

// Numbers without NaN: negative ones turned round, below the others.
static uint32_t of_float(uint32_t bits)
{
    return bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);
}

static inline __attribute__((always_inline)) void radix(
    const uint32_t *x, const uint32_t *v, uint32_t *y, uint32_t *w, int64_t n,
    uint32_t (*key)(uint32_t))
{
    static uint32_t *scratch = NULL;
    static int64_t room = 0;
    if (room < n) {
        scratch = realloc(scratch, 2 * n * sizeof *scratch);
        room = n;
    }
    int64_t starts[4][256] = {{0}};
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < 4; d++)
            starts[d][key(x[i]) >> 8 * d & 255]++;
    for (int d = 0; d < 4; d++) {
        int64_t total = 0;
        for (int k = 0; k < 256; k++) {
            int64_t count = starts[d][k];
            starts[d][k] = total;
            total += count;
        }
    }
    for (int d = 0; d < 4; d++) {
        const uint32_t *from = d == 0 ? x : d % 2 ? scratch : y;
        const uint32_t *others = d == 0 ? v : d % 2 ? scratch + n : w;
        uint32_t *to = d % 2 ? y : scratch, *more = d % 2 ? w : scratch + n;
        for (int64_t i = 0; i < n; i++) {
            int64_t place = starts[d][key(from[i]) >> 8 * d & 255]++;
            to[place] = from[i];
            if (v)
                more[place] = others[i];
        }
    }
}

void sort_u32(const uint32_t *x, uint32_t *y, int64_t n)
{
    radix(x, NULL, y, NULL, n, ascending);
}

void sort_f32(const uint32_t *x, uint32_t *y, int64_t n)
{
    radix(x, NULL, y, NULL, n, of_float);
}

void sort_pairs(const uint32_t *keys, const uint32_t *values, uint32_t *keys_out,
                uint32_t *values_out, int64_t n)
{
    radix(keys, values, keys_out, values_out, n, ascending);
}
