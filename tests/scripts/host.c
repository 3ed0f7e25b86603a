/* What gdb runs while its answers are recorded: strings want a program that is alive. */
int main(void) { return 0; }
