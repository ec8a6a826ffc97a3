// soc: Ascend910B Ascend310P
// softacl-only
// schedules: all
// expects: B1
// valgrind: none (accesses truncated files)
/* Every copy call with every kind of host memory that a program can have: private and shared anonymous memory, a
 * file, a file that was truncated, static and constant objects, and read-only pages. A copy that the memory forbids
 * fails with 507899 and leaves the program alone. */
#include "../batch/variants.h"

#include <sys/mman.h>

#define SIZE 4096

static aclrtStream stream;
static uint8_t *device;
static uint8_t object[SIZE];
static const uint8_t constant[SIZE] = {1, 2, 3};

enum call { BLOCKING, QUEUED, CONDITIONAL, STAGED, PLANE, QUEUED_PLANE, BATCHED, BATCHED_V2, QUEUED_BATCH,
            QUEUED_BATCH_V2, CALLS };

static int exists(enum call call)
{
    return call < BATCHED || family_has_batches();
}

static aclError copy(enum call call, void *dst, const void *src, aclrtMemcpyKind kind)
{
    void *dsts[1] = {dst}, *srcs[1] = {(void *)(uintptr_t)src};
    size_t sizes[1] = {SIZE}, indexes[1] = {0}, index = 0;
    aclrtMemcpyBatchAttr attrs[1] = {kind == ACL_MEMCPY_HOST_TO_DEVICE ? host_to_device() : device_to_host()};
    struct batch b = {dsts, sizes, srcs, sizes, 1, attrs, indexes, 1};
    switch (call) {
    case BLOCKING: return aclrtMemcpy(dst, SIZE, src, SIZE, kind);
    case QUEUED: return aclrtMemcpyAsync(dst, SIZE, src, SIZE, kind, stream);
    case CONDITIONAL: return aclrtMemcpyAsyncWithCondition(dst, SIZE, src, SIZE, kind, stream);
    case STAGED: return aclrtMemcpyAsync(dst, SIZE, src, SIZE, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream);
    case PLANE: return aclrtMemcpy2d(dst, 64, src, 64, 64, SIZE / 64, kind);
    case QUEUED_PLANE: return aclrtMemcpy2dAsync(dst, 64, src, 64, 64, SIZE / 64, kind, stream);
    default: return batch_call((enum variant)(call - BATCHED), b, &index, stream);
    }
}

/* Reads the memory with every call. */
static void check_source(const uint8_t *memory, int is_accessible)
{
    for (int i = 0; i < CALLS; i++) {
        if (!exists((enum call)i)) {
            continue;
        }
        REQUIRE_OK(aclrtMemset(device, SIZE, 0xee, SIZE));
        aclError got = copy((enum call)i, device, memory, ACL_MEMCPY_HOST_TO_DEVICE);
        EXPECT_TRUE(got == (is_accessible ? 0 : 507899), "call %d returned %d", i, got);
        EXPECT_OK(aclrtSynchronizeStream(stream));
        if (is_accessible) {
            uint8_t *bytes = device_bytes(device, SIZE);
            EXPECT_TRUE(memcmp(bytes, memory, SIZE) == 0, "call %d copied other bytes", i);
            free(bytes);
        }
    }
}

/* Writes the memory with every call. */
static void check_target(uint8_t *memory, int is_accessible)
{
    device_fill(device, SIZE, 5);
    for (int i = 0; i < CALLS; i++) {
        if (i == STAGED || !exists((enum call)i)) {
            continue;
        }
        if (is_accessible) {
            memset(memory, 0, SIZE);
        }
        aclError got = copy((enum call)i, memory, device, ACL_MEMCPY_DEVICE_TO_HOST);
        EXPECT_TRUE(got == (is_accessible ? 0 : 507899), "call %d returned %d", i, got);
        EXPECT_OK(aclrtSynchronizeStream(stream));
        if (is_accessible) {
            EXPECT_PATTERN(memory, SIZE, 5);
        }
    }
}

static uint8_t *mapping(int protection, int flags, int file)
{
    void *memory = mmap(NULL, SIZE, protection, flags, file, 0);
    REQUIRE_TRUE(memory != MAP_FAILED, "mmap");
    return (uint8_t *)memory;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    device = (uint8_t *)device_memory(SIZE);

    fill_pattern(object, SIZE, 3);
    check_source(object, 1);
    check_target(object, 1);
    check_source(constant, 1);
    check_target((uint8_t *)(uintptr_t)constant, 0);
    EXPECT_TRUE(constant[0] == 1 && constant[3] == 0, "a constant changed");

    const int flags[] = {MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS};
    for (int i = 0; i < 2; i++) {
        uint8_t *memory = mapping(PROT_READ | PROT_WRITE, flags[i], -1);
        fill_pattern(memory, SIZE, 4);
        check_source(memory, 1);
        check_target(memory, 1);
        REQUIRE_TRUE(mprotect(memory, SIZE, PROT_READ) == 0, "mprotect");
        check_source(memory, 1);
        check_target(memory, 0);
        REQUIRE_TRUE(mprotect(memory, SIZE, PROT_NONE) == 0, "mprotect");
        check_source(memory, 0);
        check_target(memory, 0);
        REQUIRE_TRUE(munmap(memory, SIZE) == 0, "munmap");
    }

    FILE *file = tmpfile();
    REQUIRE_TRUE(file != NULL, "tmpfile");
    uint8_t bytes[SIZE];
    fill_pattern(bytes, SIZE, 6);
    for (int i = 0; i < 2; i++) {
        REQUIRE_TRUE(ftruncate(fileno(file), 0) == 0 && pwrite(fileno(file), bytes, SIZE, 0) == SIZE, "pwrite");
        uint8_t *memory = mapping(PROT_READ | PROT_WRITE, i == 0 ? MAP_SHARED : MAP_PRIVATE, fileno(file));
        EXPECT_PATTERN(memory, SIZE, 6);
        check_source(memory, 1);
        check_target(memory, 1);
        if (i == 0) { /* the copies wrote the file */
            REQUIRE_TRUE(pread(fileno(file), bytes, SIZE, 0) == SIZE, "pread");
            EXPECT_PATTERN(bytes, SIZE, 5);
            /* After the file is truncated, an access is SIGBUS. */
            REQUIRE_TRUE(ftruncate(fileno(file), 0) == 0, "ftruncate");
            check_source(memory, 0);
            check_target(memory, 0);
        }
        REQUIRE_TRUE(munmap(memory, SIZE) == 0, "munmap");
        fill_pattern(bytes, SIZE, 6);
    }
    REQUIRE_TRUE(pwrite(fileno(file), bytes, SIZE, 0) == SIZE, "pwrite");
    uint8_t *readable = mapping(PROT_READ, MAP_SHARED, fileno(file));
    check_source(readable, 1);
    check_target(readable, 0);
    EXPECT_PATTERN(readable, SIZE, 6);
    REQUIRE_TRUE(munmap(readable, SIZE) == 0, "munmap");
    fclose(file);

    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
