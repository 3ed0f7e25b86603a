/* softmax(q k' / sqrt(32)) v for rows of 32, a query for each thread, keys by tiles of 64. */
KERNEL attention(GLOBAL const float *q, GLOBAL const float *k, GLOBAL const float *v,
                 GLOBAL float *out, int n)
{
    LOCAL float tk[64][32], tv[64][32];
    float mine[32], acc[32], most = -1e30f, total = 0;
    for (int d = 0; d < 32; d++) {
        mine[d] = q[IX * 32 + d] * 0.17677669f;
        acc[d] = 0;
    }
    for (int tile = 0; tile < n; tile += 64) {
        for (int e = LX; e < 64 * 32; e += 64) {
            tk[e / 32][e % 32] = k[tile * 32 + e];
            tv[e / 32][e % 32] = v[tile * 32 + e];
        }
        SYNC;
        for (int j = 0; j < 64; j++) {
            float score = 0;
            for (int d = 0; d < 32; d++)
                score += mine[d] * tk[j][d];
            float next = score > most ? score : most;
            float old = EXP(most - next), p = EXP(score - next);
            total = total * old + p;
            for (int d = 0; d < 32; d++)
                acc[d] = acc[d] * old + p * tv[j][d];
            most = next;
        }
        SYNC;
    }
    for (int d = 0; d < 32; d++)
        out[IX * 32 + d] = acc[d] / total;
}
