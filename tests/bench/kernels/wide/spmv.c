void spmv(const int *restrict starts, const int *restrict columns, const float *restrict values,
          const float *restrict x, float *restrict y, int rows)
{
    for (int row = 0; row < rows; row++) {
        float sum = 0;
        for (int k = starts[row]; k < starts[row + 1]; k++)
            sum += values[k] * x[columns[k]];
        y[row] = sum;
    }
}
