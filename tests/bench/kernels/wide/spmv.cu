/* A sparse matrix in compressed rows times a vector, a row for each thread. */
KERNEL spmv(GLOBAL const int *starts, GLOBAL const int *columns, GLOBAL const float *values,
            GLOBAL const float *x, GLOBAL float *y, int rows)
{
    int row = IX;
    if (row >= rows)
        return;
    float sum = 0;
    for (int k = starts[row]; k < starts[row + 1]; k++)
        sum += values[k] * x[columns[k]];
    y[row] = sum;
}
