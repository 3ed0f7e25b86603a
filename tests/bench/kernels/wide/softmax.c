#include <math.h>
void softmax(const float *restrict in, float *restrict out, int rows)
{
    for (int row = 0; row < rows; row++) {
        const float *a = in + row * 256;
        float *b = out + row * 256, most = a[0], sum = 0;
        for (int k = 1; k < 256; k++)
            most = a[k] > most ? a[k] : most;
        for (int k = 0; k < 256; k++)
            sum += b[k] = expf(a[k] - most);
        for (int k = 0; k < 256; k++)
            b[k] *= 1.0f / sum;
    }
}
