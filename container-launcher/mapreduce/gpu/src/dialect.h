/* The C that kernels are written in, as OpenCL C and as CUDA C.
 *
 *   KERNEL(name)(...)   begins a kernel
 *   GLOBAL              stands before pointers to the device's memory
 *   SHARED              stands before arrays of a group, at a kernel's outermost level alone
 *   BARRIER             waits for all threads of the group, which must all come there
 *   THREAD              the number of the thread, of all groups, as ulong
 *   LOCAL, GROUP        its number in its group, and the group's
 *   FMA(a, b, c)        a * b + c of floats, rounded once
 *   ADD(pointer, n)     adds to an int or uint of the device's memory, as one step
 *
 * Indices that may exceed 32 bits are ulong. There are no templates and no shuffles inside of a warp. What is not FMA
 * is rounded at each step.
 */
#ifdef __OPENCL_VERSION__
#pragma OPENCL FP_CONTRACT OFF
#define KERNEL(name) __kernel void name
#define GLOBAL __global
#define SHARED __local
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define THREAD ((ulong)get_global_id(0))
#define LOCAL ((uint)get_local_id(0))
#define GROUP ((uint)get_group_id(0))
#define FMA(a, b, c) fma((float)(a), (float)(b), (float)(c))
#define ADD(pointer, n) atomic_add(pointer, n)
#else
typedef unsigned char uchar;
typedef unsigned int uint;
typedef unsigned long long ulong;
#define KERNEL(name) extern "C" __global__ void name
#define GLOBAL
#define SHARED __shared__
#define BARRIER __syncthreads()
#define THREAD ((ulong)blockIdx.x * blockDim.x + threadIdx.x)
#define LOCAL ((uint)threadIdx.x)
#define GROUP ((uint)blockIdx.x)
#define FMA(a, b, c) fmaf(a, b, c)
#define ADD(pointer, n) atomicAdd(pointer, n)
#endif
#line 1
