/**
 * @file kernel.h
 * CPU versions of kernels. A kernel binary contains machine code of the chip, which softacl cannot run. A kernel library
 * provides the same kernels, by name, as C functions; programs that load and launch the binary then run unmodified.
 *
 *     #include <softacl/kernel.h>
 *
 *     struct Args { float *x, *y; uint64_t n; };     // the parameters of the kernel, in order
 *
 *     static int add_run(const softaclLaunch *launch, uint32_t block)
 *     {
 *         const struct Args *a = launch->arguments;
 *         const float *x = softaclView(launch, a->x, a->n * sizeof(float));
 *         float *y = softaclView(launch, a->y, a->n * sizeof(float));
 *         if (x == NULL || y == NULL) return 507035;
 *         uint64_t per = (a->n + launch->blockCount - 1) / launch->blockCount;
 *         for (uint64_t i = block * per; i < a->n && i < (block + 1) * per; i++) y[i] += x[i];
 *         return 0;
 *     }
 *
 *     static size_t add_ranges(const softaclLaunch *launch, softaclRange *ranges, size_t capacity)
 *     {
 *         const struct Args *a = launch->arguments;
 *         softaclRange all[] = {{a->x, a->n * sizeof(float), SOFTACL_READ},
 *                               {a->y, a->n * sizeof(float), SOFTACL_READ | SOFTACL_WRITE}};
 *         for (size_t i = 0; i < 2 && i < capacity; i++) ranges[i] = all[i];
 *         return 2;
 *     }
 *
 *     static const uint32_t add_sizes[] = {8, 8, 8};
 *     static const softaclKernel kernels[] = {{"add_custom", 0, add_run, add_ranges, add_sizes, 3}};
 *     SOFTACL_KERNEL_LIBRARY(kernels)
 *
 *     gcc -shared -fPIC -O2 kernels.c -o libmykernels.so
 *     softacl run --kernels ./libmykernels.so -- ./app
 */
#ifndef SOFTACL_KERNEL_H_
#define SOFTACL_KERNEL_H_

#include "softacl/softacl.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Version of these structs. */
#define SOFTACL_KERNEL_VERSION 1

/** One launch of a kernel. */
typedef struct softaclLaunch {
    uint32_t blockCount;
    /** The parameters, one after another, each aligned to its size. Pointers among them are device addresses. */
    const void *arguments;
    size_t argumentsSize;
    /** See softaclView. */
    void *(*view)(const struct softaclLaunch *launch, const void *ptr, size_t size);
} softaclLaunch;

/** A kernel. */
typedef struct softaclKernel {
    /** The name that aclrtBinaryGetFunction looks up. */
    const char *name;
    /** The number that aclrtBinaryGetFunctionByEntry looks up; 0 for none. */
    uint64_t entry;
    /** Runs one block. Returns 0, or the code with which the launch fails. The blocks of a launch run one after another. */
    int (*run)(const softaclLaunch *launch, uint32_t block);
    /**
     * Declares what a launch reads and writes. Returns the number of ranges, and writes the first `capacity` of them.
     * Called when the kernel is launched. NULL: nothing is known, and the checker cannot judge the launch.
     */
    size_t (*ranges)(const softaclLaunch *launch, softaclRange *ranges, size_t capacity);
    /** Sizes of the parameters in bytes; required for launches with an array of pointers to the parameters. */
    const uint32_t *parameterSizes;
    size_t parameterCount;
} softaclKernel;

/** What a kernel library exports, through SOFTACL_KERNEL_LIBRARY. */
typedef struct softaclKernelLibrary {
    uint32_t version;
    const softaclKernel *kernels;
    size_t kernelCount;
} softaclKernelLibrary;

/**
 * Adds kernels at run time, for a program or a test that contains its own. Copies the array, not the strings and sizes it
 * points to. The kernel that was added last wins.
 *
 *   100000   kernels NULL, or a kernel without a name or a function
 */
ACL_FUNC_VISIBILITY aclError softaclRegisterKernels(const softaclKernel *kernels, size_t count);

/** Exports an array of kernels. Use it once in a library. */
#define SOFTACL_KERNEL_LIBRARY(array)                                                                   \
    ACL_FUNC_VISIBILITY const softaclKernelLibrary *softaclGetKernelLibrary(void);                      \
    const softaclKernelLibrary *softaclGetKernelLibrary(void)                                           \
    {                                                                                                   \
        static const softaclKernelLibrary library = {SOFTACL_KERNEL_VERSION, array,                     \
                                                     sizeof(array) / sizeof((array)[0])};               \
        return &library;                                                                                \
    }

/**
 * The host address of `size` bytes that an argument points to: device memory, or data that was passed with the
 * arguments. NULL if they are not inside one live allocation.
 */
static inline void *softaclView(const softaclLaunch *launch, const void *ptr, size_t size)
{
    return launch->view(launch, ptr, size);
}

#ifdef __cplusplus
}
#endif

#endif /* SOFTACL_KERNEL_H_ */
