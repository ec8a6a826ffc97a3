// soc: all
// schedules: all
/* Client usage: copies into the payload of a scripting-language object, in the middle of a heap block. */
#include "../expect.h"

#define HEADER 33 /* the payload of such an object is not aligned */

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    static const size_t sizes[] = {1, 7, 100, 4095, 70001};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t size = sizes[i];
        uint8_t *object = (uint8_t *)pageable_memory(HEADER + size + 1);
        void *device = device_memory(size);
        device_fill(device, size, (uint32_t)i);
        for (int asynchronous = 0; asynchronous < 2; asynchronous++) {
            memset(object, 0x5C, HEADER + size + 1);
            EXPECT_OK(asynchronous
                      ? aclrtMemcpyAsync(object + HEADER, size, device, size, ACL_MEMCPY_DEVICE_TO_HOST, stream)
                                   : aclrtMemcpy(object + HEADER, size, device, size, ACL_MEMCPY_DEVICE_TO_HOST));
            /* complete without a wait, because the memory is pageable */
            EXPECT_PATTERN(object + HEADER, size, (uint32_t)i);
            EXPECT_VALUE(object, HEADER, 0x5C);
            EXPECT_TRUE(object[HEADER + size] == 0x5C, "the terminator was overwritten");
        }
        free(object);
        EXPECT_OK(aclrtFree(device));
    }
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
