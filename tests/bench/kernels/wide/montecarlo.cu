/* Points of a square that lie in a circle, from a xorshift generator for each thread. */
KERNEL montecarlo(GLOBAL int *inside, int threads, int points)
{
    unsigned state = (unsigned)IX * 2654435761u + 12345u;
    int count = 0;
    for (int k = 0; k < points; k++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        int x = (int)(state & 32767), y = (int)(state >> 15 & 32767);
        count += x * x + y * y < 1073676289;
    }
    if (IX < threads)
        inside[IX] = count;
}
