// Lets g++ compile src/elsv/exact/cuda/lattice.cu: a kernel becomes a loop over all threads, one after the other.
#include <cmath>
using std::fabs;
using std::fmax;
using std::isinf;

struct Dimension { long long x; };
static thread_local Dimension blockIdx, threadIdx, blockDim;

#define __restrict__ __restrict
#define INLINE static inline
#define UNROLL
#define UNROLL_BY(count)
struct double2 { double x, y; };
#define LIST(...) __VA_ARGS__
#define KERNEL(name, parameters, arguments)                                                     \
    static void name##_thread parameters;                                                       \
    extern "C" void name(long long blocks, long long threads, LIST parameters) {                \
        blockDim.x = threads;                                                                   \
        for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)                                 \
            for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++) name##_thread arguments; \
    }                                                                                           \
    static void name##_thread parameters
