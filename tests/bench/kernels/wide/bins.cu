/* How often each of 65,536 numbers occurs. */
KERNEL bins(GLOBAL const unsigned short *in, GLOBAL int *counts, int n)
{
    if (IX < n)
        ADD(&counts[in[IX]], 1);
}
