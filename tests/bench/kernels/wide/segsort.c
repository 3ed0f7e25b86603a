void segsort(const unsigned *restrict in, unsigned *restrict out, int n)
{
    for (int i = 0; i < n; i += 256)
        for (int t = 0; t < 256; t++) {
            unsigned key = in[i + t];
            int rank = 0;
            for (int k = 0; k < t; k++)
                rank += in[i + k] <= key;
            for (int k = t; k < 256; k++)
                rank += in[i + k] < key;
            out[i + rank] = key;
        }
}
