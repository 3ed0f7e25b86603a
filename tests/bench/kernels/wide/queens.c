static int placings(unsigned all, unsigned columns, unsigned left, unsigned right)
{
    if (columns == all)
        return 1;
    int count = 0;
    for (unsigned free = all & ~(columns | left | right); free; free &= free - 1) {
        unsigned place = free & -free;
        count += placings(all, columns | place, (left | place) << 1, (right | place) >> 1);
    }
    return count;
}
void queens(int *restrict counts, int n)
{
    for (int i = 0; i < n * n; i++) {
        unsigned a = 1u << i / n, b = 1u << i % n;
        counts[i] = b & (a | a << 1 | a >> 1)
            ? 0 : placings((1u << n) - 1, a | b, (a << 1 | b) << 1, (a >> 1 | b) >> 1);
    }
}
