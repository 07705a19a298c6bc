// How often each of 0 .. bins - 1 occurs.
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef COUNT
#define COUNT int64_t
#endif

void histogram(const int32_t *restrict x, COUNT *restrict counts, int64_t n, int64_t bins)
{
    memset(counts, 0, bins * sizeof *counts);
    for (int64_t i = 0; i < n; i++)
        counts[x[i]]++;
}

// private bins of 32 bits per thread, summed at the end
void histogram_parallel(const int32_t *restrict x, COUNT *restrict counts, int64_t n,
                        int64_t bins)
{
    int count = omp_get_max_threads();
    int64_t row = (bins + 15) / 16 * 16;
    uint32_t *own = aligned_alloc(64, count * row * sizeof *own);
#pragma omp parallel num_threads(count)
    {
        uint32_t *mine = own + omp_get_thread_num() * row;
        memset(mine, 0, bins * sizeof *mine);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i++)
            mine[x[i]]++;
#pragma omp for schedule(static)
        for (int64_t b = 0; b < bins; b++) {
            COUNT total = 0;
            for (int t = 0; t < count; t++)
                total += own[t * row + b];
            counts[b] = total;
        }
    }
    free(own);
}
