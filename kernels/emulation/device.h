/*
 * device.h - CUDA C for the host's C++ compiler, which is given this file before every .cu file.
 *
 * What a kernel may write is here: its qualifiers, indices, barriers, shuffles, votes, atomic operations and the
 * functions of CUDA's device library that C++ does not have; launches and shared memory through kernels/launch.h.
 * A fault a kernel makes is found by the rest of the emulation (emulation.h).
 */
#ifndef RINGSIDE_KERNELS_EMULATION_DEVICE_H
#define RINGSIDE_KERNELS_EMULATION_DEVICE_H

#include "kernels/emulation/cuda_runtime_api.h"
#include "kernels/emulation/machine.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <type_traits>

/* As an argument of a launch it must be known to be a pointer. */
#undef NULL
#define NULL nullptr

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

/* --- vectors --- */

#define EMULATION_VECTORS(type, name)                                                                        \
    struct alignas(2 * sizeof(type)) name##2                                                                 \
    {                                                                                                        \
        type x, y;                                                                                           \
    };                                                                                                       \
    struct name##3                                                                                           \
    {                                                                                                        \
        type x, y, z;                                                                                        \
    };                                                                                                       \
    struct alignas(sizeof(type) < 8 ? 4 * sizeof(type) : 16) name##4                                         \
    {                                                                                                        \
        type x, y, z, w;                                                                                     \
    };                                                                                                       \
    inline name##2 make_##name##2(type x, type y)                                                            \
    {                                                                                                        \
        return {x, y};                                                                                       \
    }                                                                                                        \
    inline name##3 make_##name##3(type x, type y, type z)                                                    \
    {                                                                                                        \
        return {x, y, z};                                                                                    \
    }                                                                                                        \
    inline name##4 make_##name##4(type x, type y, type z, type w)                                            \
    {                                                                                                        \
        return {x, y, z, w};                                                                                 \
    }
EMULATION_VECTORS(float, float)
EMULATION_VECTORS(double, double)
EMULATION_VECTORS(int, int)
EMULATION_VECTORS(unsigned, uint)
EMULATION_VECTORS(short, short)
EMULATION_VECTORS(unsigned short, ushort)
EMULATION_VECTORS(signed char, char)
EMULATION_VECTORS(unsigned char, uchar)
#undef EMULATION_VECTORS

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};

/* --- launches --- */

#define threadIdx emulation_here.thread
#define blockIdx emulation_here.block
#define blockDim emulation_here.block_dim
#define gridDim emulation_here.grid_dim

inline constexpr int warpSize = 32;

namespace emulation
{

/* The arguments are copied, as a launch copies them: all threads read the one copy. */
template <class Call, class... Arguments>
void launch(const char *kernel, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, Call call,
            Arguments... arguments)
{
    struct {
        Call call;
        std::tuple<Arguments...> arguments;
    } all{call, {arguments...}};
    struct emulation_launch l = {kernel,
                                 {grid.x, grid.y, grid.z},
                                 {block.x, block.y, block.z},
                                 shared_bytes,
                                 [](const void *p) {
                                     auto *a = static_cast<const decltype(all) *>(p);
                                     std::apply(a->call, a->arguments);
                                 },
                                 &all,
                                 sizeof all,
                                 stream};
    emulation_launch(&l);
}

template <class T> T &shared(const void *tag)
{
    return *static_cast<T *>(emulation_shared(tag, sizeof(T), alignof(T)));
}

inline void *shared_dynamic()
{
    return emulation_shared_dynamic();
}

template <class T> uint64_t bits_of(T value)
{
    static_assert(sizeof(T) <= 8, "a shuffle takes at most 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class T> T from_bits(uint64_t bits)
{
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

inline int lane()
{
    unsigned linear = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    return (int)(linear % 32);
}

template <class T> T take(struct emulation_site at, unsigned mask, T value, int lane)
{
    return from_bits<T>(emulation_warp(at, WARP_TAKE, mask, bits_of(value), lane));
}

} // namespace emulation

/* --- barriers, shuffles, votes. Each knows from where it is called. --- */

#define EMULATION_AT(what)                                                                                   \
    emulation_site                                                                                           \
    {                                                                                                        \
        what, file, line                                                                                     \
    }
#define EMULATION_FROM const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(EMULATION_FROM)
{
    emulation_barrier(EMULATION_AT("__syncthreads"), 0, BARRIER_COUNT);
}

inline int __syncthreads_count(int predicate, EMULATION_FROM)
{
    return emulation_barrier(EMULATION_AT("__syncthreads_count"), predicate, BARRIER_COUNT);
}

inline int __syncthreads_and(int predicate, EMULATION_FROM)
{
    return emulation_barrier(EMULATION_AT("__syncthreads_and"), predicate, BARRIER_AND);
}

inline int __syncthreads_or(int predicate, EMULATION_FROM)
{
    return emulation_barrier(EMULATION_AT("__syncthreads_or"), predicate, BARRIER_OR);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, EMULATION_FROM)
{
    emulation_warp(EMULATION_AT("__syncwarp"), WARP_SYNC, mask, 0, 0);
}

inline unsigned __activemask()
{
    return emulation_warp_here();
}

/* The lanes a shuffle of this width reaches are those of one section; beyond its end a lane keeps its own value. */
template <class T> T __shfl_sync(unsigned mask, T value, int lane, int width = 32, EMULATION_FROM)
{
    int first = emulation::lane() & ~(width - 1);
    return emulation::take(EMULATION_AT("__shfl_sync"), mask, value, first + (lane & (width - 1)));
}

template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, EMULATION_FROM)
{
    int own = emulation::lane(), from = own - (int)delta;
    return emulation::take(EMULATION_AT("__shfl_up_sync"), mask, value,
                           from < (own & ~(width - 1)) ? own : from);
}

template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, EMULATION_FROM)
{
    int own = emulation::lane(), from = own + (int)delta;
    return emulation::take(EMULATION_AT("__shfl_down_sync"), mask, value,
                           from > (own | (width - 1)) ? own : from);
}

template <class T> T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, EMULATION_FROM)
{
    int own = emulation::lane(), from = own ^ lane_mask;
    return emulation::take(EMULATION_AT("__shfl_xor_sync"), mask, value,
                           from > (own | (width - 1)) ? own : from);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, EMULATION_FROM)
{
    return (unsigned)emulation_warp(EMULATION_AT("__ballot_sync"), WARP_BALLOT, mask, predicate != 0, 0);
}

inline int __any_sync(unsigned mask, int predicate, EMULATION_FROM)
{
    return emulation_warp(EMULATION_AT("__any_sync"), WARP_BALLOT, mask, predicate != 0, 0) != 0;
}

inline int __all_sync(unsigned mask, int predicate, EMULATION_FROM)
{
    return emulation_warp(EMULATION_AT("__all_sync"), WARP_BALLOT, mask, predicate == 0, 0) == 0;
}

inline void __threadfence()
{
}

inline void __threadfence_block()
{
}

/* --- atomic operations. One thread runs at a time, so there is nothing to guard. --- */

/* Told to the one that looks at accesses as what it is, so its own load and store are not looked at. */
template <class T, class Change>
__attribute__((noinline, no_sanitize("thread"))) T emulation_change(T *address, Change change)
{
    emulation_atomic(address, sizeof *address);
    T old = *address;
    *address = change(old);
    return old;
}

#define EMULATION_ATOMIC(name, result)                                                                       \
    template <class T> T name(T *address, std::type_identity_t<T> value)                                     \
    {                                                                                                        \
        return emulation_change(address, [=](T old) -> T { return result; });                                \
    }
EMULATION_ATOMIC(atomicAdd, old + value)
EMULATION_ATOMIC(atomicSub, old - value)
EMULATION_ATOMIC(atomicMax, old > value ? old : value)
EMULATION_ATOMIC(atomicMin, old < value ? old : value)
EMULATION_ATOMIC(atomicAnd, old &value)
EMULATION_ATOMIC(atomicOr, old | value)
EMULATION_ATOMIC(atomicXor, old ^ value)
EMULATION_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
EMULATION_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef EMULATION_ATOMIC

template <class T> T atomicExch(T *address, std::type_identity_t<T> value)
{
    return emulation_change(address, [=](T) -> T { return value; });
}

template <class T> T atomicCAS(T *address, std::type_identity_t<T> expected, std::type_identity_t<T> value)
{
    return emulation_change(address, [=](T old) -> T { return old == expected ? value : old; });
}

/* --- the device library, where C++ has no function of that name --- */

template <class A, class B> constexpr std::common_type_t<A, B> min(A a, B b)
{
    return a < b ? a : b;
}

template <class A, class B> constexpr std::common_type_t<A, B> max(A a, B b)
{
    return a > b ? a : b;
}

template <class T> T __ldg(const T *address)
{
    return *address;
}

template <class T> T __ldcs(const T *address)
{
    return *address;
}

template <class T> void __stcs(T *address, std::type_identity_t<T> value)
{
    *address = value;
}

inline float rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}

inline double rsqrt(double x)
{
    return 1.0 / sqrt(x);
}

inline float __saturatef(float x)
{
    return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x;
}

inline float fdividef(float a, float b)
{
    return a / b;
}

inline int __float_as_int(float x)
{
    return emulation::from_bits<int>(emulation::bits_of(x));
}

inline unsigned __float_as_uint(float x)
{
    return emulation::from_bits<unsigned>(emulation::bits_of(x));
}

inline float __int_as_float(int x)
{
    return emulation::from_bits<float>(emulation::bits_of(x));
}

inline float __uint_as_float(unsigned x)
{
    return emulation::from_bits<float>(emulation::bits_of(x));
}

inline long long __double_as_longlong(double x)
{
    return emulation::from_bits<long long>(emulation::bits_of(x));
}

inline double __longlong_as_double(long long x)
{
    return emulation::from_bits<double>(emulation::bits_of(x));
}

inline int __float2int_rn(float x)
{
    return (int)nearbyintf(x);
}

inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}

inline int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}

inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((unsigned long long)a * b >> 32);
}

inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

#endif
