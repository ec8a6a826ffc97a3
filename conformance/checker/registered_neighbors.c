// soc: Ascend910B
// softacl-only
// sanitize: none (a sanitizer has its own allocator)
/* Correct use of registered heap memory: the program works with other data of the heap while copies are in flight, forks,
 * passes the memory to the system between copies, and frees it afterwards. */
#include "../expect.h"

#define PAGE 4096
#define SIZE (10 * PAGE)
#define ROUNDS 4

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    EXPECT_OK(aclrtMemset(device, SIZE, 0, SIZE));
    for (int round = 0; round < ROUNDS; round++) {
        char *before = malloc(100), *from = aligned_alloc(PAGE, SIZE), *between = malloc(100);
        char *to = aligned_alloc(PAGE, SIZE), *after = malloc(100);
        void *view;
        REQUIRE_TRUE(before && from && between && to && after, "malloc");
        memset(from, round + 1, SIZE);
        REQUIRE_OK(aclrtHostRegister(from, SIZE, ACL_HOST_REGISTER_MAPPED, &view));
        REQUIRE_OK(aclrtHostRegister(to, SIZE, ACL_HOST_REGISTER_MAPPED, &view));
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, from, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_OK(aclrtMemcpyAsync(to, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        for (int i = 0; i < 100; i++) {
            before[i] = between[i] = after[i] = (char)i;
            free(malloc((size_t)(i + 1) * 100));
        }
        between = realloc(between, 5000);
        pid_t child = fork();
        if (child == 0) {
            memset(to, 3, SIZE);
            memset(from, 3, SIZE);
            _exit(to[SIZE / 2] == 3 && from[SIZE / 2] == 3 ? 0 : 1);
        }
        int status = 1;
        EXPECT_TRUE(waitpid(child, &status, 0) == child && status == 0, "status %d", status);
        EXPECT_TRUE(memchr(from, 99, SIZE) == NULL, "the source may be read");
        EXPECT_OK(aclrtSynchronizeStream(stream));
        for (int i = 0; i < SIZE; i++) {
            REQUIRE_TRUE(to[i] == round + 1, "byte %d is %d", i, to[i]);
        }
        EXPECT_OK(aclrtMemcpy(to, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
        EXPECT_OK(aclrtHostUnregister(from));
        EXPECT_OK(aclrtHostUnregister(to));
        free(before);
        free(from);
        free(between);
        free(to);
        free(after);
    }
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
