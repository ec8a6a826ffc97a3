// softacl-only
/* A profile is one file with the calls, tasks and marks between start and stop. */
#include "../expect.h"

#include <dirent.h>

#include "acl/acl_prof.h"

static char directory[] = "/tmp/profiling-XXXXXX";

/* Returns the text of the file in the directory and removes the file; NULL unless it is the only one. */
static char *take_file(void)
{
    static char text[1 << 20];
    char path[512] = "";
    int files = 0;
    DIR *entries = opendir(directory);
    REQUIRE_TRUE(entries != NULL, "opendir");
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
            files++;
        }
    }
    closedir(entries);
    FILE *file = files == 1 ? fopen(path, "r") : NULL;
    if (file == NULL) {
        return NULL;
    }
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    unlink(path);
    return text;
}

static void copy(aclrtStream stream, void *device, void *host)
{
    EXPECT_OK(aclrtMemcpyAsync(device, 4096, host, 4096, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
}

int main(void)
{
    REQUIRE_OK(aclInit(NULL));
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_TRUE(mkdtemp(directory) != NULL, "mkdtemp");
    /* The checker is an observer itself, so nothing is collected under it. */
    int collects = getenv("SOFTACL_CHECK") == NULL;
    aclrtStream stream = new_stream();
    void *device = NULL, *host = NULL;
    REQUIRE_OK(aclrtMalloc(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    REQUIRE_OK(aclrtMallocHost(&host, 4096));
    memset(host, 1, 4096);
    copy(stream, device, host);

    uint32_t devices[] = {0};
    aclprofConfig *config = aclprofCreateConfig(devices, 1, ACL_AICORE_NONE, NULL, ACL_PROF_ACL_API | ACL_PROF_TASK_TIME);
    REQUIRE_TRUE(config != NULL, "configuration");
    aclprofConfig *other = aclprofCreateConfig(NULL, 0, ACL_AICORE_PIPE_UTILIZATION, NULL, 0);
    REQUIRE_TRUE(other != NULL, "configuration without devices");

    /* The order of the calls. */
    EXPECT_CODE(aclprofStart(config), ACL_ERROR_PROF_NOT_RUN);
    EXPECT_CODE(aclprofStop(config), ACL_ERROR_PROF_NOT_RUN);
    EXPECT_CODE(aclprofFinalize(), ACL_ERROR_PROF_NOT_RUN);
    EXPECT_CODE(aclprofInit(NULL, 3), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(aclprofInit(directory, 0), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(aclprofInit("/no/such/directory", 18), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(aclprofInit(directory, strlen(directory)));
    EXPECT_CODE(aclprofInit(directory, strlen(directory)), ACL_ERROR_PROF_ALREADY_RUN);
    EXPECT_CODE(aclprofStop(config), ACL_ERROR_PROF_NOT_RUN);
    EXPECT_CODE(aclprofStart(NULL), ACL_ERROR_INVALID_PARAM);
    EXPECT_OK(aclprofStart(config));
    EXPECT_CODE(aclprofStart(config), ACL_ERROR_PROF_ALREADY_RUN);
    EXPECT_CODE(aclprofStop(other), ACL_ERROR_INVALID_PARAM);

    /* What happens now is collected. Memory from before the start has its direction, too. */
    copy(stream, device, host);
    EXPECT_OK(aclprofMarkEx("half time", 9, stream));
    EXPECT_OK(aclrtMemcpyAsync(host, 4096, device, 4096, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclprofStop(config));
    char *text = take_file();
    EXPECT_TRUE((text != NULL) == collects, "one file");
    if (text != NULL) {
        EXPECT_TRUE(strstr(text, "aclrtMemcpyAsync") != NULL, "the calls");
        EXPECT_TRUE(strstr(text, "\"copy H2D\"") != NULL && strstr(text, "\"copy D2H\"") != NULL, "the tasks");
        EXPECT_TRUE(strstr(text, "\"half time\"") != NULL && strstr(text, "\"mark: half time\"") != NULL, "the marks");
        EXPECT_TRUE(strstr(text, "aclrtMallocHost") == NULL, "nothing from before the start");
    }

    /* A second profile has only what is new; finalizing ends it. */
    copy(stream, device, host);
    EXPECT_OK(aclprofStart(other));
    EXPECT_OK(aclrtMemset(device, 4096, 3, 4096));
    EXPECT_OK(aclprofFinalize());
    text = take_file();
    EXPECT_TRUE((text != NULL) == collects, "one file");
    if (text != NULL) {
        EXPECT_TRUE(strstr(text, "aclrtMemset") != NULL && strstr(text, "aclrtMemcpyAsync") == NULL, "only what is new");
    }
    copy(stream, device, host);
    EXPECT_CODE(aclprofStart(config), ACL_ERROR_PROF_NOT_RUN);

    /* Configurations. */
    uint32_t unknown[] = {0, 77};
    EXPECT_TRUE(aclprofCreateConfig(unknown, 2, ACL_AICORE_NONE, NULL, 0) == NULL, "no such device");
    EXPECT_TRUE(aclprofCreateConfig(NULL, 2, ACL_AICORE_NONE, NULL, 0) == NULL, "no list");
    EXPECT_TRUE(aclprofCreateConfig((uint32_t *)16, 2, ACL_AICORE_NONE, NULL, 0) == NULL, "a wild list");
    EXPECT_TRUE(aclprofCreateConfig(devices, 1, (aclprofAicoreMetrics)77, NULL, 0) == NULL, "no such metrics");
    EXPECT_OK(aclprofDestroyConfig(config));
    EXPECT_OK(aclprofDestroyConfig(other));
    EXPECT_CODE(aclprofDestroyConfig(config), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(aclprofStart(config), ACL_ERROR_INVALID_PARAM);

    rmdir(directory);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_OK(aclFinalize());
    return finish();
}
