// soc: all
// schedules: all
// expects: C2
/* With a default device in the configuration some calls work without aclrtSetDevice; aclrtMemcpyAsync does not. */
#include "../expect.h"

#define SIZE 512

static void *check_default_device(void *unused)
{
    (void)unused;
    static uint8_t source[SIZE], result[SIZE];
    void *device = NULL;
    int32_t id = -1;
    fill_pattern(source, SIZE, 1);
    EXPECT_OK(aclrtGetDevice(&id)); /* 4.2: the configured device */
    EXPECT_TRUE(id == 0, "device %d", id);
    EXPECT_OK(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST)); /* 4.3, 1.14 */
    EXPECT_OK(aclrtMemset(device, SIZE, 0, SIZE));
    EXPECT_OK(aclrtMemcpy(device, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE)); /* 1.1 row 8 */
    EXPECT_OK(aclrtMemcpy(result, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_PATTERN(result, SIZE, 1);
    EXPECT_CODE(aclrtMemcpyAsync(result, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, NULL), 107002); /* 1.2 row 7 */
    EXPECT_OK(aclrtFree(device));
    return NULL;
}

int main(void)
{
    char name[] = "/tmp/conformance-XXXXXX";
    int file = mkstemp(name);
    REQUIRE_TRUE(file >= 0, "mkstemp");
    static const char text[] = "{ \"defaultDevice\": { \"default_device\": \"0\" } }";
    REQUIRE_TRUE(write(file, text, sizeof text - 1) == (ssize_t)sizeof text - 1, "write");
    close(file);
    REQUIRE_OK(aclInit(name));
    unlink(name);
    check_default_device(NULL);
    in_new_thread(check_default_device, NULL);
    EXPECT_OK(aclFinalize());
    return finish();
}
