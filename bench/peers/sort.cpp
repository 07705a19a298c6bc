// The C++ standard library's parallel sorts; libstdc++ runs them on TBB.
#include <algorithm>
#include <cstdint>
#include <execution>
#include <vector>

template <class T> static void sorted(const T *x, T *y, std::int64_t n)
{
    std::copy(std::execution::par, x, x + n, y);
    std::sort(std::execution::par, y, y + n);
}

extern "C" void sort_par_u32(const std::uint32_t *x, std::uint32_t *y, std::int64_t n)
{
    sorted(x, y, n);
}

extern "C" void sort_par_f32(const float *x, float *y, std::int64_t n)
{
    sorted(x, y, n);
}

struct Pair { std::uint32_t key, value; };

// Pairs are made and taken apart here, too: the library sorts one array.
extern "C" void sort_pairs_par(const std::uint32_t *keys, const std::uint32_t *values,
                               std::uint32_t *keys_out, std::uint32_t *values_out, std::int64_t n)
{
    static std::vector<Pair> pairs;
    pairs.resize(n);
    for (std::int64_t i = 0; i < n; i++)
        pairs[i] = {keys[i], values[i]};
    std::stable_sort(std::execution::par, pairs.begin(), pairs.end(),
                     [](const Pair &a, const Pair &b) { return a.key < b.key; });
    for (std::int64_t i = 0; i < n; i++) {
        keys_out[i] = pairs[i].key;
        values_out[i] = pairs[i].value;
    }
}
