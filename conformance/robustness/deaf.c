// soc: Ascend910B Ascend310P
// softacl-only
// schedules: all
// expects: B1
// valgrind: none (passes invalid addresses)
/* On a thread that blocks every signal, as server workers do, invalid
 * pointers are errors too, and the signal mask does not change. */
#include "../batch/variants.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#define SIZE 4096
#define LARGE (4u << 20)

static void *const invalid[] = {
    (void *)(uintptr_t)0x10,
    (void *)(uintptr_t)0x900000000000u,
    (void *)(uintptr_t)0xFFFFFFFFFFFFE000u,
};

static aclrtStream stream;
static uint8_t *device;

static void expect_refused(void *address)
{
    EXPECT_FAILS(aclrtGetDeviceCount((uint32_t *)address));
    EXPECT_FAILS(aclrtMalloc((void **)address, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_FAILS(aclrtCreateStream((aclrtStream *)address));
    EXPECT_FAILS(aclrtMemcpy(device, SIZE, address, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_FAILS(aclrtMemcpy(address, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_FAILS(aclrtMemcpyAsync(device, SIZE, address, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_FAILS(aclrtMemcpyAsync(device, SIZE, address, SIZE, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
    EXPECT_FAILS(aclrtMemset(address, SIZE, 1, SIZE));
    EXPECT_FAILS(aclrtMemcpy2d(device, 64, address, 64, 64, SIZE / 64, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_FAILS(aclInit((const char *)address));
    if (family_has_batches()) {
        void *dsts[1] = {device}, *srcs[1] = {device};
        size_t sizes[1] = {SIZE}, indexes[1] = {0}, index;
        aclrtMemcpyBatchAttr attrs[1] = {host_to_device()};
        struct batch good = {dsts, sizes, srcs, sizes, 1, attrs, indexes, 1};
        for (int f = 0; f < VARIANTS; f++) {
            struct batch b = good;
            b.sizes = (size_t *)address;
            EXPECT_FAILS(batch_call((enum variant)f, b, &index, stream));
            b = good;
            b.srcs = (void **)address;
            EXPECT_FAILS(batch_call((enum variant)f, b, &index, stream));
            b = good;
            b.attrs = (aclrtMemcpyBatchAttr *)address;
            EXPECT_FAILS(batch_call((enum variant)f, b, &index, stream));
        }
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
}

/* A copy from registered memory that the program made inaccessible fails, in the call or when it runs. */
static void check_inaccessible(size_t size)
{
    void *mapped = NULL;
    uint8_t *pages = (uint8_t *)mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE_TRUE(pages != MAP_FAILED, "mmap");
    if (aclrtHostRegister(pages, LARGE, ACL_HOST_REGISTER_MAPPED, &mapped) != ACL_SUCCESS)
        return; /* not on this product */
    REQUIRE_TRUE(mprotect(pages, LARGE, PROT_NONE) == 0, "mprotect");
    aclError called = aclrtMemcpyAsync(device, size, pages, size, ACL_MEMCPY_HOST_TO_DEVICE, stream);
    aclError waited = aclrtSynchronizeStream(stream);
    EXPECT_TRUE(called != 0 || waited != 0, "a copy from inaccessible memory succeeded");
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtHostUnregister(pages));
    munmap(pages, LARGE);
}

int main(void)
{
    sigset_t all, mask;
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    device = (uint8_t *)device_memory(LARGE);
    sigfillset(&all);
    REQUIRE_TRUE(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0, "pthread_sigmask");

    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++)
        expect_refused(invalid[i]);
    check_inaccessible(SIZE);
    check_inaccessible(LARGE);

    REQUIRE_TRUE(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0, "pthread_sigmask");
    /* The checker keeps both signals unblocked. */
    int is_checked = getenv("SOFTACL_CHECK") != NULL;
    EXPECT_TRUE(is_checked || sigismember(&mask, SIGSEGV) == 1, "SIGSEGV is no longer blocked");
    EXPECT_TRUE(is_checked || sigismember(&mask, SIGBUS) == 1, "SIGBUS is no longer blocked");
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
