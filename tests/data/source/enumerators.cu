//! {"kernel":"enumerators","block":[32],"args":[["buf","i32",64,"iota"],["buf","i32",64,"zero"],["i32",3]]}
enum Color { RED, GREEN = 5, BLUE };
enum class Mode : unsigned char { idle, busy = 7, done = 200 };
enum Bits { NONE = 0, A = 1, B = 2, C = 4, D = 8 };
namespace cfg { enum Level { low = -1, mid, high }; const int limit = 12; }
__device__ __noinline__ int pick(Color c, int k)
{
    int r = 0;
    switch (c) {
    case RED:
        r = k + 1;
        break;
    case GREEN:
        r = k * 2;
    case BLUE:
        r += 100;
        break;
    default:
        r = -1;
    }
    return r;
}
__device__ __noinline__ Mode next(Mode m)
{
    Mode n = Mode::idle;
    if (m == Mode::idle)
        n = Mode::busy;
    else if (m == Mode::busy)
        n = Mode::done;
    return n;
}
extern "C" __global__ void enumerators(const int *in, int *out, int n)
{
    int i = threadIdx.x;
    Color c = (Color)(i % 3 == 0 ? RED : i % 3 == 1 ? GREEN : BLUE);
    Color odd = (Color)77;
    Mode m = Mode::idle;
    m = next(m);
    m = next(m);
    Bits flags = (Bits)(A | C);
    Bits most = (Bits)(i & 15);
    cfg::Level lv = (cfg::Level)((i % 3) - 1);
    int total = 0;
    int k = 0;
    do {
        total += pick(c, k);
        if (total > 1000)
            goto done;
        k++;
    } while (k < n);
    for (int a = 0, b = 10; a < b; a += 3, --b) {
        if (a == 3) {
            total += 1;
            continue;
        }
        total += a * b;
    }
done:
    out[i] = total + (int)m + flags + most + lv;
    out[i + 32] = k + odd;
}
