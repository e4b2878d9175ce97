# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random C++ programs of two or three units, for link_cxx.py: each is a handful of features of the language, used by kernels and by
functions between them. The same seed gives the same program.

A feature is a function (rng, n, units) -> (text of the header that every unit has, {unit: text}, [(statement, units that may use
it)]). Statements work on `int x` and `int *o`. Every name a feature makes has its number n in it."""
import random

TYPES = ("char", "short", "int", "float", "double", "long long")
HEAD = "#include <cstdio>\n#include <cassert>\n#ifndef UNIT\n#define UNIT %d\n#endif\n"


def some(rng, units):
    return rng.choice(units)


def template_static(r, n, units):
    t, size = r.choice(TYPES), r.choice((1, 3, 7, 16))
    head = ("template <class T> %s__device__ T tv%d%s;\ntemplate <class T, int N> __device__ T ta%d[N]%s;\n"
            "template <class T, int N> struct TS%d { %s static __device__ __noinline__ T get(int i) { static __device__ T own[N]%s; own[0] += i; "
            "return tv%d<T> + ta%d<T, N>[i %% N] + own[i %% N]; } };\n"
            % (r.choice(("", "", "inline ")), n, r.choice(("", "", " = 3")), n, r.choice(("", " = {1}")), n,
               r.choice(("", "static constexpr int K[4] = {N, 2, 3, 4};")), r.choice(("", " = {2}")), n, n))
    return head, {}, [("x += (int)tv%d<%s>;" % (n, t), units), ("ta%d<%s, %d>[x & 1 ? 0 : %d] = x;" % (n, t, size, size - 1), units),
                      ("x += (int)TS%d<%s, %d>::get(x);" % (n, t, size), units), ("x += (int)tv%d<%s>;" % (n, r.choice(TYPES)), units)]


def virtual(r, n, units):
    u, pure = some(r, units), r.random() < 0.5
    head = ("struct B%d { int a; __device__ B%d(int q) : a(q) {} __device__ virtual int f(int)%s __device__ virtual int g(int q) { return q ^ a; } %s };\n"
            "struct D%d : B%d { __device__ D%d(int q) : B%d(q) {} __device__ int f(int) override; %s };\n__device__ int via%d(B%d *, int);\n"
            % (n, n, " = 0;" if pure else ";", r.choice(("", "__device__ virtual ~B%d() {}" % n)), n, n, n, n,
               r.choice(("", "__device__ int g(int q) override { return q - a; }")), n, n))
    defs = {u: "__device__ int D%d::f(int q) { return q * a; }\n%s__device__ __noinline__ int via%d(B%d *b, int q) { return b->f(q) + b->g(q); }\n"
            % (n, "" if pure else "__device__ int B%d::f(int q) { return q + %d; }\n" % (n, n), n, n)}
    uses = [("{ D%d d(x); x += via%d(&d, x); }" % (n, n), units), ("{ B%d *b = new D%d(x); x += b->g(x); delete b; }" % (n, n), units)]
    if not pure:
        uses.append(("{ B%d b(x); D%d d(x); B%d *q = x & 1 ? &b : &d; x += q->f(x); }" % (n, n, n), units))
    return head, defs, uses


def lambdas(r, n, units):
    head = "template <class F> %s __device__ int apply%d(F f, int q) { %s return f(q) + f(q + 1); }\n" % (
        r.choice(("__noinline__", "inline", "static __noinline__")), n,
        r.choice(("", "__shared__ int lam%d[9]; lam%d[q & 7] = q; __syncthreads(); q += lam%d[3];" % (n, n, n))))
    return head, {}, [("x += apply%d([=](int q) { return q * x + %d; }, x);" % (n, n), units),
                      ("{ int y = x; auto l = [&y](int q) { y += q; return y; }; x += apply%d(l, x); }" % n, units)]


def inline_variable(r, n, units):
    t, kind = r.choice(TYPES), r.choice(("__device__", "__device__", "__constant__", "__managed__"))
    size = r.choice((1, 2, 5, 33))
    start = r.choice(("", "", "{1}")) if kind != "__constant__" else "{1}"
    head = "inline %s %s iv%d[%d]%s;\n" % (kind, t, n, size, start and " = " + start)
    if kind == "__managed__":
        head = head.replace("inline", "static")
    uses = [("x += (int)iv%d[x & %d];" % (n, 0 if size < 2 else 1), units)]
    if kind != "__constant__":
        uses.append(("iv%d[0] = x;" % n, units))
    return head, {}, uses


def variable(r, n, units):
    kind = r.choice(("__device__", "__device__", "__managed__", "__constant__", "__constant__", "__device__ volatile"))
    t, size, u = r.choice(TYPES), r.choice((1, 3, 8, 60)), some(r, units)
    align = r.choice(("", "", "__align__(64) ", "__align__(128) ")) if t == "int" else ""
    linkage = r.choice(("", "", "", "static ", 'extern "C" ', "namespace { "))
    close = " }" if linkage == "namespace { " else ""
    if linkage in ("", 'extern "C" '):
        defs = {v: "extern %s%s %s%s var%d[%d];\n" % ('"C" ' if linkage else "", kind, align, t, n, size) for v in units}
    else:
        defs = {}
    defs[u] = defs.get(u, "") + "%s%s %s%s var%d[%d]%s;%s\n" % (linkage.replace('extern "C" ', ""), kind, align, t, n, size, r.choice(("", " = {1, }", " = {}")), close)
    where = units if linkage in ("", 'extern "C" ') else (u,)
    uses = [("x += (int)var%d[x & %d];" % (n, 0 if size < 8 else 7), where), ("x += (int)var%d[0];" % n, where),
            ("o[1] = (int)(long long)&var%d[%d];" % (n, size - 1), where)]
    if kind != "__constant__":
        uses.append(("var%d[0] = x;" % n, where))
    return "", defs, uses


def function_table(r, n, units):
    u, w = some(r, units), some(r, units)
    kind = r.choice(("__device__", "__constant__", "__device__ const", "__managed__"))
    shared = r.choice(("", "__shared__ int ft%d[8]; ft%d[q & 7] = q; __syncthreads(); q += ft%d[1];" % (n, n, n)))
    if kind in ("__device__ const", "__managed__"):
        kind, w = "__device__", w
    head = "typedef int (*FP%d)(int);\nextern %s FP%d ftab%d[3];\n__device__ int fa%d(int); __device__ int fb%d(int);\n" % (n, kind, n, n, n, n)
    defs = {u: "__device__ int fa%d(int q) { %s return q + %d; }\n" % (n, shared, n)}
    defs[w] = defs.get(w, "") + "__device__ int fb%d(int q) { return q * q; }\nstatic __device__ int fc%d(int q) { return q - 1; }\n" \
        "%s FP%d ftab%d[3] = {fa%d, fb%d, fc%d};\n" % (n, n, kind, n, n, n, n, n)
    return head, defs, [("x += ftab%d[x & 1](x);" % n, units), ("x += fa%d(x);" % n, units),
                        ("{ FP%d p = x > 3 ? fa%d : fb%d; x += p(x); }" % (n, n, n), units)]


def system(r, n, units):
    return "", {}, [('printf("%%d %d\\n", x);' % n, units), ("assert(x != %d);" % n, units), ("{ int *m = (int *)malloc(x); m[0] = x; x += m[1]; free(m); }", units),
                    ("{ int *m = new int[x]; x += m[2]; delete[] m; }", units), ("if (x == %d) __trap();" % n, units), ("o[2] = (int)clock();", units)]


def grid(r, n, units):
    return "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n", {}, [
        ("cg::this_grid().sync();", units), ("{ auto b = cg::this_thread_block(); b.sync(); x += b.size(); }", units),
        ("{ auto t = cg::tiled_partition<8>(cg::this_thread_block()); x += t.shfl_down(x, 1); }", units), ("x += cg::this_grid().thread_rank();", units),
        ("{ auto t = cg::coalesced_threads(); x += t.size(); }", units)]


def texture(r, n, units):
    u = some(r, units)
    head = "extern __constant__ cudaTextureObject_t tx%d; extern __device__ cudaSurfaceObject_t sf%d;\n__device__ float look%d(cudaTextureObject_t, float);\n" % (n, n, n)
    defs = {u: "__constant__ cudaTextureObject_t tx%d; __device__ cudaSurfaceObject_t sf%d;\n__device__ __noinline__ float look%d(cudaTextureObject_t t, float a) "
            "{ return tex1D<float>(t, a) + tex3D<float>(t, a, a, 1); }\n" % (n, n, n)}
    return head, defs, [("x += (int)tex2D<float>(tx%d, x, 2);" % n, units), ("surf2Dwrite(x, sf%d, x, 1);" % n, units), ("x += (int)look%d(tx%d, x);" % (n, n), units)]


def launches(r, n, units):
    u = some(r, units)
    head = "__global__ void child%d(int *, int);\ntemplate <int N> __global__ void tchild%d(int *p) { p[N] = %d; }\n" % (n, n, n)
    defs = {u: "__global__ void child%d(int *p, int q) { p[q] = %d; %s }\n" % (n, n, r.choice(("", "if (q) child%d<<<1, 32>>>(p, q - 1);" % n)))}
    return head, defs, [("child%d<<<1, 32>>>(o, x);" % n, units), ("tchild%d<3><<<x, 32, 64>>>(o);" % n, units), ("child%d<<<1, 2, 0, cudaStreamFireAndForget>>>(o, x);" % n, units)]


def extern_shared(r, n, units):
    t = r.choice(TYPES)
    head = "extern __shared__ %s%s dyn%d[];\n" % (r.choice(("", "__align__(16) ")), t, n)
    return head, {}, [("dyn%d[x & 7] = x; __syncthreads(); x += (int)dyn%d[1];" % (n, n), units), ("x += (int)dyn%d[x + 5];" % n, units),
                      ("o[3] = (int)__cvta_generic_to_shared(&dyn%d[2]);" % n, units)]


def static_shared(r, n, units):
    t, size, u = r.choice(TYPES), r.choice((5, 8, 33)), some(r, units)
    head = ("__device__ int ss%d(int);\ntemplate <class T> __device__ __noinline__ int tss%d(int q) { __shared__ T s[%d]; s[q & 3] = q; __syncthreads(); return (int)s[0]; }\n"
            % (n, n, size + 1))
    defs = {u: "__shared__ %s fs%d[%d];\n__device__ __noinline__ int ss%d(int q) { __shared__ %s s[%d]; s[q & 3] = q; __syncthreads(); return (int)s[q & 1]; }\n"
            % (t, n, size, n, t, size)}
    return head, defs, [("x += ss%d(x);" % n, units), ("x += tss%d<%s>(x);" % (n, t), units), ("fs%d[x & 3] = x; __syncthreads(); x += (int)fs%d[0];" % (n, n), (u,)),
                        ("{ __shared__ %s ks[%d]; ks[x & 3] = x; __syncthreads(); x += (int)ks[2]; }" % (r.choice(TYPES), size), units)]


def local(r, n, units):
    size = r.choice((4, 17, 65))
    head = "struct Big%d { int a[%d]; };\n__device__ Big%d big%d(Big%d, int);\n" % (n, size, n, n, n)
    defs = {some(r, units): "__device__ __noinline__ Big%d big%d(Big%d b, int q) { b.a[q %% %d] = q; return b; }\n" % (n, n, n, size)}
    return head, defs, [("{ Big%d b; for (int q = 0; q < %d; q++) b.a[q] = o[q]; b = big%d(b, x); x += b.a[x %% %d]; }" % (n, size, n, size), units),
                        ("{ int l[%d]; for (int q = 0; q < x; q++) l[q] = o[q]; x += l[x >> 1]; }" % size, units)]


def recursion(r, n, units):
    u, w = some(r, units), some(r, units)
    head = "__device__ int ra%d(int); __device__ int rb%d(int);\n" % (n, n)
    defs = {u: "__device__ __noinline__ int ra%d(int q) { return q < 2 ? q : rb%d(q - 1) + 1; }\n" % (n, n)}
    defs[w] = defs.get(w, "") + "__device__ __noinline__ int rb%d(int q) { %s return q < 3 ? q : ra%d(q - 2); }\n" % (n, r.choice(("", "__shared__ int s[4]; s[q & 3] = q; q += s[1];")), n)
    return head, defs, [("x += ra%d(x);" % n, units), ("x += rb%d(x);" % n, units)]


def several(r, n, units):
    """One weak function that is another one in each unit."""
    head = "inline __device__ __noinline__ int odr%d(int q) {\n#if UNIT == %d\n %s\n#endif\n return q * %d; }\n" % (
        n, some(r, units), r.choice(("static __device__ int c; c += q; q ^= c;", "for (int i = 0; i < q; i++) q += i * q ^ (q >> 3);", "__shared__ int s[7]; s[q & 3] = q; __syncthreads(); q = s[1];",
                                     "int l[20]; for (int i = 0; i < 20; i++) l[i] = q ^ i; q = l[q & 15];",
                                     "switch (q) { case 1: q = 9; break; case 2: q *= 7; break; case 3: q -= 5; break; case 4: q = q * q; break; case 5: q ^= 77; break; case 6: q = sin((float)q); break; }")), n + 2)
    return head, {}, [("x += odr%d(x);" % n, units), ("{ int (*p)(int) = odr%d; if (x) x += p(x); }" % n, units)]


def anonymous(r, n, units):
    defs = {u: "namespace { __device__ int av%d%s; __device__ __noinline__ int af%d(int q) { av%d += q; return av%d * %d; }\n__global__ void ak%d(int *p) { *p = af%d(*p); } }\n"
            % (n, r.choice(("", " = 5")), n, n, n, u + 2, n, n) for u in units}
    return "", defs, [("x += af%d(x);" % n, units), ("x += av%d;" % n, units)]


def switches(r, n, units):
    cases = "".join("case %d: q = %s; break; " % (i, r.choice(("q * 7 + %d", "o[%d]", "q ^ (q >> %d)", "__clz(q) + %d", "q / (o[%d] + 1)")) % i) for i in range(r.choice((6, 9, 14))))
    head = "%s __device__ __noinline__ int sw%d(int q, int *o) { switch (q) { %s } return q; }\n" % (r.choice(("inline", "static")), n, cases)
    return head, {}, [("x += sw%d(x, o);" % n, units)]


def mathematics(r, n, units):
    return "", {}, [("x += (int)sin((double)x);", units), ("x += (int)cosf((float)x);", units), ("x += (int)pow((double)x, 1.5);", units),
                    ("{ long long a = (long long)x * o[1], b = o[2]; x += (int)(a / (b + 1)); }", units), ("x += (int)(1.0 / (double)(x + 1));", units), ("x += (int)sqrtf(x) + (int)fmodf(x, 3.5f);", units)]


def records(r, n, units):
    u = some(r, units)
    head = ("struct R%d { int *p; int (*f)(int); const char *s; const int *c; };\nextern __device__ R%d rec%d[2];\n__device__ int rf%d(int);\n" % (n, n, n, n))
    defs = {u: "__device__ int rt%d[4]; %s__device__ int rf%d(int q) { return q + 1; }\n__device__ R%d rec%d[2] = {{&rt%d[%d], rf%d, \"text%d\", %s}, {rt%d, nullptr, \"%s\", nullptr}};\n"
            % (n, "", n, n, n, n, r.randint(0, 3), n, n, r.choice(("nullptr", "&rt%d[1]" % n)), n, "longer text " * r.randint(1, 4))}
    return head, defs, [("x += *rec%d[x & 1].p;" % n, units), ("x += rec%d[0].f(x);" % n, units), ("x += rec%d[x & 1].s[2];" % n, units)]


def statics(r, n, units):
    head = "inline __device__ __noinline__ int cnt%d(int q) { static __device__ int c%s; static const int k[6] = {1, 4, 9, 16, 25, 36}; return c++ + k[q %% 6]; }\n" % (n, r.choice(("", " = 4")))
    head += "template <int N> __device__ const float ce%d[5] = {N, 2, 3, 4, 5};\n" % n
    return head, {}, [("x += cnt%d(x);" % n, units), ("x += (int)ce%d<%d>[x %% 5];" % (n, r.randint(1, 3)), units)]


def barriers(r, n, units):
    head = "static __device__ __noinline__ void bar%d() { asm volatile(\"bar.sync %d;\"); }\n" % (n, r.randint(1, 14))
    return head, {}, [("bar%d();" % n, units), ('asm volatile("bar.sync %0, 64;" :: "r"(x & 7));', units), ("x += __syncthreads_or(x);", units), ("x += __shfl_xor_sync(~0u, x, 1);", units)]


def generic_kernel(r, n, units):
    head = "template <class T> __global__ void gk%d(T *p, T q) { %s *p = q; }\n" % (n, r.choice(("", "__shared__ T s[9]; s[0] = q; __syncthreads(); q = s[0];")))
    defs = {u: "template __global__ void gk%d<%s>(%s *, %s);\n" % (n, t, t, t) for u in units for t in (r.choice(TYPES),)}
    return head, defs, []


def parameters(r, n, units):
    u = some(r, units)
    head = "struct P%d { int a[%d]; };\n" % (n, r.choice((3, 100, 1000)))
    defs = {u: "__global__ void pk%d(%sP%d p, int *o) { o[0] = p.a[o[1] & 1]; }\n__global__ void __launch_bounds__(%d, 2) lk%d(int *o) { o[0] += %d; }\n"
            % (n, r.choice(("", "const __grid_constant__ ")), n, r.choice((64, 256, 512)), n, n)}
    return head, defs, []


def block(r, n, units):
    t = r.choice(("int", "float", "long long"))
    return "#include <cub/block/block_reduce.cuh>\n#include <cub/block/block_scan.cuh>\n#include <cub/block/block_radix_sort.cuh>\n#include <cub/warp/warp_reduce.cuh>\n", {}, [
        ("{ using R = cub::BlockReduce<%s, 128>; __shared__ typename R::TempStorage t; x = R(t).Sum(x); }" % t, units),
        ("{ using R = cub::BlockScan<int, 64>; __shared__ typename R::TempStorage t; R(t).ExclusiveSum(x, x); }", units),
        ("{ using R = cub::WarpReduce<%s>; __shared__ typename R::TempStorage t[4]; x = R(t[x & 3]).Sum(x); }" % t, units),
        ("{ using R = cub::BlockRadixSort<unsigned, 64, 2>; __shared__ typename R::TempStorage t; unsigned k[2] = {(unsigned)x, 3u}; R(t).Sort(k); x += k[1]; }", units)]


def thrusts(r, n, units):
    head = "#include <thrust/execution_policy.h>\n#include <thrust/sort.h>\n#include <thrust/reduce.h>\n#include <thrust/scan.h>\n#include <thrust/transform.h>\n"
    return head, {}, [("thrust::sort(thrust::seq, o, o + x);", units), ("x += thrust::reduce(thrust::seq, o, o + x, %d);" % n, units),
                      ("thrust::inclusive_scan(thrust::seq, o, o + x, o);", units),
                      ("thrust::transform(thrust::seq, o, o + x, o, [=](int q) { return q * x + %d; });" % n, units)]


def standard(r, n, units):
    head = "#include <cuda/atomic>\n#include <cuda/std/tuple>\n#include <cuda/std/optional>\n#include <cuda/barrier>\n__device__ cuda::atomic<int> *at%d();\n" % n
    defs = {some(r, units): "__device__ cuda::atomic<int> ato%d; __device__ cuda::atomic<int> *at%d() { return &ato%d; }\n" % (n, n, n)}
    return head, defs, [("x += at%d()->fetch_add(x);" % n, units), ("{ cuda::atomic_ref<int, cuda::thread_scope_block> a(o[1]); a.store(x); }", units),
                        ("{ auto t = cuda::std::make_tuple(x, 2.5f); x += (int)cuda::std::get<1>(t); cuda::std::optional<int> q; if (x) q = 3; x += q.value_or(2); }", units),
                        ("{ __shared__ cuda::barrier<cuda::thread_scope_block> b; if (!x) init(&b, 32); __syncthreads(); b.arrive_and_wait(); }", units)]


def halves(r, n, units):
    return "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n", {some(r, units): "__device__ __half2 hh%d[4]; __constant__ __nv_bfloat16 hb%d[3];\n__global__ void hk%d(int *o) { hh%d[o[0] & 3] = __hadd2(hh%d[1], __float2half2_rn(o[1])); o[2] = (int)__bfloat162float(hb%d[o[3] %% 3]); }\n"
                  % (n, n, n, n, n, n)}, [("x += (int)__half2float(__hmul(__float2half(x), __float2half(%d.5f)));" % r.randint(1, 9), units)]


def groups(r, n, units):
    head = "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n#include <cooperative_groups/memcpy_async.h>\n#include <cooperative_groups/scan.h>\n"
    return head, {}, [("{ auto t = cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block()); x = cooperative_groups::reduce(t, x, cooperative_groups::plus<int>()); }", units),
                      ("{ __shared__ int gm[64]; auto b = cooperative_groups::this_thread_block(); cooperative_groups::memcpy_async(b, gm, o, 128); cooperative_groups::wait(b); x += gm[x & 31]; }", units),
                      ("{ auto t = cooperative_groups::coalesced_threads(); x = cooperative_groups::inclusive_scan(t, x); }", units)]


def passed_lambda(r, n, units):
    """A kernel made for a lambda that host code passes."""
    head = "template <class F> __global__ void lk%d(F f, int *o) { o[0] = f(o[1]); }\n" % n
    return head, {some(r, units): "void host%d(int *o, int z) { lk%d<<<1, 32>>>([=] __device__(int q) { return q * z + %d; }, o); }\n" % (n, n, r.randint(1, 99))}, []


def weak_attribute(r, n, units):
    head = "__device__ __attribute__((weak)) int wk%d(int);\n" % n
    defs = {u: "__device__ __attribute__((weak)) __noinline__ int wk%d(int q) { %s return q + %d; }\n"
            % (n, r.choice(("", "__shared__ int s[5]; s[q & 3] = q; __syncthreads(); q = s[2];", "static __device__ int c = 4; q += c++;")), u) for u in units if r.random() < 0.8}
    if r.random() < 0.3 or not defs:
        defs[units[-1]] = "__device__ __noinline__ int wk%d(int q) { return q - 1; }\n" % n
        head = "__device__ int wk%d(int);\n" % n
    if n // 100 % 8:  # nvcc writes them strong: of most programs one stays, so that they are linked at all
        defs = dict(list(defs.items())[:1])
    return head, defs, [("x += wk%d(x);" % n, units)]


def diamond(r, n, units):
    u = some(r, units)
    head = ("struct V%d { int a; __device__ virtual int h(int q) { return q + a; } };\nstruct W%d : virtual V%d { int b; __device__ int h(int q) override { return q * b; } };\n"
            "template <class T> struct X%d : W%d { T c; __device__ int h(int q) override; __device__ virtual T own() { return c; } };\n"
            "template <class T> __device__ int X%d<T>::h(int q) { return (int)c + W%d::h(q); }\n__device__ int dia%d(V%d *, int);\n" % (n, n, n, n, n, n, n, n, n))
    return head, {u: "__device__ __noinline__ int dia%d(V%d *v, int q) { return v->h(q); }\n" % (n, n)}, [
        ("{ X%d<%s> w; w.b = x; w.c = 2; x += dia%d(&w, x) + (int)w.own(); }" % (n, r.choice(TYPES), n), units)]


def pipeline(r, n, units):
    return "#include <cuda_pipeline.h>\n", {}, [("{ __shared__ int pp[64]; __pipeline_memcpy_async(&pp[x & 63], o, 4); __pipeline_commit(); __pipeline_wait_prior(0); x += pp[3]; }", units),
                                                ("{ __shared__ int4 pq[8]; __pipeline_memcpy_async(&pq[x & 7], o, 16); __pipeline_commit(); __pipeline_wait_prior(0); x += pq[3].x; }", units),
                                                ("x += __reduce_add_sync(~0u, x);", units)]


def arrivals(r, n, units):
    head = ("static __device__ __noinline__ int mb%d(int q) { __shared__ unsigned long long b; unsigned a = (unsigned)__cvta_generic_to_shared(&b); unsigned long long s;\n"
            'asm volatile("mbarrier.init.shared.b64 [%%0], %%1;" :: "r"(a), "r"(q));\nasm volatile("mbarrier.arrive.shared.b64 %%0, [%%1];" : "=l"(s) : "r"(a)); return q + (int)s; }\n' % n)
    return head, {}, [("x += mb%d(x);" % n, units)]


def cluster(r, n, units):
    u = some(r, units)
    return "#include <cooperative_groups.h>\n", {u: "__global__ void __cluster_dims__(2, 1, 1) ck%d(int *o) { __shared__ int s[8]; s[1] = *o; auto c = cooperative_groups::this_cluster(); c.sync(); *o = c.map_shared_rank(s, 1)[1]; }\n" % n}, [
        ("{ auto c = cooperative_groups::this_cluster(); c.sync(); x += c.block_rank(); }", units)]


FEATURES = (template_static, template_static, virtual, virtual, lambdas, inline_variable, inline_variable, variable, variable, variable, function_table, function_table, system, grid, texture,
            launches, extern_shared, static_shared, static_shared, local, recursion, several, several, anonymous, switches, mathematics, records, statics, barriers, generic_kernel,
            parameters, passed_lambda, weak_attribute, diamond)
FROM = {80: (pipeline, arrivals), 90: (pipeline, arrivals, cluster)}
SLOW = (block, thrusts, standard, groups, halves)
BASE, SPAN = 2000, 80  # numbers of names of a program begin at a place of its own, so that SPAN programs fit into one file


def program(seed):
    """(the least architecture, options of nvcc, options of ptxas, names of features, [text of a unit])"""
    r = random.Random("cxx %d" % seed)
    slow = seed % 16 == 0
    least = 80 if slow else r.choice((75, 75, 75, 80, 90))
    debug = ("", "-lineinfo")[seed // SPAN % 2] if slow else r.choice(("", "", "", "", "", "", "", "", "-lineinfo", "-lineinfo", "-lineinfo", "-lineinfo", "-G"))
    base = BASE + 100 * (seed % SPAN)
    registers = r.choice(("", "", "", "", "", "-maxrregcount=32", "-maxrregcount=128"))
    units = tuple(range(r.choice((2, 2, 3))))
    pool = FEATURES + FROM.get(least, ()) * 4 + (SLOW * 2 if slow else ())
    chosen = [r.choice(pool) for _ in range(r.randint(2, 7))] + ([r.choice(SLOW)] if slow else [])
    heads, defs, uses = "", {u: "" for u in units}, []
    for n, feature in enumerate(chosen):
        head, own, use = feature(r, base + n, units)
        heads += head
        for u, text in own.items():
            defs[u] += text
        uses += use
    bodies, between = {u: "" for u in units}, []
    for m in range(r.randint(0, 4)):
        u, kind = some(r, units), r.choice(("", "", "static ", "inline "))
        text = " ".join(s for s, where in uses if u in where and r.random() < 2.5 / (len(uses) + 1))
        text += "".join(" x += mid%d(x, o);" % (base + k) for k, v in between if v is None or v == u)
        bodies[u] += "%s__device__ __noinline__ int mid%d(int x, int *o) { %s return x; }\n" % (kind, base + m, text)
        if not kind:
            heads += "__device__ int mid%d(int, int *);\n" % (base + m)
        between.append((m, None if not kind else u))
    for k in range(r.randint(1, 4)):
        u = some(r, units)
        text = " ".join(s for s, where in uses if u in where and r.random() < 3 / (len(uses) + 1))
        text += "".join(" x += mid%d(x, o);" % (base + m) for m, v in between if v in (None, u) and r.random() < 0.5)
        bound = r.choice(("", "", "", "__launch_bounds__(%d) " % r.choice((32, 256, 1024))))
        bodies[u] += "%s__global__ void %skern%d(int *o, int x) { %s o[0] = x; }\n" % (r.choice(("", "", "static ")), bound, base + k, text)
    for u in units:
        bodies[u] += "__global__ void last%d(int *o) { o[%d] = 1; }\n" % (base + u, u) if r.random() < 0.2 else ""
    texts = [HEAD % u + heads + defs[u] + bodies[u] for u in units]
    names = sorted({f.__name__ for f in chosen})
    return least, [debug] if debug else [], ([registers] if registers else []), names, texts
