/*
 * launch.h - the three things that differ between nvcc and the emulation, in every .cu file.
 *
 * All kernels are plain CUDA C but for these macros: nvcc makes them what CUDA spells with <<< >>> and __shared__;
 * the host's C++ compiler, with kernels/emulation/ before it, makes them calls into the emulation.
 *
 *     LAUNCH(kernel, grid, block, shared_bytes, stream, args...);   grid and block: dim3 or int
 *     SHARED(float, tile, [32][33]);                                an array of the block; SHARED(int, last, ); one value
 *     SHARED_DYNAMIC(float, room);                                  float *room: the launch's shared_bytes
 *
 * A template with several arguments takes parentheses: LAUNCH((kernel<16, 4>), ...). A launch that cannot be says so
 * through cudaGetLastError, as ever.
 */
#ifndef RINGSIDE_KERNELS_LAUNCH_H
#define RINGSIDE_KERNELS_LAUNCH_H

#ifdef KERNELS_EMULATED

/* The arguments go by value, as a launch's do. */
#define LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                                               \
    emulation::launch(#kernel, (grid), (block), (shared_bytes), (stream),                                    \
                      [=](auto... arguments) { kernel(arguments...); } __VA_OPT__(, ) __VA_ARGS__)

/* One array a block, whoever asks: known by the address of a variable that only this line has. */
#define SHARED(type, name, dims)                                                                             \
    auto &name = emulation::shared<type dims>([]() -> const void * {                                         \
        static const char line = 0;                                                                          \
        return &line;                                                                                        \
    }())

#define SHARED_DYNAMIC(type, name) type *const name = static_cast<type *>(emulation::shared_dynamic())

#else

#define LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                                               \
    kernel<<<(grid), (block), (shared_bytes), (stream)>>>(__VA_ARGS__)

/* Loads of 16 bytes may begin where an array does. */
#define SHARED(type, name, dims) __shared__ __align__(16) type name dims

#define SHARED_DYNAMIC(type, name)                                                                           \
    extern __shared__ __align__(16) unsigned char launch_shared_dynamic[];                                   \
    type *const name = reinterpret_cast<type *>(launch_shared_dynamic)

#endif

#endif
