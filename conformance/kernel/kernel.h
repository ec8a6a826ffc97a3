/*
 * A kernel for the programs of this topic: multiplies and adds, over memory of the device.
 */
#ifndef CONFORMANCE_KERNEL_H
#define CONFORMANCE_KERNEL_H

#include <softacl/softacl.h>

struct scale {
    uint32_t *cells;
    size_t count;
    uint32_t factor, summand;
};

static int released; /* arguments that were released */

static inline void release_scale(void *argument)
{
    free(argument);
    __atomic_fetch_add(&released, 1, __ATOMIC_SEQ_CST);
}

static inline int run_scale(void *argument)
{
    const struct scale *scale = (const struct scale *)argument;
    void *view = NULL;
    if (softaclHostView(scale->cells, scale->count * 4, &view) != ACL_SUCCESS) {
        return 507015;
    }
    uint32_t *cells = (uint32_t *)view;
    for (size_t i = 0; i < scale->count; i++) {
        cells[i] = cells[i] * scale->factor + scale->summand;
    }
    return 0;
}

/* Queues cells = cells * factor + summand. */
static inline aclError launch_scale(aclrtStream stream, uint32_t *cells, size_t count, uint32_t factor, uint32_t summand)
{
    struct scale *scale = (struct scale *)malloc(sizeof *scale);
    *scale = (struct scale){cells, count, factor, summand};
    softaclRange range = {cells, count * 4, SOFTACL_READ | SOFTACL_WRITE};
    return softaclLaunchKernel(stream, run_scale, scale, release_scale, &range, 1, "scale");
}

#endif
