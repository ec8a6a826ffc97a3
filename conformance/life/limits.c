// softacl-only
// soc: Ascend910B
// expects: M1
// sanitize: none (the sanitizers need all addresses themselves)
/* With few addresses, file descriptors or cores and without huge
 * pages, the runtime works or the first call fails with the reason. */
#include "../expect.h"
#include "child.h"
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static size_t addresses;

static int with_few_addresses(void)
{
    struct rlimit limit = {addresses, addresses};
    REQUIRE_TRUE(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
    return small_job_or_setup_error();
}

/* A small device needs few addresses. */
static int with_a_small_device(void)
{
    setenv("SOFTACL_MEMORY", "64MiB", 1);
    setenv("SOFTACL_DEVICES", "1", 1);
    struct rlimit limit = {(size_t)2 << 30, (size_t)2 << 30};
    REQUIRE_TRUE(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
    return small_job();
}

/* The limit is set after the runtime was initialized. */
static int with_no_more_addresses(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    struct rlimit limit = {1 << 20, 1 << 20};
    REQUIRE_TRUE(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
    aclrtStream stream = new_stream();
    void *device = NULL, *reserved = NULL;
    uint8_t bytes[64];
    EXPECT_OK(aclrtMalloc(&device, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST)); /* its addresses are already reserved */
    EXPECT_OK(aclrtMemcpyAsync(device, 64, bytes, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    /* Virtual memory has not been set up yet, and no addresses are left for it. */
    EXPECT_FAILS(aclrtReserveMemAddress(&reserved, 2u << 20, 0, NULL, 1));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return expect_failed;
}

static int without_descriptors(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    /* All descriptors are in use, and the limit prevents new ones. */
    struct rlimit limit = {3, 3};
    REQUIRE_TRUE(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
    EXPECT_TRUE(small_job() == 0, "copies need a descriptor");
    void *device = device_memory(4096);
    char key[128];
    EXPECT_FAILS(aclrtIpcMemGetExportKey(device, 4096, key, sizeof key, 0));
    aclrtPhysicalMemProp prop = physical_memory_of(0);
    aclrtDrvMemHandle physical = NULL;
    EXPECT_FAILS(aclrtMallocPhysical(&physical, 2u << 20, &prop, 0));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtResetDevice(0));
    return expect_failed;
}

static int without_descriptors_from_the_start(void)
{
    struct rlimit limit = {3, 3};
    REQUIRE_TRUE(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
    return small_job_or_setup_error();
}

static int on_one_core(void)
{
    cpu_set_t set;
    REQUIRE_TRUE(sched_getaffinity(0, sizeof set, &set) == 0, "sched_getaffinity");
    int core = 0;
    while (!CPU_ISSET(core, &set)) {
        core++;
    }
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    REQUIRE_TRUE(sched_setaffinity(0, sizeof set, &set) == 0, "sched_setaffinity");
    return small_job() + small_job();
}

static int without_huge_pages(void)
{
    REQUIRE_TRUE(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0, "prctl");
    return small_job();
}

/* The heap of the program cannot grow. */
static int without_heap(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    struct rlimit limit = {0, 0};
    REQUIRE_TRUE(setrlimit(RLIMIT_DATA, &limit) == 0, "setrlimit");
    uint8_t bytes[64];
    void *device = NULL;
    EXPECT_OK(aclrtMalloc(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtMemcpy(device, 64, bytes, 64, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtFree(device));
    return expect_failed;
}

/* Files may not have any bytes: the memory of the runtime is not affected. */
static int without_file_size(void)
{
    struct rlimit limit = {0, 0};
    REQUIRE_TRUE(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
    int failed = small_job();
    REQUIRE_OK(aclrtSetDevice(0));
    void *device = device_memory(4096);
    char key[65];
    EXPECT_FAILS(aclrtIpcMemGetExportKey(device, 4096, key, sizeof key, 0)); /* needs a file, and must not end us */
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtResetDevice(0));
    return failed + expect_failed;
}

/* The same under the checker, which maps pinned memory twice. Its code for proven findings is 2: the small job copies
 * more than the destination holds. */
static int checked_without_file_size(void)
{
    setenv("SOFTACL_CHECK", "1", 1);
    return without_file_size();
}

int main(void)
{
    /* From far too few addresses to more than enough. */
    for (addresses = 16u << 20; addresses <= (size_t)256 << 30; addresses *= 4) {
        EXPECT_CHILD(with_few_addresses, 0);
    }
    EXPECT_CHILD(with_a_small_device, 0);
    /* The checker keeps its state on the heap, and the tracer all events until the end: both need addresses. */
    int is_observed = getenv("SOFTACL_CHECK") != NULL || getenv("SOFTACL_TRACE") != NULL;
    if (!is_observed) {
        EXPECT_CHILD(with_no_more_addresses, 0);
    }
    EXPECT_CHILD(without_descriptors, 0);
    EXPECT_CHILD(without_descriptors_from_the_start, 0);
    EXPECT_CHILD(without_file_size, 0);
    if (!is_observed) {
        EXPECT_CHILD(checked_without_file_size, 2);
    }
    EXPECT_CHILD(on_one_core, 0);
    EXPECT_CHILD(without_huge_pages, 0);
    if (!is_observed) {
        EXPECT_CHILD(without_heap, 0);
    }
    return finish();
}
