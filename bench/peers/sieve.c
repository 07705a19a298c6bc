// How many primes there are below n: a byte for each number, nothing left out.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int64_t sieve(int64_t n)
{
    if (n < 3)
        return 0;
    uint8_t *prime = malloc(n);
    memset(prime, 1, n);
    prime[0] = prime[1] = 0;
    for (int64_t p = 2; p * p < n; p++)
        if (prime[p])
            for (int64_t k = p * p; k < n; k += p)
                prime[k] = 0;
    int64_t count = 0;
    for (int64_t k = 0; k < n; k++)
        count += prime[k];
    free(prime);
    return count;
}
