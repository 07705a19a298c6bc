// A sparse matrix in compressed rows times a vector; the compiler gathers x with SIMD.
#include <stdint.h>

static inline float row(const float *restrict v, const int32_t *restrict column,
                        const float *restrict x, int64_t from, int64_t to)
{
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t k = from; k < to; k++)
        total += v[k] * x[column[k]];
    return total;
}

void spmv(const float *restrict v, const int32_t *restrict column, const int64_t *restrict offset,
          const float *restrict x, float *restrict y, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        y[i] = row(v, column, x, offset[i], offset[i + 1]);
}

void spmv_parallel(const float *restrict v, const int32_t *restrict column,
                   const int64_t *restrict offset, const float *restrict x, float *restrict y,
                   int64_t rows)
{
#pragma omp parallel for schedule(dynamic, 64)
    for (int64_t i = 0; i < rows; i++)
        y[i] = row(v, column, x, offset[i], offset[i + 1]);
}
