// Twenty elementwise operations in one loop, as rows/chain.py has them.
#include <math.h>
#include <stdint.h>

static inline double chain_of(double x)
{
    double t = x * 1.25;
    t = t + 0.5;
    t = fabs(t);
    t = fmin(t, 4.0);
    t = t * t;
    t = t - x;
    t = fmax(t, -2.0);
    t = t * 0.75;
    t = t + x;
    t = fabs(t);
    t = t * x;
    t = t - 0.25;
    t = fmin(t, 8.0);
    t = t * t;
    t = t + x;
    t = fmax(t, 0.5);
    t = t * 0.125;
    t = t - x;
    t = fabs(t);
    return t + 1.0;
}

void chain(const double *restrict x, double *restrict y, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = chain_of(x[i]);
}

void chain_parallel(const double *restrict x, double *restrict y, int64_t n)
{
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; i++)
        y[i] = chain_of(x[i]);
}
