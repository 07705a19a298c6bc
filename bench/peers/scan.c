// Prefixes, one after the other.
#include <stdint.h>

void scan_add(const int32_t *restrict x, int32_t *restrict y, int64_t n)
{
    uint32_t total = 0;
    for (int64_t i = 0; i < n; i++)
        y[i] = (int32_t)(total += (uint32_t)x[i]);
}

void recurrence(const double *restrict a, const double *restrict b, double *restrict y, int64_t n)
{
    double x = 0;
    for (int64_t i = 0; i < n; i++)
        y[i] = x = a[i] * x + b[i];
}
