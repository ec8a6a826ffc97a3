// soc: all
// schedules: all
// expects: C2 L2 M1
/* aclrtMemcpy: every row of its check table (1.1), and which row takes precedence if two apply. */
#include "../expect.h"

#define SIZE 256

int main(void)
{
    static uint8_t a[SIZE], b[SIZE];
    fill_pattern(a, SIZE, 1);

    /* No device is set yet. */
    EXPECT_OK(aclrtMemcpy(b, SIZE, a, 0, ACL_MEMCPY_HOST_TO_HOST));                  /* 1.1 row 1 before row 8 */
    EXPECT_OK(aclrtMemcpy(NULL, 0, NULL, 0, (aclrtMemcpyKind)99));                   /* 1.1 row 1 before rows 2 to 5 */
    EXPECT_CODE(aclrtMemcpy(NULL, SIZE, a, SIZE, ACL_MEMCPY_HOST_TO_HOST), 100000);  /* 1.1 row 2 before row 8 */
    EXPECT_CODE(aclrtMemcpy(b, SIZE, NULL, SIZE, ACL_MEMCPY_HOST_TO_HOST), 100000);  /* 1.1 row 3 before row 8 */
    EXPECT_CODE(aclrtMemcpy(b, SIZE, a, SIZE, (aclrtMemcpyKind)6), 100000);          /* 1.1 row 4 before row 8 */
    EXPECT_CODE(aclrtMemcpy(b, 0, a, SIZE, ACL_MEMCPY_HOST_TO_HOST), 107000);        /* 1.1 row 5 before row 8 */
    EXPECT_CODE(aclrtMemcpy(b, SIZE - 1, a, SIZE, ACL_MEMCPY_HOST_TO_HOST), 107000); /* 1.1 row 6 before row 8 */
    EXPECT_OK(aclrtMemcpy(a, SIZE, a, SIZE, ACL_MEMCPY_HOST_TO_HOST));               /* 1.1 row 7 before row 8 */
    EXPECT_CODE(aclrtMemcpy(b, SIZE, a, SIZE, ACL_MEMCPY_HOST_TO_HOST), 107002);     /* 1.1 row 8, even host to host */
    EXPECT_CODE(aclrtMemcpy(b, SIZE, a, SIZE, ACL_MEMCPY_DEFAULT), 107002);          /* 1.1 row 8 */
    EXPECT_VALUE(b, SIZE, 0);

    REQUIRE_OK(aclrtSetDevice(0));
    void *device = device_memory(SIZE);

    EXPECT_OK(aclrtMemcpy(device, SIZE, a, 0, ACL_MEMCPY_HOST_TO_DEVICE));                 /* 1.1 row 1 */
    EXPECT_OK(aclrtMemcpy(device, 0, a, 0, ACL_MEMCPY_HOST_TO_DEVICE));                    /* 1.1 row 1 before row 5 */
    EXPECT_OK(aclrtMemcpy(NULL, SIZE, a, 0, ACL_MEMCPY_HOST_TO_DEVICE));                   /* 1.1 row 1 before row 2 */
    EXPECT_OK(aclrtMemcpy(device, SIZE, a, 0, (aclrtMemcpyKind)7));                        /* 1.1 row 1 before row 4 */
    EXPECT_CODE(aclrtMemcpy(NULL, SIZE, a, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), 100000);      /* 1.1 row 2 */
    EXPECT_CODE(aclrtMemcpy(NULL, 0, a, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), 100000);         /* 1.1 row 2 before row 5 */
    EXPECT_CODE(aclrtMemcpy(device, SIZE, NULL, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), 100000); /* 1.1 row 3 */
    /* 1.1 rows 2, 3 before row 7 */
    EXPECT_CODE(aclrtMemcpy(NULL, SIZE, NULL, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), 100000);
    for (int kind = -1; kind <= 12; kind++) {
        aclError want = kind >= 0 && kind <= 5 ? 0 : 100000;
        EXPECT_CODE(aclrtMemcpy(device, SIZE, a, SIZE, (aclrtMemcpyKind)kind), want);      /* 1.1 row 4 */
    }
    EXPECT_CODE(aclrtMemcpy(device, 0, a, SIZE, (aclrtMemcpyKind)6), 100000);              /* 1.1 row 4 before row 5 */
    EXPECT_CODE(aclrtMemcpy(device, 0, a, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), 107000);       /* 1.1 row 5 */
    EXPECT_CODE(aclrtMemcpy(a, 0, a, SIZE, ACL_MEMCPY_HOST_TO_HOST), 107000);              /* 1.1 row 5 before row 7 */
    EXPECT_CODE(aclrtMemcpy(device, 10, a, 11, ACL_MEMCPY_HOST_TO_DEVICE), 107000);        /* 1.1 row 6 */
    EXPECT_CODE(aclrtMemcpy(a, 10, a, 11, ACL_MEMCPY_HOST_TO_HOST), 107000);               /* 1.1 row 6 before row 7 */
    EXPECT_CODE(aclrtMemcpy(device, SIZE, a, SIZE_MAX, ACL_MEMCPY_HOST_TO_DEVICE), 107000); /* 1.1 row 6, huge count */
    EXPECT_OK(aclrtMemcpy(device, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE));       /* 1.1 row 7 */
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);

    /* A destMax that exceeds the destination is not an error. */
    EXPECT_OK(aclrtMemcpy(device, SIZE_MAX, a, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));

    EXPECT_OK(aclrtFree(device));
    REQUIRE_OK(aclrtResetDevice(0));
    EXPECT_CODE(aclrtMemcpy(b, SIZE, a, SIZE, ACL_MEMCPY_HOST_TO_HOST), 107002);           /* 4.7: after the reset */
    return finish();
}
