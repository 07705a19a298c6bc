// The elements that are not negative, in order; gives how many.
#include <omp.h>
#include <stdint.h>

int64_t keep(const int32_t *restrict x, int32_t *restrict y, int64_t n)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        y[kept] = x[i];
        kept += x[i] >= 0;
    }
    return kept;
}

// counts each part, then every part writes at its place; y has room for one element more
int64_t keep_parallel(const int32_t *restrict x, int32_t *restrict y, int64_t n)
{
    int count = omp_get_max_threads();
    int64_t starts[count + 1];
    starts[0] = 0;
#pragma omp parallel for schedule(static, 1)
    for (int t = 0; t < count; t++) {
        int64_t kept = 0;
        for (int64_t i = n * t / count; i < n * (t + 1) / count; i++)
            kept += x[i] >= 0;
        starts[t + 1] = kept;
    }
    for (int t = 0; t < count; t++)
        starts[t + 1] += starts[t];
#pragma omp parallel for schedule(static, 1)
    for (int t = 0; t < count; t++) {
        int64_t at = starts[t];
        for (int64_t i = n * t / count; at < starts[t + 1]; i++) {
            y[at] = x[i];       // at < starts[t + 1]: never into the next part
            at += x[i] >= 0;
        }
    }
    return starts[count];
}
