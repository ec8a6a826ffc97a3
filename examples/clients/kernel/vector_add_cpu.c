/* The CPU version of vector_add, for softacl. */
#include <softacl/kernel.h>

/* The parameters of the kernel, in order. */
struct arguments {
    const float *x, *y;
    float *z;
    uint32_t count;
};

static int run(const softaclLaunch *launch, uint32_t block)
{
    const struct arguments *a = (const struct arguments *)launch->arguments;
    const float *x = (const float *)softaclView(launch, a->x, a->count * sizeof(float));
    const float *y = (const float *)softaclView(launch, a->y, a->count * sizeof(float));
    float *z = (float *)softaclView(launch, a->z, a->count * sizeof(float));
    if (x == NULL || y == NULL || z == NULL) {
        return 507035; /* what a vector core reports for an address that is not there */
    }
    uint32_t per_block = (a->count + launch->blockCount - 1) / launch->blockCount;
    for (uint32_t i = block * per_block; i < a->count && i < (block + 1) * per_block; i++) {
        z[i] = x[i] + y[i];
    }
    return 0;
}

/* What a launch reads and writes: the checker judges it like a copy. */
static size_t ranges(const softaclLaunch *launch, softaclRange *ranges, size_t capacity)
{
    const struct arguments *a = (const struct arguments *)launch->arguments;
    size_t size = a->count * sizeof(float);
    const softaclRange all[] = {
        {(void *)a->x, size, SOFTACL_READ},
        {(void *)a->y, size, SOFTACL_READ},
        {a->z, size, SOFTACL_WRITE},
    };
    for (size_t i = 0; i < 3 && i < capacity; i++) {
        ranges[i] = all[i];
    }
    return 3;
}

static const uint32_t sizes[] = {8, 8, 8, 4};
static const softaclKernel kernels[] = {{"vector_add", 0, run, ranges, sizes, 4}};
SOFTACL_KERNEL_LIBRARY(kernels)
