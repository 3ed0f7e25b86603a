/* Placings of n queens whose first two stand where the thread says; rows are tried one by one. */
KERNEL queens(GLOBAL int *counts, int n)
{
    unsigned free[12], left[12], right[12], columns[12];
    int first = IX / n, second = IX % n, count = 0, row = 2;
    unsigned all = (1u << n) - 1, a = 1u << first, b = 1u << second;
    if (IX >= n * n)
        return;
    if (!(b & (a | a << 1 | a >> 1))) {
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
    }
    counts[IX] = count;
}
