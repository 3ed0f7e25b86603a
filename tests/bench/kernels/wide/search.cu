/* Where a word of 8 letters stands in a text. */
KERNEL search(GLOBAL const unsigned char *text, GLOBAL const unsigned char *word, GLOBAL int *found,
              int n)
{
    int i = IX, k = 0;
    if (i > n - 8)
        return;
    while (k < 8 && text[i + k] == word[k])
        k++;
    if (k == 8)
        ADD(found, 1);
}
