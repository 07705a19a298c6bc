// What memory gives here and now: the floor of every row is its bytes at one of these two rates.
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

// from ==> to, past the caches; both 64-byte aligned, bytes a multiple of 256
static void copy_part(char *restrict to, const char *restrict from, int64_t bytes)
{
#if defined(__AVX512F__)
    for (int64_t i = 0; i < bytes; i += 256) {
        __m512i a = _mm512_load_si512(from + i), b = _mm512_load_si512(from + i + 64);
        __m512i c = _mm512_load_si512(from + i + 128), d = _mm512_load_si512(from + i + 192);
        _mm512_stream_si512((void *)(to + i), a);
        _mm512_stream_si512((void *)(to + i + 64), b);
        _mm512_stream_si512((void *)(to + i + 128), c);
        _mm512_stream_si512((void *)(to + i + 192), d);
    }
    _mm_sfence();
#elif defined(__SSE2__)
    for (int64_t i = 0; i < bytes; i += 64) {
        const __m128i *source = (const __m128i *)(from + i);
        __m128i *target = (__m128i *)(to + i);
        for (int part = 0; part < 4; part++)
            _mm_stream_si128(target + part, _mm_load_si128(source + part));
    }
    _mm_sfence();
#else
    memcpy(to, from, bytes);
#endif
}

#define BLOCK (1 << 20)

static int64_t length(int64_t block, int64_t bytes)
{
    return (block + 1) * BLOCK <= bytes ? BLOCK : bytes - block * BLOCK;
}

// blocks are claimed, not dealt out: a core that somebody else uses too takes fewer
void copy_stream(char *restrict to, const char *restrict from, int64_t bytes)
{
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < (bytes + BLOCK - 1) / BLOCK; i++)
        copy_part(to + i * BLOCK, from + i * BLOCK, length(i, bytes));
}

static uint64_t sum_part(const uint64_t *from, int64_t count)
{
    uint64_t total = 0;
    for (int64_t i = 0; i < count; i++)
        total += from[i];
    return total;
}

uint64_t read_sum(const char *from, int64_t bytes)
{
    uint64_t total = 0;
#pragma omp parallel for reduction(+ : total) schedule(dynamic)
    for (int64_t i = 0; i < (bytes + BLOCK - 1) / BLOCK; i++)
        total += sum_part((const uint64_t *)(from + i * BLOCK), length(i, bytes) / 8);
    return total;
}
