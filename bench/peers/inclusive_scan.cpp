// The C++ standard library's parallel scan; libstdc++ runs it on TBB.
#include <cstdint>
#include <execution>
#include <numeric>

extern "C" void inclusive_scan_par(const std::uint32_t *x, std::uint32_t *y, std::int64_t n)
{
    std::inclusive_scan(std::execution::par, x, x + n, y);
}

extern "C" void inclusive_scan_par_unseq(const std::uint32_t *x, std::uint32_t *y, std::int64_t n)
{
    std::inclusive_scan(std::execution::par_unseq, x, x + n, y);
}
