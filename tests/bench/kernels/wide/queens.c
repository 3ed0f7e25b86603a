// the same steps, with the same rows in memory
static int placings(unsigned a, unsigned b, int n)
{
    unsigned free[12], left[12], right[12], columns[12], all = (1u << n) - 1;
    int count = 0, row = 2;
    columns[2] = a | b;
    left[2] = (a << 1 | b) << 1;
    right[2] = (a >> 1 | b) >> 1;
    free[2] = all & ~(columns[2] | left[2] | right[2]);
    while (row >= 2) {
        unsigned place = free[row] & -free[row];
        if (!place) {
            row--;
            continue;
        }
        free[row] ^= place;
        if (row == n - 1) {
            count++;
            continue;
        }
        columns[row + 1] = columns[row] | place;
        left[row + 1] = (left[row] | place) << 1;
        right[row + 1] = (right[row] | place) >> 1;
        row++;
        free[row] = all & ~(columns[row] | left[row] | right[row]);
    }
    return count;
}
void queens(int *restrict counts, int n)
{
    for (int i = 0; i < n * n; i++) {
        unsigned a = 1u << i / n, b = 1u << i % n;
        counts[i] = b & (a | a << 1 | a >> 1) ? 0 : placings(a, b, n);
    }
}
