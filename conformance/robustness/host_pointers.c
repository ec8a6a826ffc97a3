// soc: Ascend910B Ascend950 Ascend310P
// softacl-only
// schedules: all
// expects: B1
// valgrind: none (passes invalid addresses)
/* Copies with inaccessible host addresses fail without ending the process. */
#include "../batch/variants.h"

#include <sys/mman.h>

#define PAGE 4096
#define SIZE PAGE

static aclrtStream stream;
static uint8_t *device;

static void expect_unreadable(uint8_t *address)
{
    uint8_t pageable[SIZE];
    memset(pageable, 1, SIZE);
    EXPECT_CODE(aclrtMemcpy(device, SIZE, address, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), 507899);
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, address, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 507899);
    EXPECT_TRUE(aclGetRecentErrMsg() != NULL, "no message");
    EXPECT_FAILS(aclrtMemcpyAsync(device, SIZE, address, SIZE, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
    EXPECT_FAILS(aclrtMemcpy(pageable, SIZE, address, SIZE, ACL_MEMCPY_HOST_TO_HOST));
    EXPECT_FAILS(aclrtMemcpy2d(device, 64, address, 64, 64, SIZE / 64, ACL_MEMCPY_HOST_TO_DEVICE));
    /* With kind D2D the address is passed to the device unchecked: the call or the task fails. */
    aclError got = aclrtMemcpyAsync(device, SIZE, address, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
    aclError waited = aclrtSynchronizeStream(stream);
    EXPECT_TRUE(got != 0 || waited != 0, "a copy from an unreadable source succeeded");
    if (family_has_batches()) {
        void *dsts[1] = {device}, *srcs[1] = {address};
        size_t sizes[1] = {SIZE}, indexes[1] = {0};
        aclrtMemcpyBatchAttr attrs[1] = {host_to_device()};
        struct batch b = {dsts, sizes, srcs, sizes, 1, attrs, indexes, 1};
        for (int f = 0; f < VARIANTS; f++) {
            size_t index = 0;
            EXPECT_FAILS(batch_call((enum variant)f, b, &index, stream));
        }
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
}

static void expect_unwritable(uint8_t *address)
{
    EXPECT_CODE(aclrtMemcpy(address, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST), 507899);
    EXPECT_CODE(aclrtMemcpyAsync(address, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream), 507899);
    EXPECT_FAILS(aclrtMemcpy2d(address, 64, device, 64, 64, SIZE / 64, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_FAILS(aclrtMemset(address, SIZE, 1, SIZE));
    EXPECT_FAILS(aclrtMemsetAsync(address, SIZE, 1, SIZE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    device = (uint8_t *)device_memory(SIZE);
    device_fill(device, SIZE, 1);

    uint8_t *pages = (uint8_t *)mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE_TRUE(pages != MAP_FAILED, "mmap");
    REQUIRE_TRUE(mprotect(pages + PAGE, PAGE, PROT_NONE) == 0, "mprotect");
    REQUIRE_TRUE(mprotect(pages + 2 * PAGE, PAGE, PROT_READ) == 0, "mprotect");
    REQUIRE_TRUE(munmap(pages + 3 * PAGE, PAGE) == 0, "munmap");

    uint8_t *bad[] = {
        pages + PAGE,                         /* no access */
        pages + 3 * PAGE,                     /* unmapped */
        pages + 100,                          /* starts accessible, ends in the page without access */
        pages + 2 * PAGE + 100,               /* starts readable, ends unmapped */
        (uint8_t *)(uintptr_t)0x10,           /* the null page */
        (uint8_t *)(uintptr_t)0x900000000000u, /* above the user address space */
        (uint8_t *)(uintptr_t)0x8000000000000000u, /* not canonical */
        (uint8_t *)(uintptr_t)0xFFFFFFFFFFFFE000u,      /* the last pages */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        printf("case %zu\n", i);
        expect_unreadable(bad[i]);
        expect_unwritable(bad[i]);
    }
    printf("read-only page\n");
    EXPECT_OK(aclrtMemcpy(device, SIZE, pages + 2 * PAGE, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    expect_unwritable(pages + 2 * PAGE);

    /* The device stays usable. */
    device_fill(device, SIZE, 2);
    EXPECT_DEVICE_PATTERN(device, SIZE, 2);
    aclrtPtrAttributes attributes;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        aclrtPointerGetAttributes(bad[i], &attributes); /* any code is accepted */
    }
    munmap(pages, 3 * PAGE);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
