// A dot product, and the maximum segment sum (the empty segment counts, with sum 0).
#include <math.h>
#include <omp.h>
#include <stdint.h>

float dot(const float *restrict x, const float *restrict y, int64_t n)
{
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t i = 0; i < n; i++)
        total += x[i] * y[i];
    return total;
}

float dot_parallel(const float *restrict x, const float *restrict y, int64_t n)
{
    float total = 0;
#pragma omp parallel for simd reduction(+ : total) schedule(static)
    for (int64_t i = 0; i < n; i++)
        total += x[i] * y[i];
    return total;
}

// Kadane: the best sum that ends here, and the best so far
float segment_sum(const float *restrict x, int64_t n)
{
    float here = 0, best = 0;
    for (int64_t i = 0; i < n; i++) {
        here = fmaxf(here + x[i], 0);
        best = fmaxf(best, here);
    }
    return best;
}

typedef struct { float best, prefix, suffix, total; } Segment;

static Segment summary(const float *restrict x, int64_t n)
{
    Segment s = {0, 0, 0, 0};
    for (int64_t i = 0; i < n; i++) {
        s.suffix = fmaxf(s.suffix + x[i], 0);
        s.best = fmaxf(s.best, s.suffix);
        s.total += x[i];
        s.prefix = fmaxf(s.prefix, s.total);
    }
    return s;
}

static Segment joined(Segment a, Segment b)
{
    Segment s;
    s.best = fmaxf(fmaxf(a.best, b.best), a.suffix + b.prefix);
    s.prefix = fmaxf(a.prefix, a.total + b.prefix);
    s.suffix = fmaxf(b.suffix, a.suffix + b.total);
    s.total = a.total + b.total;
    return s;
}

float segment_sum_parallel(const float *restrict x, int64_t n)
{
    int count = omp_get_max_threads();
    Segment parts[count];
#pragma omp parallel for schedule(static, 1)
    for (int t = 0; t < count; t++)
        parts[t] = summary(x + n * t / count, n * (t + 1) / count - n * t / count);
    Segment whole = {0, 0, 0, 0};
    for (int t = 0; t < count; t++)
        whole = joined(whole, parts[t]);
    return whole.best;
}
