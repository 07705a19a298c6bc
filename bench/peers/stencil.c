// Neighbourhoods of an image whose border repeats its edge ("clamp").
#include <stdint.h>

static inline int64_t clamp(int64_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }

static inline void five_row(const float *restrict x, float *restrict y, int64_t i, int64_t rows,
                            int64_t columns)
{
    const float *up = x + clamp(i - 1, rows) * columns, *here = x + i * columns;
    const float *down = x + clamp(i + 1, rows) * columns;
    float *to = y + i * columns;
    for (int64_t j = 1; j < columns - 1; j++)
        to[j] = 0.5f * here[j] + 0.125f * (up[j] + down[j] + here[j - 1] + here[j + 1]);
    for (int64_t j = 0; j < columns; j += columns > 1 ? columns - 1 : 1)
        to[j] = 0.5f * here[j] + 0.125f * (up[j] + down[j] + here[clamp(j - 1, columns)]
                                           + here[clamp(j + 1, columns)]);
}

void five_point(const float *restrict x, float *restrict y, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++)
        five_row(x, y, i, rows, columns);
}

void five_point_parallel(const float *restrict x, float *restrict y, int64_t rows,
                         int64_t columns)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++)
        five_row(x, y, i, rows, columns);
}

static inline void seven_row(const float *restrict x, const float *restrict w, float *restrict y,
                             int64_t i, int64_t rows, int64_t columns)
{
    const float *line[7];
    for (int k = 0; k < 7; k++)
        line[k] = x + clamp(i + k - 3, rows) * columns;
    float *to = y + i * columns;
    for (int64_t j = 3; j < columns - 3; j++) {
        float total = 0;
#pragma GCC unroll 7
        for (int k = 0; k < 7; k++)
#pragma GCC unroll 7
            for (int l = 0; l < 7; l++)
                total += w[7 * k + l] * line[k][j + l - 3];
        to[j] = total;
    }
    for (int64_t edge = 0; edge < 6 && edge < columns; edge++) {
        int64_t j = edge < 3 ? edge : columns - 1 - (edge - 3);
        float total = 0;
        for (int k = 0; k < 7; k++)
            for (int l = 0; l < 7; l++)
                total += w[7 * k + l] * line[k][clamp(j + l - 3, columns)];
        to[j] = total;
    }
}

void seven_by_seven(const float *restrict x, const float *restrict w, float *restrict y,
                    int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++)
        seven_row(x, w, y, i, rows, columns);
}

void seven_by_seven_parallel(const float *restrict x, const float *restrict w,
                             float *restrict y, int64_t rows, int64_t columns)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++)
        seven_row(x, w, y, i, rows, columns);
}
