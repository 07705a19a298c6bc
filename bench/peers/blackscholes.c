// European call and put; with -ffast-math the loops call libmvec's vector logf, expf and erff.
#include <math.h>
#include <stdint.h>

#define RATE 0.02f
#define VOLATILITY 0.3f

static inline float below(float d) { return 0.5f + 0.5f * erff(d * 0.70710678f); }

#define PRICE(i)                                                                               \
    float root = VOLATILITY * sqrtf(years[i]);                                                 \
    float drift = (RATE + 0.5f * VOLATILITY * VOLATILITY) * years[i];                          \
    float d1 = (logf(spot[i] / strike[i]) + drift) / root;                                     \
    float now = strike[i] * expf(-RATE * years[i]);                                            \
    float value = spot[i] * below(d1) - now * below(d1 - root);                                \
    call[i] = value;                                                                           \
    put[i] = value - spot[i] + now;

void black_scholes(const float *restrict spot, const float *restrict strike,
                   const float *restrict years, float *restrict call, float *restrict put,
                   int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        PRICE(i)
    }
}

void black_scholes_parallel(const float *restrict spot, const float *restrict strike,
                            const float *restrict years, float *restrict call,
                            float *restrict put, int64_t n)
{
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; i++) {
        PRICE(i)
    }
}
