// soc: all
// softacl-only
// expects: M1
/* The wrong function, or an address inside an allocation: 107000, and a message that says what the memory is and which
 * call frees it. The memory stays usable. */
#include "../expect.h"

#define SIZE 8192

static void expect_message_with(const char *text)
{
    const char *message = aclGetRecentErrMsg();
    EXPECT_TRUE(message != NULL && strstr(message, text) != NULL, "no \"%s\" in %s", text, message);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    uint8_t *device = (uint8_t *)device_memory(SIZE), *pinned = (uint8_t *)pinned_memory(SIZE);
    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);
    char text[100];

    EXPECT_CODE(aclrtFree(pinned), 107000);
    expect_message_with("is pinned host memory: free it with aclrtFreeHost");
    EXPECT_CODE(aclrtFreeHost(device), 107000);
    expect_message_with("is memory of device 0: free it with aclrtFree");
    EXPECT_CODE(aclrtFree(pageable), 107000);
    expect_message_with("is pageable host memory: the runtime did not allocate it");
    EXPECT_CODE(aclrtFreeHost(pageable), 107000);
    expect_message_with("is pageable host memory: the runtime did not allocate it");
    EXPECT_CODE(aclrtFree(device + 100), 107000);
    snprintf(text, sizeof text, "is byte 100 of the allocation at %p", (void *)device);
    expect_message_with(text);
    EXPECT_CODE(aclrtFreeHost(pinned + 4096), 107000);
    snprintf(text, sizeof text, "is byte 4096 of the allocation at %p", (void *)pinned);
    expect_message_with(text);

    fill_pattern(pinned, SIZE, 1);
    EXPECT_OK(aclrtMemcpy(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);
    EXPECT_OK(aclrtFree(device));
    EXPECT_CODE(aclrtFree(device), 107000);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_CODE(aclrtFreeHost(pinned), 107000);
    free(pageable);
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
