// soc: all
// schedules: all
// expects: C1 C2 M1
/* aclrtMemset and aclrtMemsetAsync: the checks (1.8) and their order. */
#include "../expect.h"

#define SIZE 128

static uint8_t *device, *pinned;
static aclrtStream stream, stale;

static void *without_context(void *unused)
{
    (void)unused;
    EXPECT_OK(aclrtMemset(NULL, 0, 1, 0));
    EXPECT_CODE(aclrtMemset(device, SIZE, 1, SIZE), 107002);                     /* 1.8 memset, no context */
    EXPECT_CODE(aclrtMemsetAsync(device, SIZE, 1, SIZE, stale), 107017);         /* 1.8 async, handle before context */
    EXPECT_CODE(aclrtMemsetAsync(device, SIZE - 1, 1, SIZE, stream), 107000);    /* 1.8 async, size before context */
    EXPECT_CODE(aclrtMemsetAsync(device, SIZE, 1, SIZE, stream), 107002);        /* 1.8 async, no context */
    EXPECT_CODE(aclrtMemsetAsync(device, SIZE, 1, SIZE, NULL), 107002);
    return NULL;
}

int main(void)
{
    static uint8_t pageable[SIZE];
    EXPECT_OK(aclrtMemset(pageable, SIZE, 1, 0));
    EXPECT_CODE(aclrtMemset(NULL, SIZE, 1, SIZE), 100000);
    EXPECT_CODE(aclrtMemset(pageable, SIZE, 1, SIZE), 107002);
    REQUIRE_OK(aclrtSetDevice(0));
    device = (uint8_t *)device_memory(SIZE);
    pinned = (uint8_t *)pinned_memory(SIZE);
    stream = new_stream();
    stale = stale_stream();

    EXPECT_OK(aclrtMemset(NULL, 0, 1, 0));                 /* 1.8 memset: count 0 is checked first */
    EXPECT_CODE(aclrtMemset(NULL, SIZE, 1, SIZE), 100000); /* 1.8 memset: null */
    EXPECT_FAILS(aclrtMemset(device, SIZE - 1, 1, SIZE));  /* 1.8 memset: refused by the driver */
    EXPECT_FAILS(aclrtMemset(device, 0, 1, 1));
    EXPECT_OK(aclrtMemsetAsync(NULL, 0, 1, 0, stale));                        /* 1.8 async: count 0 is checked first */
    EXPECT_CODE(aclrtMemsetAsync(NULL, SIZE, 1, SIZE, stale), 100000);        /* 1.8 async: null before handle */
    EXPECT_CODE(aclrtMemsetAsync(device, SIZE, 1, SIZE, stale), 107017);      /* 1.8 async: handle */
    EXPECT_CODE(aclrtMemsetAsync(device, SIZE - 1, 1, SIZE, stale), 107017);  /* handle before size */
    EXPECT_CODE(aclrtMemsetAsync(device, SIZE - 1, 1, SIZE, stream), 107000); /* 1.8 async: count > maxCount */
    EXPECT_CODE(aclrtMemsetAsync(pinned, 0, 1, SIZE, stream), 107000);
    in_new_thread(without_context, NULL);

    aclrtContext primary = NULL, other = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    REQUIRE_OK(aclrtCreateContext(&other, 0));
    EXPECT_CODE(aclrtMemsetAsync(device, SIZE, 1, SIZE, stream), 107003);        /* 1.8 async: other context */
    REQUIRE_OK(aclrtSetCurrentContext(primary));
    EXPECT_OK(aclrtDestroyContext(other));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(device, SIZE, 0);
    EXPECT_VALUE(pinned, SIZE, 0);

    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
