#include <math.h>
void layernorm(const float *restrict in, const float *restrict gain, const float *restrict bias,
               float *restrict out, int rows)
{
    for (int row = 0; row < rows; row++) {
        const float *v = in + row * 512;
        float lanes[2][16] = {{0}}, sum = 0, squares = 0;
        for (int k = 0; k < 512; k += 16)
            for (int j = 0; j < 16; j++) {
                lanes[0][j] += v[k + j];
                lanes[1][j] += v[k + j] * v[k + j];
            }
        for (int j = 0; j < 16; j++) {
            sum += lanes[0][j];
            squares += lanes[1][j];
        }
        float mean = sum / 512, scale = 1.0f / sqrtf(squares / 512 - mean * mean + 1e-5f);
        for (int c = 0; c < 512; c++)
            out[row * 512 + c] = (v[c] - mean) * scale * gain[c] + bias[c];
    }
}
