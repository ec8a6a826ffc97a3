// softacl-only
// schedules: all
// sanitize: none (the sanitizers need larger stacks)
// expects: M1
/* AscendCL calls work on threads with a stack of 64 KiB. */
#include "../expect.h"
#include "child.h"

#if defined(__aarch64__)
#define STACK (128u << 10) /* the minimum on this architecture */
#else
#define STACK (64u << 10)
#endif

static void *use_runtime(void *unused)
{
    EXPECT_TRUE(small_job() == 0, "small_job failed");
    REQUIRE_OK(aclrtSetDevice(0));
    /* Failing calls format a message. */
    EXPECT_CODE(aclrtSynchronizeStream((aclrtStream)0x1234), 107017);
    EXPECT_TRUE(aclGetRecentErrMsg() != NULL, "no message");
    /* Batches have long lists. */
    if (family_has_batches()) {
        enum { COUNT = 512 };
        uint8_t *pinned = (uint8_t *)pinned_memory(COUNT * 64), *device = (uint8_t *)device_memory(COUNT * 64);
        void **lists = (void **)pageable_memory(2 * COUNT * sizeof(void *));
        size_t *sizes = (size_t *)pageable_memory(COUNT * sizeof(size_t)), index = 0, failed = SIZE_MAX;
        aclrtMemcpyBatchAttr attribute;
        memset(&attribute, 0, sizeof attribute);
        attribute.dstLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
        attribute.srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
        for (int i = 0; i < COUNT; i++) {
            lists[i] = device + i * 64;
            lists[COUNT + i] = pinned + i * 64;
            sizes[i] = 64;
        }
        fill_pattern(pinned, COUNT * 64, 2);
        EXPECT_OK(aclrtMemcpyBatch(lists, sizes, lists + COUNT, sizes, COUNT, &attribute, &index, 1, &failed));
        EXPECT_DEVICE_PATTERN(device, COUNT * 64, 2);
        EXPECT_OK(aclrtFree(device));
        EXPECT_OK(aclrtFreeHost(pinned));
        free(lists);
        free(sizes);
    }
    EXPECT_OK(aclrtResetDevice(0));
    return unused;
}

int main(void)
{
    pthread_attr_t attributes;
    REQUIRE_TRUE(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, STACK) == 0,
                 "pthread_attr_setstacksize");
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        REQUIRE_TRUE(pthread_create(&thread, &attributes, use_runtime, NULL) == 0, "pthread_create");
        REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
    }
    pthread_attr_destroy(&attributes);
    return finish();
}
