// Values added to the bins that their indices name.
#include <stdint.h>
#include <string.h>

void add_at(const int64_t *restrict at, const float *restrict x, float *restrict y, int64_t n,
            int64_t bins)
{
    memset(y, 0, bins * sizeof *y);
    for (int64_t i = 0; i < n; i++)
        y[at[i]] += x[i];
}
