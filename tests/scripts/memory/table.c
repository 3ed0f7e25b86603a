unsigned char table[64] = {1, 2, 3, 4, 1, 2, 3, 4, 9, 9, 'h', 'e', 'l', 'l', 'o', 0, 1, 0, 0, 0, 2, 0, 0, 0};
int words[8] = {1, 2, 3, 1, 2, 3, 7, -1};
int main(void) { return table[0] + words[1]; }
