//! {"kernel":"references","block":[32],"args":[["buf","i32",64,"iota"],["buf","i32",64,"zero"]]}
struct View { int &first; const float &k; int *const p; };
struct Deep { struct { int v[2]; } a; int (*arr)[3]; };
__device__ __noinline__ void inc(int &r, int by = 2)
{
    int old = r;
    r += by;
    r = r ^ old;
}
__device__ __noinline__ int through(const View &v)
{
    int s = v.first + *v.p;
    v.first = s;
    s += (int)v.k;
    return s;
}
__device__ __noinline__ int &choose(int &a, int &b, bool w)
{
    int &r = w ? a : b;
    r++;
    return r;
}
__device__ __noinline__ int sum3(int (&a)[3], int const *const *rows)
{
    int s = a[0] + a[1] + a[2];
    s += rows[1][0];
    return s;
}
__device__ __noinline__ void out_params(int *x, int **y, int &&z)
{
    *x = z * 2;
    **y = *x + 1;
    *y = x;
    z = 0;
}
extern "C" __global__ void references(const int *in, int *out)
{
    int i = threadIdx.x;
    int a = i, b = 100 + i;
    inc(a);
    inc(b, 5);
    float k = 2.75f;
    View v = {a, k, &b};
    int t = through(v);
    int &c = choose(a, b, i & 1);
    c += 10;
    int arr[3] = {a, b, c};
    int other[3] = {7, 8, 9};
    const int *rows[2] = {arr, other};
    int s = sum3(arr, rows);
    int x = 1, y = 2;
    int *py = &y;
    out_params(&x, &py, 21);
    Deep d = {{{i, i + 1}}, &arr};
    const int &cr = d.a.v[1];
    out[i] = t + s + c + x;
    out[i + 32] = y + *py + cr;
}
