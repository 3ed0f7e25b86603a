//! {"kernel":"bit_classes","block":[96],"grid":[2],"args":[["buf","u32",192,"iota"],["buf","u32",192,"zero"]]}
struct Head { unsigned ver : 4; unsigned len : 12; signed off : 7; bool last : 1; };
struct Base { int id; unsigned char kind : 3; unsigned char : 2; unsigned char more : 3; };
struct Mid : Base { long long big : 40; unsigned long long rest : 24; short tail; };
struct Other { float weight; unsigned mask : 31; unsigned sign : 1; };
struct Full : Mid, Other { int own; Head head; };
enum Color { RED = 1, GREEN = 2, BLUE = 4 };
enum class Mode : unsigned char { idle, busy = 7, dead = 200 };
struct Tagged { Color c : 4; Mode m : 8; int v : 20; };
static __device__ __noinline__ unsigned fold(const Full &f, Tagged *t)
{
    unsigned r = f.kind + f.more * 8 + f.head.len;
    r += t->v;
    r ^= (unsigned)f.big;
    return r;
}
extern "C" __global__ void bit_classes(const unsigned *in, unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
    Full f;
    f.id = -(int)i;
    f.kind = i;
    f.more = i >> 1;
    f.big = -1000000007ll * i;
    f.rest = 0xabcdef * i;
    f.tail = -7;
    f.weight = i * 0.25f;
    f.mask = i * 77777u;
    f.sign = i & 1;
    f.own = v;
    f.head.ver = 9;
    f.head.len = i * 33;
    f.head.off = -(int)(i & 31);
    f.head.last = i > 40;
    Tagged t;
    t.c = (i & 1) ? BLUE : RED;
    t.m = (i & 2) ? Mode::dead : Mode::busy;
    t.v = -(int)i * 5;
    Color both = (Color)(RED | BLUE);
    Mode mode = t.m;
    unsigned r = fold(f, &t);
    f.head.len += 1;
    out[i] = r + both + (unsigned)mode + f.head.len;
}
