#include <math.h>
void attention(const float *restrict q, const float *restrict k, const float *restrict v,
               float *restrict out, int n)
{
    for (int i = 0; i < n; i++) {
        float acc[32] = {0}, most = -1e30f, total = 0;
        for (int j = 0; j < n; j++) {
            float lanes[32], score = 0;
            for (int d = 0; d < 32; d++)
                lanes[d] = q[i * 32 + d] * 0.17677669f * k[j * 32 + d];
            for (int d = 0; d < 32; d++)
                score += lanes[d];
            float next = score > most ? score : most;
            float old = expf(most - next), p = expf(score - next);
            total = total * old + p;
            for (int d = 0; d < 32; d++)
                acc[d] = acc[d] * old + p * v[j * 32 + d];
            most = next;
        }
        for (int d = 0; d < 32; d++)
            out[i * 32 + d] = acc[d] / total;
    }
}
