"""Host code of a .cu file is found, blanked and reported; device code stays as it was."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudbg.errors import CompileError
from gpudbg.formats.cubin import read_cubin
from gpudbg.formats.lines import read_lines
from gpudbg.formats.names import plain_name
from gpudbg.toolchain.compile import compile_cuda
from gpudbg.toolchain.hostcode import device_macros, split, template_kernels
from gpudbg.toolchain.options import CompileOptions

WHOLE = """\
#include <vector>
#define KERNEL extern "C" __global__
#define CHECK(x) do { if (x) return 1; } while (0)
// int comment() { }
namespace util {
  static __device__ int twice(int a) { return 2 * a; }
  std::vector<int> make(int n) { return std::vector<int>(n); }
}
struct Pair { int a, b; int sum() const { return a + b; } };
__constant__ float table[2] = { 1.0f, 2.0f };
constexpr int limit(int a) { return a + 1; }
template <int N, typename T = int> __global__ void scale(T *p) { p[threadIdx.x] *= N; }
KERNEL void add(int *p) { p[threadIdx.x] += util::twice(3); }
const char *text = "int fake() { }  <<<";
template <typename T>
void run(T *p) { add<<<1, 32>>>(p); }
extern "C" {
  int old(void) { return 1; }
  __global__ void kept(int *p) { *p = 1; }
}
int main(int argc, char **argv) {
  scale<4><<<1, 32>>>(nullptr);
  CHECK(argc); return 0;
}
"""


def test_functions_launches_and_instances() -> None:
    found = split(WHOLE)
    assert found.functions == (("make", 7), ("run", 15), ("old", 18), ("main", 21))
    assert found.launches == (16, 22)
    assert found.instances == ("scale < 4 >",)


def test_blanking_keeps_lines_and_device_code() -> None:
    found = split(WHOLE)
    assert len(found.device) == len(WHOLE)
    assert found.device.count("\n") == WHOLE.count("\n")
    for word in (
        "int twice",
        "struct Pair",
        "table[2]",
        "limit",
        "scale(T *p)",
        "void add",
        "kept",
    ):
        assert word in found.device
    for gone in ("make", "run(", "old(", "main"):
        assert gone not in found.device


@pytest.mark.parametrize(
    "text",
    [
        "__global__ void k(int *p) { *p = 1; }",
        '__device__ int f() { return R"x(})" [0]; }',
        "struct A { int x; } a;\n__device__ int g(A a) { return a.x; }",
        "enum Kind { ONE, TWO };\nunion U { int i; float f; };",
        "int table[] = { 1, 2, 3 };",
        "typedef struct { int (*call)(int); } Ops;",
        "#define PAIR(a) { a, a }\n__constant__ int t[2] = PAIR(1);",
        "#define DEV \\\n  __device__\nDEV int f() { return 1; }",
        "int forward(int);",
        "",
    ],
)
def test_device_only_files_are_left_alone(text: str) -> None:
    found = split(text)
    assert found.device == text
    assert found.functions == ()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("int main() { return 0; }", "main"),
        ("static inline float f(float a, int b = (1)) { return a; }", "f"),
        ("template <class T> T big(T a) { struct { int x; } s; return a; }", "big"),
        ("void A::method(int n) { }", "method"),
        ("bool operator==(const A &a, const A &b) { return true; }", "="),
    ],
)
def test_host_functions(text: str, name: str) -> None:
    found = split(text)
    assert found.device.strip() == ""
    assert [n for n, _ in found.functions] == [name]


@given(st.text(alphabet="ab(){}[];<>=#\"'/*\\\n ,:", max_size=200))
def test_any_text_keeps_its_shape(text: str) -> None:
    found = split(text)
    assert len(found.device) == len(text)
    assert re.sub(r"[^\n]", "", found.device) == re.sub(r"[^\n]", "", text)


def test_declarations_that_no_word_makes_device_ones() -> None:
    text = (
        "int host_variable;\n"
        "__device__ int device_variable;\n"
        "struct Both { int a; __device__ int twice() { return 2 * a; } };\n"
        "struct Host { std::string name; };\n"
        "void prototype(FILE *);\n"
        "HD int f();\n"
    )
    found = split(text, {"HD"})
    assert [text[a:b] for a, b in found.declarations] == [
        "int host_variable;",
        "struct Host { std::string name; };",
        "void prototype(FILE *);",
    ]
    assert device_macros("#define A __device__\n#define B inline A\n#define C 3\n", {"Z"}) == {
        "A",
        "B",
        "Z",
    }


def test_names_of_template_kernels() -> None:
    text = (
        "template <typename T, int N>\n__global__ void __launch_bounds__(64) one(T *p) {}\n"
        "template <class T> __device__ T no(T a) { return a; }\n__global__ void plain() {}\n"
        "template<int N> static __global__ void two() {}\n"
    )
    assert template_kernels(text) == ["one", "two"]


INDENTED = """\
#ifndef G_H
#define G_H
  #if _WIN32
    #include <windows.h>
    typedef HANDLE Thread;
  #else
    typedef pthread_t Thread;
  #endif
Thread start(int n);
#endif
struct __align__(8) Pair { float a, b; };
"""


def test_indented_directives_belong_to_no_declaration() -> None:
    found = split(INDENTED)
    declared = [INDENTED[a:b] for a, b in found.declarations]
    assert declared[:3] == [
        "typedef HANDLE Thread;",
        "typedef pthread_t Thread;",
        "Thread start(int n);",
    ]
    assert not any("#" in text for text in declared)


def test_an_aligned_type_is_no_function() -> None:
    assert split(INDENTED).functions == ()


@pytest.mark.parametrize("first", ["int main() {", "int main() { {"])
def test_branches_that_open_the_same_brackets_count_once(first: str) -> None:
    text = f"#if A\n{first}\n#elif B\n{first}\n#else\n{first}\n#endif\n"
    text += "}" * first.count("{") + "\n__global__ void k() {}\n"
    found = split(text)
    assert found.functions == (("main", 2),)
    assert "__global__ void k() {}" in found.device


def test_conditions_and_macros_inside_host_code_stay() -> None:
    text = "int main() {\n#define N 4\n#include <x.h>\n/*\n#if 0\n*/\n}\n"
    assert [line for line in split(text).device.split("\n") if line.strip()] == ["#define N 4"]


def test_constants_of_the_host_function_name_an_instance() -> None:
    """Those before the launch, of the same function, whatever they are made of."""
    text = """template <int N, int M, int K> __global__ void k() {}
void other() { const int N = 1; }
int main() {
  const int M = 4, N = M / 2;
  constexpr unsigned K(3);
  int late = 5;
  k<N, M, late><<<1, 1>>>();
  const int later = 7;
}
"""
    assert split(text).instances == ("k < ((4) / 2) , (4) , late >",)
    doubled = "".join(f"const int c{n + 1} = c{n} + c{n};" for n in range(60))
    text = f"void f() {{ const int c0 = 1; {doubled} k<c60><<<1, 1>>>(); }}"
    assert len(split(text).instances[0]) < 50000


DEDUCED = """
template <typename T, int N> struct Times {
    __device__ T operator()(T a) const { return a * N; }
};
template <typename T, typename F>
__global__ void __launch_bounds__(64) apply(T *out, const T *in, int n, F f) {
    int i = threadIdx.x;
    if (i < n) out[i] = f(in[i]);
}
template <typename T> __global__ void scale(T *x, T by) { x[threadIdx.x] *= by; }
template <int B, typename T> __global__ void pick(const T *x, T *o) { *o = x[B]; }
template <typename... Ts> __global__ void many(Ts... all) {}
namespace ns { template <typename T> __global__ void inside(T *x) { *x = 0; } }
void run(float *d, unsigned int n) {
    double *e = nullptr, *f = e;
    float small[4];
    auto g = d;
    apply<<<1, 32>>>(d, small, n - 1, Times<float, 3>());
    scale<<<dim3(1), dim3(32), 0, 0>>>(f, 2.0);
    pick<7><<<1, 1>>>(d, d + 1);
    pick<7, float><<<1, 1>>>(d, d + 1);
    scale<<<1, 1>>>(g, 1.0f);
    scale<<<1, 1>>>(unknown, 1.0f);
}
"""


def test_what_launches_leave_to_be_deduced() -> None:
    """Types are those of the host function's declarations; what nobody knows is left out."""
    found = split(DEDUCED).deduced
    types = [re.findall(r"decltype\((.*?)\)>::type>", name) for name in found.instances]
    assert [name.partition("(")[0] for name in found.instances] == [
        "gpudbg_launch_apply",
        "gpudbg_launch_scale",
        "gpudbg_launch_pick<7>",
        "gpudbg_launch_scale",
    ]
    assert types[0] == [
        "gpudbg_lvalue<float *>()",
        "gpudbg_lvalue<float *>()",
        "gpudbg_lvalue<unsigned int>() - 1",
        "Times < float , 3 > ( )",
    ]
    assert types[1] == ["gpudbg_lvalue<double *>()", "2.0"]
    assert "{ return &many<Ts...>; }" in found.helpers
    assert "namespace ns { template < typename T >" in found.helpers


NAMED = """#include <cuda.h>
#include <cstdint>
#include <vector>
enum class Mode { one, two };
template <Mode M> __global__ void moded(int *p) { *p = (int)M; }
template <int N> __global__ void sized(const __grid_constant__ CUtensorMap map, std::size_t *p) {
  *p = map.opaque[N] + INT8_MAX;
}
typedef void (*Kernel)(int *);
Kernel chosen(int n) { return n ? moded<Mode::one> : moded<Mode::two>; }
void launch(cudaLaunchConfig_t *c, CUtensorMap &m, std::size_t *p) {
  cudaLaunchKernelEx(c, sized<3>, m, p);
}
"""


def test_kernels_that_are_named_without_a_launch() -> None:
    """By their address, or as an argument of a launching function; without `<<<`."""
    cubin = compile_cuda(NAMED, "named.cu", CompileOptions(arch="sm_90")).cubin
    names = {plain_name(name) for name in read_cubin(cubin).kernels}
    assert names == {"_Z5modedIL4Mode0EEvPi", "_Z5modedIL4Mode1EEvPi", "sized<3>"}


def test_deduced_kernels_compile() -> None:
    cubin = compile_cuda(
        DEDUCED.replace("unknown", "nothing"), "deduced.cu", CompileOptions()
    ).cubin
    names = {plain_name(name) for name in read_cubin(cubin).kernels}
    assert names == {
        "apply<float, Times<float, 3>>",
        "scale<double>",
        "scale<float>",
        "pick<7, float>",
    }


WRAPPERS = """
#include <vector>
#define FOR_EACH(kernel, n, ...) \\
    do { kernel<<<((n) + 63) / 64, 64>>>(__VA_ARGS__); } while (0)
namespace img { namespace detail {
template <typename T, typename U> __global__ void convert(const T *in, U *out, int n, U by) {
    int i = threadIdx.x; if (i < n) out[i] = U(in[i]) * by;
}
template <typename T, int R> __global__ void blur(const T *in, T *out) { *out = in[R]; }
}
template <typename T> void convert(const T *in, float *out, int n, cudaStream_t s = 0) {
    FOR_EACH(detail::convert, n, in, out, n, 2.f);
}
template <int R, typename T> void blur(const T *i, T *o) { detail::blur<T, R><<<1, 1>>>(i, o); }
}
template <typename T, typename F> __global__ void map(T *p, F f) { *p = f(*p); }
template <typename T, typename F> void each(T *p, F f) { map<<<1, 1>>>(p, f); }
template <typename T, typename F> void twice(T *p, F f) { each(p, f); each(p, f); }
template <typename... Ts> __global__ void all(float *o, Ts... v) { *o = (0.f + ... + float(v)); }
template <typename... Ts> void sum(float *o, Ts... v) { all<<<1, 1>>>(o, v...); }
template <typename T> __global__ void texel(const T t, float *o) { *o = t[0]; }
struct Texture {
    cudaTextureObject_t t;
    __device__ float operator[](int i) const { return tex1Dfetch<float>(t, i); }
};
template <typename T> void texels(const T &t, float *o) { texel<<<1, 1>>>(t, o); }
template <typename T> void nowhere(const Host<T> &h, T *p) { each(p, h.f); }
template <typename T> struct Add { T by; __device__ T operator()(T x) const { return x + by; } };
template void twice(double *p, Add<double> f);
int main() {
    std::vector<float> host(4);
    unsigned char *pixels;
    float *d, a = 2;
    auto n = static_cast<int>(host.size());
    auto scaled = [=] __device__ (float x) {
        return x * a;
    };
    Texture t{};
    img::convert(pixels, d, n);
    img::blur<3>(host.data(), d);
    each(d, scaled);
    twice<float>(d, [] __device__ (float x) { return x + 1; });
    sum(d, 1, 2.0);
    texels(t, d);
    nowhere(host, d);
}
"""


def test_launches_through_templates_of_the_host() -> None:
    """In namespaces, through one another, by macros, with lambdas and members of host types."""
    program = read_cubin(compile_cuda(WRAPPERS, "wrappers.cu", CompileOptions()).cubin)
    names = {plain_name(name) for name in program.kernels}
    lambdas = {name for name in names if "lambda" in name}
    assert names - lambdas == {
        "img::detail::convert<unsigned char, float>",
        "img::detail::blur<float, 3>",
        "map<double, Add<double>>",
        "_Z3allIJidEEvPfDpT_",
        "texel<Texture>",
    }
    assert len(lambdas) == 2
    line = WRAPPERS[: WRAPPERS.index("return x * a")].count("\n") + 1
    assert line in read_lines(program).lines_with_code("wrappers.cu")


def test_a_template_that_is_a_parameter() -> None:
    """`main` behind such a kernel is host code, and the launch is deduced, too."""
    text = """template <typename T> struct Sum { static const T none = T(0); };
template <typename T, template <typename> class Op = Sum> __global__ void k(T *x) {
    x[0] = Op<T>::none;
}
int main() { int *x; k<<<1, 1>>>(x); }
"""
    assert [name for name, _ in split(text).functions] == ["main"]
    made = compile_cuda(text, "parameter.cu", CompileOptions())
    assert {plain_name(name) for name in read_cubin(made.cubin).kernels} == {"k<int, Sum>"}


def test_headers_of_tensor_cores_are_found() -> None:
    """`mma.h` includes one of another wheel."""
    text = "#include <mma.h>\n__global__ void k(nvcuda::wmma::layout_t *x) {}"
    made = compile_cuda(text, "mma.cu", CompileOptions(arch="sm_80"))
    assert read_cubin(made.cubin).kernels


@given(st.text(alphabet="<>(),;{}*& \ntTx1", max_size=120))
def test_any_launch_is_read(text: str) -> None:
    split(
        f"template <typename T> __global__ void k(T *x) {{}}\nvoid f() {{ k<<<1, 1>>>({text}); }}"
    )


TEMPLATE_HOSTS = """
template <typename T, int N> __global__ void tile(T *x) { x[threadIdx.x] = N; }
template <typename T, unsigned M = 2> void launch(T *x) {
    constexpr unsigned int WIDTH{4U * M};
    tile<T, WIDTH><<<1, 32>>>(x);
}
template void launch<float>(float *);
template void launch<unsigned short, 3>(unsigned short *);
void run(double *x) { if (1 < 2 && launch > 0) launch<double, 5>(x); launch<float>(x); }
"""


def test_launches_of_template_functions_of_the_host() -> None:
    """Their parameters are what explicit instantiations and calls say."""
    found = split(TEMPLATE_HOSTS).instances
    assert found == (
        "tile < float , (4U * M) >",
        "tile < unsigned short , (4U * 3) >",
        "tile < double , (4U * 5) >",
    )
    cubin = compile_cuda(TEMPLATE_HOSTS, "hosts.cu", CompileOptions()).cubin
    names = {plain_name(name) for name in read_cubin(cubin).kernels}
    assert names == {"tile<float, 8>", "tile<unsigned short, 12>", "tile<double, 20>"}


MEMBERS = """
template <typename T, int B> __global__ void axpy(T *y, T a, int n) { y[threadIdx.x] += a * B; }
template <typename T> __global__ void fill(T *x, T v, int n) { x[threadIdx.x] = v; }
namespace deep {
template <typename T, int N = 4> class Runner {
  public: T scale; Runner() {}
  void go(T *out, int n);
  void both(T *out) { axpy<T, N><<<1, 32>>>(out, scale, 32); }
  private: T *own; };
template <typename U, int M> void Runner<U, M>::go(U *out, int n) {
  axpy<U, 64><<<1, 64>>>(out, scale, n);
  fill<<<1, 32>>>(own, scale, n);
}
}
struct Plain { int *p; void go(int n); };
void Plain::go(int n) { fill<<<1, 32>>>(p, 3, n); }
class Quiet { int *p; int get() { return *p; } };
int main() {
  deep::Runner<float> r; r.go(nullptr, 3);
  deep::Runner<double, 8> q; q.both(nullptr);
  Plain a; a.go(3);
}
"""


def test_launches_of_member_functions_of_the_host() -> None:
    """Members' types are in the class, template arguments where the class is named."""
    cubin = compile_cuda(MEMBERS, "members.cu", CompileOptions()).cubin
    names = {plain_name(name).removeprefix("void ") for name in read_cubin(cubin).kernels}
    assert {name.partition("(")[0] for name in names} == {
        "axpy<float, 64>",
        "axpy<float, 4>",
        "axpy<double, 64>",
        "axpy<double, 8>",
        "fill<float>",
        "fill<double>",
        "fill<int>",
    }


def test_why_no_instance_compiles_where_a_newer_architecture_has_one() -> None:
    text = """
    template <typename T> __global__ void sum(T *x) { atomicAdd(x, x[1]); }
    typedef double ft;
    int main() { ft *p; sum<<<1, 32>>>(p); }
    """
    with pytest.raises(CompileError, match=r"no instance .* compiles\n--arch sm_61 compiles it"):
        compile_cuda(text, "sum.cu", CompileOptions())
    assert read_cubin(compile_cuda(text, "sum.cu", CompileOptions(arch="sm_61")).cubin).kernels
