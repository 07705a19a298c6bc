// The sum of each row of an array of rows, and the prefix sums within each row.
#include <stdint.h>

static inline float sum(const float *restrict x, int64_t from, int64_t to)
{
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t k = from; k < to; k++)
        total += x[k];
    return total;
}

void row_sums(const float *restrict x, const int64_t *restrict offset, float *restrict y,
              int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        y[i] = sum(x, offset[i], offset[i + 1]);
}

// rows are claimed some at a time, so that a long one holds up one thread and not its neighbours
void row_sums_parallel(const float *restrict x, const int64_t *restrict offset,
                       float *restrict y, int64_t rows)
{
#pragma omp parallel for schedule(dynamic, 256)
    for (int64_t i = 0; i < rows; i++)
        y[i] = sum(x, offset[i], offset[i + 1]);
}

static inline void prefixes(const float *restrict x, float *restrict y, int64_t from, int64_t to)
{
    float total = 0;
    for (int64_t k = from; k < to; k++)
        y[k] = total += x[k];
}

void row_prefixes(const float *restrict x, const int64_t *restrict offset, float *restrict y,
                  int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        prefixes(x, y, offset[i], offset[i + 1]);
}

void row_prefixes_parallel(const float *restrict x, const int64_t *restrict offset,
                           float *restrict y, int64_t rows)
{
#pragma omp parallel for schedule(dynamic, 256)
    for (int64_t i = 0; i < rows; i++)
        prefixes(x, y, offset[i], offset[i + 1]);
}
