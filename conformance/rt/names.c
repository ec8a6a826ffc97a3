// soc: Ascend910B Ascend910C Ascend310P
// sanitize: address (the thread sanitizer does not know the reserved addresses)
// expects: M1
// softacl-only
/* The functions of the internal runtime, looked up through the handle of libascendcl.so and declared as public clients
 * declare them (kernels 5). */
#include "../expect.h"

#include "../peer.h"
#include <dlfcn.h>

#define NAMES(f)                                                                                    \
    f(rtSetDevice, (int32_t))                                                                       \
    f(rtDeviceGetBareTgid, (uint32_t *))                                                            \
    f(rtGetDeviceInfo, (uint32_t, int32_t, int32_t, int64_t *))                                     \
    f(rtGetLogicDevIdByUserDevId, (int32_t, int32_t *))                                             \
    f(rtGetSocVersion, (char *, uint32_t))                                                          \
    f(rtGetAiCoreCount, (uint32_t *))                                                               \
    f(rtDeviceSetLimit, (int32_t, int32_t, uint32_t))                                               \
    f(rtMalloc, (void **, uint64_t, uint32_t, uint16_t))                                            \
    f(rtFree, (void *))                                                                             \
    f(rtMallocHost, (void **, uint64_t, uint16_t))                                                  \
    f(rtFreeHost, (void *))                                                                         \
    f(rtMemcpy, (void *, uint64_t, const void *, uint64_t, int32_t))                                \
    f(rtMemcpyAsyncWithoutCheckKind, (void *, size_t, const void *, size_t, uint32_t, void *))      \
    f(rtStreamCreate, (void **, int32_t))                                                           \
    f(rtStreamDestroy, (void *))                                                                    \
    f(rtStreamSynchronize, (void *))                                                                \
    f(rtIpcSetMemoryName, (const void *, uint64_t, char *, uint32_t))                               \
    f(rtIpcDestroyMemoryName, (const char *))                                                       \
    f(rtIpcOpenMemory, (void **, const char *))                                                     \
    f(rtIpcCloseMemory, (const void *))                                                             \
    f(rtSetIpcMemorySuperPodPid, (const char *, uint32_t, int32_t *, int32_t))                      \
    f(rtEnableP2P, (uint32_t, uint32_t, uint32_t))                                                  \
    f(rtDisableP2P, (uint32_t, uint32_t))                                                           \
    f(rtGetP2PStatus, (uint32_t, uint32_t, uint32_t *))

#define DECLARE(name, parameters) static int32_t(*name) parameters;
NAMES(DECLARE)

static void look_up(void *library)
{
#define LOOK_UP(name, parameters)                                                \
    *(void **)&name = dlsym(library, #name);                                     \
    REQUIRE_TRUE(name != NULL, "%s is not reachable through the library", #name);
    NAMES(LOOK_UP)
}

static const size_t SIZE = 100000;

static void memory_and_streams(void)
{
    void *device = NULL, *host = NULL, *back = NULL, *stream = NULL;
    REQUIRE_OK(rtMalloc(&device, SIZE, 2, 0));
    REQUIRE_OK(rtMallocHost(&host, SIZE, 0));
    REQUIRE_OK(rtMallocHost(&back, SIZE, 0));
    fill_pattern(host, SIZE, 5);
    EXPECT_OK(rtMemcpy(device, SIZE, host, SIZE, 1));
    REQUIRE_OK(rtStreamCreate(&stream, 0));
    EXPECT_OK(rtMemcpyAsyncWithoutCheckKind(back, SIZE, device, SIZE, 2, stream));
    EXPECT_OK(rtStreamSynchronize(stream));
    EXPECT_PATTERN(back, SIZE, 5);
    /* They are the objects of the public interface. */
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, back, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(rtStreamDestroy(stream));
    EXPECT_CODE(rtStreamSynchronize(stream), 107017);
    /* The runtime has no 100000: a NULL argument is a bad parameter. */
    EXPECT_CODE(rtMalloc(NULL, SIZE, 2, 0), 107000);
    EXPECT_CODE(rtMemcpy(device, 1, host, 2, 1), 107000);
    EXPECT_OK(rtFree(device));
    EXPECT_FAILS(rtFree(device));
    EXPECT_OK(rtFreeHost(host));
    EXPECT_OK(rtFreeHost(back));
}

static void device_facts(void)
{
    uint32_t pid = 0, cores = 0;
    int32_t public_pid = 0, logical = -1;
    int64_t value = -1;
    char name[64] = "", expected[64];
    EXPECT_OK(rtDeviceGetBareTgid(&pid));
    EXPECT_OK(aclrtDeviceGetBareTgid(&public_pid));
    EXPECT_TRUE((int32_t)pid == public_pid, "%u and %d", pid, public_pid);
    EXPECT_OK(rtGetLogicDevIdByUserDevId(1, &logical));
    EXPECT_TRUE(logical == 1, "logical id %d", logical);
    EXPECT_OK(rtGetDeviceInfo(1, 0, 18, &value));
    EXPECT_TRUE(value == 1, "physical chip %lld", (long long)value);
    EXPECT_CODE(rtGetDeviceInfo(1, 0, 30, &value), 207000);
    EXPECT_FAILS(rtGetDeviceInfo(77, 0, 18, &value));
    EXPECT_OK(rtGetSocVersion(name, sizeof name));
    snprintf(expected, sizeof expected, "%s", aclrtGetSocName());
    EXPECT_TRUE(strcmp(name, expected) == 0, "%s", name);
    EXPECT_CODE(rtGetSocVersion(name, 3), 107000);
    EXPECT_CODE(rtGetSocVersion(NULL, 64), 107000);
    EXPECT_OK(rtGetAiCoreCount(&cores));
    EXPECT_TRUE(cores > 0, "%u cores", cores);
    EXPECT_FAILS(rtGetAiCoreCount((uint32_t *)8));
    int32_t limit = aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE, 1024);
    EXPECT_TRUE(rtDeviceSetLimit(0, ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE, 1024) == limit, "another result than %d", limit);
}

static void peers(void)
{
    uint32_t status = 7, before = 7;
    int32_t public_status = 7;
    EXPECT_OK(rtGetP2PStatus(0, 1, &before));
    EXPECT_OK(aclrtDevicePeerAccessStatus(0, 1, &public_status));
    EXPECT_TRUE((int32_t)before == public_status, "status %u before", before); /* 1 where access needs no call */
    EXPECT_OK(rtEnableP2P(0, 1, 0));
    EXPECT_OK(rtEnableP2P(1, 0, 0)); /* not the current device */
    EXPECT_OK(rtGetP2PStatus(0, 1, &status));
    EXPECT_TRUE(status == 1, "status %u after", status);
    EXPECT_OK(rtDisableP2P(0, 1));
    EXPECT_OK(rtGetP2PStatus(0, 1, &status));
    EXPECT_TRUE(status == 1, "status %u while one direction is enabled", status);
    EXPECT_OK(rtDisableP2P(1, 0));
    EXPECT_OK(rtGetP2PStatus(0, 1, &status));
    EXPECT_TRUE(status == before, "status %u at the end", status);
    EXPECT_FAILS(rtEnableP2P(0, 0, 0));
    EXPECT_FAILS(rtEnableP2P(0, 99, 0));
    EXPECT_FAILS(rtEnableP2P(99, 0, 0));
    EXPECT_FAILS(rtEnableP2P(0, 1, 1));
}

static int importer(struct peer parent)
{
    REQUIRE_OK(rtSetDevice(0));
    uint32_t pid = 0;
    REQUIRE_OK(rtDeviceGetBareTgid(&pid));
    peer_send(parent, &pid, sizeof pid);
    char name[65];
    peer_receive(parent, name, sizeof name);
    void *memory = NULL, *again = NULL;
    uint8_t *bytes = (uint8_t *)malloc(SIZE);
    REQUIRE_OK(rtIpcOpenMemory(&memory, name));
    REQUIRE_OK(rtIpcOpenMemory(&again, name));
    EXPECT_TRUE(memory == again, "one key, two addresses");
    REQUIRE_OK(rtMemcpy(bytes, SIZE, memory, SIZE, 2));
    EXPECT_PATTERN(bytes, SIZE, 9);
    EXPECT_OK(rtIpcCloseMemory(memory));
    EXPECT_OK(rtMemcpy(bytes, SIZE, memory, SIZE, 2)); /* opened twice, closed once */
    EXPECT_OK(rtIpcCloseMemory(memory));
    EXPECT_CODE(rtIpcCloseMemory(memory), 107000);
    EXPECT_CODE(rtIpcCloseMemory(bytes), 107000);
    free(bytes);
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}

static void sharing(struct peer peer)
{
    void *device = NULL;
    char name[65] = "";
    int32_t pid = 0;
    uint8_t *bytes = (uint8_t *)malloc(SIZE);
    REQUIRE_OK(rtMalloc(&device, SIZE, 2, 0));
    fill_pattern(bytes, SIZE, 9);
    REQUIRE_OK(rtMemcpy(device, SIZE, bytes, SIZE, 1));
    REQUIRE_OK(rtIpcSetMemoryName(device, SIZE, name, sizeof name));
    peer_receive(peer, &pid, sizeof pid);
    REQUIRE_OK(rtSetIpcMemorySuperPodPid(name, 0, &pid, 1));
    peer_send(peer, name, sizeof name);
    peer_join(peer);
    EXPECT_OK(rtIpcDestroyMemoryName(name));
    EXPECT_FAILS(rtIpcDestroyMemoryName(name));
    EXPECT_FAILS(rtIpcOpenMemory(&device, name));
    EXPECT_OK(rtFree(device));
    free(bytes);
}

int main(void)
{
    void *library = dlopen("libascendcl.so", RTLD_NOW);
    REQUIRE_TRUE(library != NULL, "%s", dlerror());
    look_up(library);
    struct peer peer = peer_fork(importer);
    REQUIRE_OK(rtSetDevice(0));
    memory_and_streams();
    device_facts();
    peers();
    sharing(peer);
    /* Kernels do not run, and what no client declares is absent: a client then knows that the feature is missing. */
    static const char *const absent[] = {"rtKernelLaunch", "rtDevBinaryRegister", "rtPointerGetAttributes", "rtNotifyCreate"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        EXPECT_TRUE(dlsym(library, absent[i]) == NULL, "%s is present", absent[i]);
    }
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
