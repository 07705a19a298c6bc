// Breadth-first search with a queue: the parent of each vertex, -1 for those that are not reached.
#include <stdint.h>

void bfs(const int64_t *restrict offsets, const int32_t *restrict neighbours,
         int32_t *restrict parents, int32_t *restrict queue, int64_t n, int64_t root)
{
    for (int64_t v = 0; v < n; v++)
        parents[v] = -1;
    int64_t head = 0, tail = 0;
    parents[root] = root;
    queue[tail++] = root;
    while (head < tail) {
        int32_t v = queue[head++];
        for (int64_t e = offsets[v]; e < offsets[v + 1]; e++) {
            int32_t w = neighbours[e];
            if (parents[w] < 0) {
                parents[w] = v;
                queue[tail++] = w;
            }
        }
    }
}
