/*
 * A host function that stands for a kernel.
 *
 * softacl has no AI cores. To test the code around a kernel (what is uploaded and downloaded, and in
 * which order), launch a host function where the kernel would be launched. It runs in stream order,
 * and softaclHostView returns an address through which the host may access device memory.
 *
 * This is the only example that needs softacl. In your program, put the launch into one function,
 * like launch_scale() here, and launch the real kernel there when you build for a card.
 */
#include "common.h"
#include "softacl/softacl.h"

#define COUNT 10000

struct scale { /* must stay valid until the task has run, like the arguments of any queued work */
    void *device;
    size_t count;
    float factor;
    aclError code;
};

static void scale_kernel(void *argument)
{
    struct scale *task = argument;
    void *view = NULL;
    task->code = softaclHostView(task->device, task->count * sizeof(float), &view);
    if (task->code != ACL_SUCCESS) {
        return; /* like a kernel, it cannot return an error; the launcher checks the code later */
    }
    for (size_t i = 0; i < task->count; i++) {
        ((float *)view)[i] *= task->factor;
    }
}

static void launch_scale(struct scale *task, aclrtStream stream)
{
    CHECK(aclrtLaunchHostFunc(stream, scale_kernel, task));
}

int main(void)
{
    const size_t size = COUNT * sizeof(float);
    float *up, *down;
    void *device;
    aclrtStream stream;

    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
    CHECK(aclrtMalloc(&device, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMallocHost((void **)&up, size));
    CHECK(aclrtMallocHost((void **)&down, size));
    for (size_t i = 0; i < COUNT; i++) {
        up[i] = (float)i;
        down[i] = -1;
    }

    struct scale twice = {device, COUNT, 2, ACL_SUCCESS};
    struct scale first_half = {device, COUNT / 2, 4, ACL_SUCCESS};
    CHECK(aclrtMemcpyAsync(device, size, up, size, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    launch_scale(&twice, stream);
    launch_scale(&first_half, stream);
    CHECK(aclrtMemcpyAsync(down, size, device, size, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(twice.code);
    CHECK(first_half.code);
    for (size_t i = 0; i < COUNT; i++) {
        VERIFY(down[i] == (float)i * (i < COUNT / 2 ? 8 : 2));
    }

    /* A view must be within the allocation. */
    void *view = NULL;
    VERIFY(softaclHostView(device, size + 1, &view) == ACL_ERROR_RT_PARAM_INVALID);
    printf("08_simulated_kernel: %d floats processed by two kernels on softacl %s\n", COUNT,
           softaclVersion());

    CHECK(aclrtFreeHost(down));
    CHECK(aclrtFreeHost(up));
    CHECK(aclrtFree(device)); /* invalidates the view */
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
