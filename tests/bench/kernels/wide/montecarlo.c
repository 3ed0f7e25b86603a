void montecarlo(int *restrict inside, int threads, int points)
{
    for (int i = 0; i < threads; i++) {
        unsigned state = (unsigned)i * 2654435761u + 12345u;
        int count = 0;
        for (int k = 0; k < points; k++) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            int x = (int)(state & 32767), y = (int)(state >> 15 & 32767);
            count += x * x + y * y < 1073676289;
        }
        inside[i] = count;
    }
}
