enum Colour { RED, GREEN = 5, BLUE = -2 };
enum class Mode : unsigned char { idle = 1, busy = 2 };
struct Flags { unsigned a : 3; int b : 5; unsigned c : 24; bool on : 1; };
struct Base { int id; };
struct Shape : Base { float w, h; __device__ float area() const { float s = w * h; return s; } };
template <typename T, int N> struct Box {
  T items[N];
  __device__ T sum() { T t = 0; for (int i = 0; i < N; i++) t += items[i]; return t; }
};
struct Node { int value; Node *next; };
union Bits { float f; unsigned u; unsigned char b[4]; };
typedef unsigned long long u64t;
namespace ns { struct P { double x; short s[2][3]; }; __device__ int twist(int &v, const P *p) { v += (int)p->s[1][2]; return v * 2; } }
__device__ int gtable[4] = {9, 8, 7, 6};
__device__ __noinline__ double scale(double d, u64t k, char c, bool flag) {
  double r = d * (double)k;
  if (flag) r += c;
  return r;
}
extern "C" __global__ void many_types(float *out, ns::P big, int n, signed char tiny) {
  int t = threadIdx.x;
  Colour col = t & 1 ? GREEN : BLUE;
  Mode mode = t > 3 ? Mode::busy : Mode::idle;
  Flags fl; fl.a = t & 7; fl.b = -3; fl.c = 0x123456; fl.on = t & 1;
  Shape sh; sh.id = t; sh.w = 1.5f; sh.h = (float)t;
  Box<int, 3> box; box.items[0] = t; box.items[1] = 2; box.items[2] = n;
  Node b{2, nullptr}, a{1, &b};
  Node *p = &a; Node **pp = &p;
  Bits u; u.f = 1.0f;
  int m[2][3] = {{1, 2, 3}, {4, 5, t}};
  char name[8] = "abc";
  u64t wide = 0x1122334455667788ULL + t;
  float4 v = make_float4(1, 2, 3, t);
  short sm = -7; unsigned char uc = 250;
  auto lam = [&](int q) { return q + n; };
  int k = lam(t);
  int tw = ns::twist(k, &big);
  float ar = sh.area();
  double sc = scale(2.5, wide & 0xff, 'A', t & 1);
  bool odd = (t & 1) != 0;
  out[t] = ar + sc + tw + box.sum() + (*pp)->next->value + u.b[3] + m[1][2] + name[1] + v.w + sm + uc + (int)col + (int)mode + fl.c + tiny + (odd ? 1 : 0) + gtable[t & 3] + big.x;
  out[t] += sm + uc + (int)col + (int)mode + wide + tw + k + ar + odd;
}
