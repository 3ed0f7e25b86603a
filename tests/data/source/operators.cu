//! {"kernel":"operators","block":[32],"args":[["buf","f64",64,"iota"],["buf","f64",64,"zero"]]}
class Matrix {
    double m[2][2];
    int ops;
public:
    __device__ __noinline__ Matrix(double a, double b, double c, double d) : ops(0)
    {
        m[0][0] = a;
        m[0][1] = b;
        m[1][0] = c;
        m[1][1] = d;
    }
    __device__ __noinline__ Matrix operator*(const Matrix &o) const
    {
        Matrix r(0, 0, 0, 0);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) {
                double s = 0;
                for (int k = 0; k < 2; k++) {
                    s += m[i][k] * o.m[k][j];
                }
                r.m[i][j] = s;
            }
        r.ops = ops + o.ops + 1;
        return r;
    }
    __device__ __noinline__ double det() const
    {
        double d = m[0][0] * m[1][1];
        d -= m[0][1] * m[1][0];
        return d;
    }
    __device__ __noinline__ static int parts(int n)
    {
        int q = n * 4;
        return q;
    }
    __device__ __noinline__ int count() { ops++;
        return ops; }
};
struct Counter {
    int n;
    Counter *self;
    __device__ __noinline__ int operator()(int by)
    {
        n += by;
        return n;
    }
};
extern "C" __global__ void operators(const double *in, double *out)
{
    int i = threadIdx.x;
    Matrix a(in[i], 1, 2, 3);
    Matrix b(0.5, i, -1, 4);
    Matrix c = a * b;
    double d = c.det();
    int q = Matrix::parts(i);
    int n = c.count();
    Counter k = {i, nullptr};
    k.self = &k;
    int r = k(5);
    r += (*k.self)(2);
    out[i] = d + q;
    out[i + 32] = n + r;
}
