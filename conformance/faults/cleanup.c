// softacl-only
// soc: Ascend910B
// sanitize: none (counts threads, files and mappings)
/* A program that cleans up after any failed call leaks nothing, and its next round succeeds. Without fault rules no
 * call fails. `cargo xtask failpoints` runs it once for every system request and every call. */
#include "../expect.h"
#include <dirent.h>
#include <sched.h>

#define SIZE (64u << 10)
#define ROUNDS 4

static int refusals;

/* Jumps to the end of the round if a call fails; the code there releases every object. */
#define TRY(call) \
    do { \
        if ((call) != 0) { \
            refusals++; \
            goto end; \
        } \
    } while (0)
/* A release call may also fail, but only once. */
#define RELEASE(call) \
    do { \
        if ((call) != 0) { \
            refusals++; \
            EXPECT_OK(call); \
        } \
    } while (0)

static int directory_entries(const char *path)
{
    DIR *directory = opendir(path);
    REQUIRE_TRUE(directory != NULL, "%s", path);
    int count = 0;
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

/* Waits up to 5 seconds, because threads take time to end, and a thread that watches for hangs opens files of /proc for
 * a moment. */
static int entries_drop_to(const char *path, int count)
{
    struct timespec now, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    do {
        if (directory_entries(path) <= count) {
            return 1;
        }
        sched_yield();
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec + 5);
    return 0;
}

static void count_host(void *counter)
{
    count_up(counter);
}

static void run_round(int round)
{
    static int ran;
    aclrtStream stream = NULL, side = NULL;
    aclrtEvent event = NULL;
    aclrtNotify notify = NULL;
    aclmdlRI graph = NULL;
    aclrtDrvMemHandle physical = NULL;
    void *device = NULL, *pinned = NULL, *reserved = NULL;
    int is_set = 0, is_mapped = 0, is_capturing = 0, is_exported = 0;
    char key[128] = {0};
    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);
    uint8_t *staged_source = (uint8_t *)pageable_memory(SIZE);

    TRY(aclrtSetDevice(0));
    is_set = 1;
    TRY(aclrtCreateStream(&stream));
    TRY(aclrtCreateStream(&side));
    TRY(aclrtCreateEvent(&event));
    TRY(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    TRY(aclrtMallocHost(&pinned, SIZE));
    fill_pattern(pinned, SIZE, (uint32_t)round);
    TRY(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    TRY(aclrtRecordEvent(event, stream));
    TRY(aclrtStreamWaitEvent(side, event));
    TRY(aclrtLaunchHostFunc(side, count_host, &ran));
    TRY(aclrtSynchronizeStreamWithTimeout(side, 20000));
    TRY(aclrtMemcpy(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_PATTERN(pageable, SIZE, (uint32_t)round);
    /* Kind 5 allocates a buffer in the library. */
    TRY(aclrtMemcpyAsync(device, SIZE, staged_source, SIZE, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
    TRY(aclrtSynchronizeStream(stream));
    /* A notify of another stream is an external wait. */
    TRY(aclrtCreateNotify(&notify, 0));
    TRY(aclrtWaitAndResetNotify(notify, side, 1));
    TRY(aclrtRecordNotify(notify, stream));
    TRY(aclrtSynchronizeStream(side));
    /* Virtual memory needs addresses, a file and two mappings. */
    aclrtPhysicalMemProp prop = physical_memory_of(0);
    TRY(aclrtReserveMemAddress(&reserved, 2u << 20, 0, NULL, 1));
    TRY(aclrtMallocPhysical(&physical, 2u << 20, &prop, 0));
    TRY(aclrtMapMem(reserved, 2u << 20, 0, physical, 0));
    is_mapped = 1;
    TRY(aclrtMemcpy(reserved, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    /* An export moves an allocation into a file. */
    TRY(aclrtIpcMemGetExportKey(device, SIZE, key, sizeof key, 0));
    is_exported = 1;
    /* A graph. */
    TRY(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    is_capturing = 1;
    TRY(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    TRY(aclmdlRICaptureEnd(stream, &graph));
    is_capturing = 0;
    TRY(aclmdlRIExecuteAsync(graph, stream));
    TRY(aclrtSynchronizeStream(stream));
end:
    if (is_capturing) {
        RELEASE(aclmdlRICaptureEnd(stream, &graph));
    }
    if (is_set) {
        /* A failed task may not have been reported yet. */
        aclrtSynchronizeDeviceWithTimeout(20000);
    }
    if (graph != NULL) {
        RELEASE(aclmdlRIDestroy(graph));
    }
    if (is_exported) {
        RELEASE(aclrtIpcMemClose(key));
    }
    if (is_mapped) {
        RELEASE(aclrtUnmapMem(reserved));
    }
    if (physical != NULL) {
        RELEASE(aclrtFreePhysical(physical));
    }
    if (reserved != NULL) {
        RELEASE(aclrtReleaseMemAddress(reserved));
    }
    if (notify != NULL) {
        RELEASE(aclrtDestroyNotify(notify));
    }
    if (event != NULL) {
        RELEASE(aclrtDestroyEvent(event));
    }
    if (pinned != NULL) {
        RELEASE(aclrtFreeHost(pinned));
    }
    if (device != NULL) {
        RELEASE(aclrtFree(device));
    }
    if (side != NULL) {
        RELEASE(aclrtDestroyStream(side));
    }
    if (stream != NULL) {
        RELEASE(aclrtDestroyStream(stream));
    }
    if (is_set) {
        RELEASE(aclrtResetDevice(0));
    }
    free(pageable);
    free(staged_source);
}

int main(void)
{
    int files = 0;
    for (int round = 1; round <= ROUNDS; round++) {
        run_round(round);
        int now = directory_entries("/proc/self/fd");
        if (round > 1) {
            EXPECT_TRUE(refusals > 0 || entries_drop_to("/proc/self/fd", files), "%d open files became %d", files, now);
        }
        files = round == 1 || now < files ? now : files;
    }
    /* The last round left no files open; those that remain are opened once per process. One of them is opened by the
     * first wait, which a round that fails early does not reach. */
    int late_files = refusals > 0 ? 1 : 0;
    EXPECT_TRUE(entries_drop_to("/proc/self/fd", files + late_files), "%d open files became %d", files,
                directory_entries("/proc/self/fd"));
    /* This thread, the workers, the thread that polls external waits, the one that answers questions from outside and,
     * under the checker, the one that writes crash reports; threads of contexts end with them. Two directory entries are
     * "." and "..". */
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int workers = cores > 9 ? 8 : cores > 2 ? (int)cores - 1 : 1;
    EXPECT_TRUE(entries_drop_to("/proc/self/task", 2 + 1 + workers + 3), "more than %d threads", 1 + workers + 3);
    /* A rule fires once: later calls succeed, or the runtime could not be set up and all calls fail. */
    const char *message = aclGetRecentErrMsg();
    int is_expected = refusals <= 2 || (message != NULL && strstr(message, "could not be set up") != NULL);
    EXPECT_TRUE(is_expected, "%d refusals, the last message is %s", refusals, message == NULL ? "(none)" : message);
    size_t free_bytes = 0, total = 0;
    if (aclrtSetDevice(0) == 0 || aclrtSetDevice(0) == 0) {
        RELEASE(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
        EXPECT_TRUE(free_bytes == total, "%zu of %zu bytes are free", free_bytes, total);
        RELEASE(aclrtResetDevice(0));
    }
    return finish();
}
