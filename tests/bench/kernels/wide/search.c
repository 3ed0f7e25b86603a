void search(const unsigned char *restrict text, const unsigned char *restrict word,
            int *restrict found, int n)
{
    int count = 0;
    for (int i = 0; i <= n - 8; i++) {
        int k = 0;
        while (k < 8 && text[i + k] == word[k])
            k++;
        count += k == 8;
    }
    *found += count;
}
