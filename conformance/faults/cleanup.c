// softacl-only
// soc: Ascend910B
// sanitize: none (counts threads, files and mappings)
/* A program that meets a refusal anywhere cleans up and goes on: nothing is left behind, and the next round works.
 * Run as it is, nothing is refused. `cargo xtask failpoints` runs it once for every request to the system and every call. */
#include "../expect.h"
#include <dirent.h>
#include <sched.h>

#define SIZE (64u << 10)
#define ROUNDS 4

static int refusals;

/* Goes to the end of the round when a call fails; everything that was made is undone there. */
#define TRY(call)                                                                                                          \
    do {                                                                                                                   \
        if ((call) != 0) {                                                                                                 \
            refusals++;                                                                                                    \
            goto end;                                                                                                      \
        }                                                                                                                  \
    } while (0)
/* What undoes may be refused as well, once. */
#define UNDO(call)                                                                                                         \
    do {                                                                                                                   \
        if ((call) != 0) {                                                                                                 \
            refusals++;                                                                                                    \
            EXPECT_OK(call);                                                                                               \
        }                                                                                                                  \
    } while (0)

static int entries_of(const char *path)
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

/* Threads that end take a moment. */
static int threads_come_down_to(int count)
{
    struct timespec now, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    do {
        if (entries_of("/proc/self/task") <= count) {
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

static void round_of_work(int number)
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
    uint8_t *big = (uint8_t *)pageable_memory(SIZE);

    TRY(aclrtSetDevice(0));
    is_set = 1;
    TRY(aclrtCreateStream(&stream));
    TRY(aclrtCreateStream(&side));
    TRY(aclrtCreateEvent(&event));
    TRY(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    TRY(aclrtMallocHost(&pinned, SIZE));
    fill_pattern(pinned, SIZE, (uint32_t)number);
    TRY(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    TRY(aclrtRecordEvent(event, stream));
    TRY(aclrtStreamWaitEvent(side, event));
    TRY(aclrtLaunchHostFunc(side, count_host, &ran));
    TRY(aclrtSynchronizeStreamWithTimeout(side, 20000));
    TRY(aclrtMemcpy(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_PATTERN(pageable, SIZE, (uint32_t)number);
    /* Kind 5 takes a buffer of the library. */
    TRY(aclrtMemcpyAsync(device, SIZE, big, SIZE, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
    TRY(aclrtSynchronizeStream(stream));
    /* A notify from another stream is a wait for the outside. */
    TRY(aclrtCreateNotify(&notify, 0));
    TRY(aclrtWaitAndResetNotify(notify, side, 1));
    TRY(aclrtRecordNotify(notify, stream));
    TRY(aclrtSynchronizeStream(side));
    /* Virtual memory: addresses, a file, two mappings. */
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
        UNDO(aclmdlRICaptureEnd(stream, &graph));
    }
    if (is_set) {
        /* A failed task may still be there. */
        aclrtSynchronizeDeviceWithTimeout(20000);
    }
    if (graph != NULL) {
        UNDO(aclmdlRIDestroy(graph));
    }
    if (is_exported) {
        UNDO(aclrtIpcMemClose(key));
    }
    if (is_mapped) {
        UNDO(aclrtUnmapMem(reserved));
    }
    if (physical != NULL) {
        UNDO(aclrtFreePhysical(physical));
    }
    if (reserved != NULL) {
        UNDO(aclrtReleaseMemAddress(reserved));
    }
    if (notify != NULL) {
        UNDO(aclrtDestroyNotify(notify));
    }
    if (event != NULL) {
        UNDO(aclrtDestroyEvent(event));
    }
    if (pinned != NULL) {
        UNDO(aclrtFreeHost(pinned));
    }
    if (device != NULL) {
        UNDO(aclrtFree(device));
    }
    if (side != NULL) {
        UNDO(aclrtDestroyStream(side));
    }
    if (stream != NULL) {
        UNDO(aclrtDestroyStream(stream));
    }
    if (is_set) {
        UNDO(aclrtResetDevice(0));
    }
    free(pageable);
    free(big);
}

int main(void)
{
    int files = 0;
    for (int number = 1; number <= ROUNDS; number++) {
        round_of_work(number);
        int now = entries_of("/proc/self/fd");
        if (number > 1) {
            EXPECT_TRUE(now <= files || refusals > 0, "%d open files became %d", files, now);
        }
        files = number == 1 || now < files ? now : files;
    }
    /* The last round had no refusal, or only one that was undone: what is open now is what is made once. */
    EXPECT_TRUE(entries_of("/proc/self/fd") <= files, "%d open files became %d", files, entries_of("/proc/self/fd"));
    /* This thread, the workers, one for waits for the outside; those of contexts end with them. Two entries are dots. */
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int workers = cores > 9 ? 8 : cores > 2 ? (int)cores - 1 : 1;
    EXPECT_TRUE(threads_come_down_to(2 + 1 + workers + 1), "more than %d threads", 1 + workers + 1);
    /* One refusal at most: a rule fires once, and all that follows works, or nothing does. */
    const char *message = aclGetRecentErrMsg();
    int is_whole = refusals <= 2 || (message != NULL && strstr(message, "could not be set up") != NULL);
    EXPECT_TRUE(is_whole, "%d refusals, the last message is %s", refusals, message == NULL ? "(none)" : message);
    size_t free_bytes = 0, total = 0;
    if (aclrtSetDevice(0) == 0 || aclrtSetDevice(0) == 0) {
        UNDO(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
        EXPECT_TRUE(free_bytes == total, "%zu of %zu bytes are free", free_bytes, total);
        UNDO(aclrtResetDevice(0));
    }
    return finish();
}
