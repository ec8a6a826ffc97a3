// softacl-only
// soc: Ascend910B Ascend310P
// expects: H2
// sanitize: none (thousands of cycles take minutes)
/* Thousands of aclrtSetDevice and aclrtResetDevice leak no memory, files or mappings. */
#include "../expect.h"
#include <dirent.h>

#define CYCLES 3000
#define SIZE (64u << 10)

static int open_files(void)
{
    DIR *directory = opendir("/proc/self/fd");
    REQUIRE_TRUE(directory != NULL, "/proc/self/fd");
    int count = 0;
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

/* Resident kilobytes and number of mappings of this process. */
static void measure(long *resident, int *mappings)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long total = 0;
    REQUIRE_TRUE(file != NULL && fscanf(file, "%ld %ld", &total, resident) == 2, "statm");
    fclose(file);
    *resident *= sysconf(_SC_PAGESIZE) / 1024;
    file = fopen("/proc/self/maps", "r");
    REQUIRE_TRUE(file != NULL, "maps");
    *mappings = 0;
    for (int c; (c = fgetc(file)) != EOF;) {
        *mappings += c == '\n';
    }
    fclose(file);
}

int main(void)
{
    static int ran;
    long first = 0, last = 0;
    int first_files = 0, first_mappings = 0, mappings = 0;
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        REQUIRE_OK(aclrtSetDevice(cycle % 2));
        aclrtStream stream = new_stream();
        uint8_t *device = NULL, *pinned = NULL;
        REQUIRE_OK(aclrtMalloc((void **)&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
        REQUIRE_OK(aclrtMallocHost((void **)&pinned, SIZE));
        memset(pinned, cycle, SIZE);
        REQUIRE_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        if (cycle % 10 == 0) {
            REQUIRE_OK(aclrtLaunchHostFunc(stream, count_up, &ran)); /* makes the context start a thread */
        }
        REQUIRE_OK(aclrtFreeHost(pinned));
        /* The reset releases the stream with its queued tasks and the memory. */
        REQUIRE_OK(cycle % 3 == 0 ? aclrtResetDeviceForce(cycle % 2) : aclrtResetDevice(cycle % 2));
        if (cycle == CYCLES / 3) {
            measure(&first, &first_mappings);
            first_files = open_files();
        }
    }
    measure(&last, &mappings);
    EXPECT_TRUE(count_of(&ran) == CYCLES / 10, "%d", count_of(&ran));
    EXPECT_TRUE(last < first + 2048, "%ld KiB became %ld", first, last);
    EXPECT_TRUE(open_files() <= first_files, "%d files became %d", first_files, open_files());
    EXPECT_TRUE(mappings <= first_mappings + 16, "%d mappings became %d", first_mappings, mappings);
    printf("%d cycles, %ld KiB resident\n", CYCLES, last);
    return finish();
}
