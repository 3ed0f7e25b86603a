void bins(const unsigned short *restrict in, int *restrict counts, int n)
{
    for (int i = 0; i < n; i++)
        counts[in[i]]++;
}
