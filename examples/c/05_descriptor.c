/*
 * Copies with a descriptor: the device reads source, destination and size when the copy runs.
 *
 * The second half rewrites a descriptor while a copy that uses it is queued behind a blocking host
 * function. The copy uses the new contents. This way a late decision, such as which block to evict or
 * to reload, applies to work that was queued early.
 *
 * The 910B, 910C, 950 and 310B have descriptors; on other chips the calls return 207000. Source and
 * destination are on one device, and NULL is not the default stream here.
 */
#include <pthread.h>

#include "common.h"

#define SIZE 4096
#define INNER ACL_MEMCPY_INNER_DEVICE_TO_DEVICE

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int open_gate;

/* A host function. The stream continues when it returns. */
static void wait_for_gate(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    while (!open_gate) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

static void download(const void *device, uint8_t *host)
{
    CHECK(aclrtMemcpy(host, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
}

int main(void)
{
    uint8_t host[SIZE];
    void *source, *first, *second, *desc;
    aclrtStream stream;
    size_t size = 0;

    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    if (aclrtGetMemcpyDescSize(INNER, &size) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT) {
        printf("05_descriptor: %s has no copy descriptors\n", aclrtGetSocName());
        CHECK(aclrtResetDevice(0));
        CHECK(aclFinalize());
        return 0;
    }
    CHECK(aclrtCreateStream(&stream));
    CHECK(aclrtMalloc(&desc, size, ACL_MEM_MALLOC_HUGE_FIRST)); /* device memory, 64-byte aligned */
    CHECK(aclrtMalloc(&source, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMalloc(&first, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMalloc(&second, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    fill_pattern(host, SIZE, 1);
    CHECK(aclrtMemcpy(source, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(aclrtMemset(first, SIZE, 0, SIZE));
    CHECK(aclrtMemset(second, SIZE, 0, SIZE));

    /* Simple use. Unlike in aclrtMemcpy, the source comes before the destination. */
    CHECK(aclrtSetMemcpyDesc(desc, INNER, source, first, SIZE, NULL));
    CHECK(aclrtMemcpyAsyncWithDesc(desc, INNER, stream));
    CHECK(aclrtSynchronizeStream(stream));
    download(first, host);
    VERIFY(has_pattern(host, SIZE, 1));

    /* Queue the descriptor again and change it before the copy runs. */
    CHECK(aclrtMemset(first, SIZE, 0, SIZE));
    CHECK(aclrtLaunchHostFunc(stream, wait_for_gate, NULL));
    CHECK(aclrtMemcpyAsyncWithDesc(desc, INNER, stream));
    CHECK(aclrtSetMemcpyDesc(desc, INNER, source, second, SIZE, NULL)); /* blocks until done */
    pthread_mutex_lock(&lock);
    open_gate = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    CHECK(aclrtSynchronizeStream(stream));

    download(first, host);
    VERIFY(host[0] == 0 && host[SIZE - 1] == 0); /* the old destination is unchanged */
    download(second, host);
    VERIFY(has_pattern(host, SIZE, 1));
    printf("05_descriptor: %zu-byte descriptor, rewritten while its copy was queued\n", size);

    CHECK(aclrtFree(second));
    CHECK(aclrtFree(first));
    CHECK(aclrtFree(source));
    CHECK(aclrtFree(desc)); /* only after the last copy that uses it */
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
