// soc: all
// schedules: all
// expects: C2 M1
/* Peer access: argument checks and their order, and the products without it (5). Needs two devices. */
#include "../expect.h"

static void *without_context(void *unused)
{
    (void)unused;
    int32_t out = -1;
    EXPECT_CODE(aclrtDeviceEnablePeerAccess(1, 1), 200006);  /* 5 Enable: the flags are checked first */
    EXPECT_FAILS(aclrtDeviceEnablePeerAccess(1, 0));
    EXPECT_FAILS(aclrtDeviceDisablePeerAccess(1));
    EXPECT_CODE(aclrtDevicePeerAccessStatus(0, 1, NULL), 100000);
    if (family() != FAMILY_310B) {
        EXPECT_CODE(aclrtDeviceEnablePeerAccess(1, 0), 107002);          /* 5 Enable: no device */
        EXPECT_CODE(aclrtDeviceDisablePeerAccess(1), 107002);            /* 5 Disable: no device */
        EXPECT_CODE(aclrtDeviceCanAccessPeer(&out, 0, 1), 107002);       /* 5 CanAccess: no context */
        EXPECT_CODE(aclrtDevicePeerAccessStatus(0, 1, &out), 107002);    /* 5 Status: needs a context */
    }
    return NULL;
}

int main(void)
{
    uint32_t devices = 0;
    int32_t out = -1;
    REQUIRE_OK(aclrtGetDeviceCount(&devices));
    REQUIRE_TRUE(devices >= 2, "this program needs two devices");
    in_new_thread(without_context, NULL);
    REQUIRE_OK(aclrtSetDevice(0));

    EXPECT_CODE(aclrtDeviceCanAccessPeer(&out, 0, 0), 100000);  /* 5 CanAccess: a device and itself */
    EXPECT_CODE(aclrtDeviceCanAccessPeer(NULL, 1, 1), 100000);
    EXPECT_CODE(aclrtDeviceEnablePeerAccess(1, 1), 200006);     /* 5 Enable: flags */
    EXPECT_CODE(aclrtDeviceEnablePeerAccess(0, 7), 200006);     /* 5 Enable: flags before peer */
    EXPECT_CODE(aclrtDeviceEnablePeerAccess(0, 0), 100000);     /* 5 Enable: peer is current */
    EXPECT_CODE(aclrtDeviceDisablePeerAccess(0), 100000);       /* 5 Disable: peer is current */
    EXPECT_CODE(aclrtDevicePeerAccessStatus(0, 1, NULL), 100000); /* 5 Status: null */
    EXPECT_OK(aclrtDevicePeerAccessStatus(0, 1, &out));
    aclError got = aclrtDevicePeerAccessStatus(0, 60, &out); /* 5 Status: out of range is 0 or 107000 */
    EXPECT_TRUE(got == 107000 || (got == 0 && out == 0), "code %d status %d", got, out);

    if (family() == FAMILY_310B) { /* sections 5 and 6: not on this product */
        EXPECT_CODE(aclrtDeviceCanAccessPeer(&out, 0, 1), 207000);
        EXPECT_CODE(aclrtDeviceEnablePeerAccess(1, 0), 207000);
        EXPECT_CODE(aclrtDeviceDisablePeerAccess(1), 207000);
    } else {
        EXPECT_CODE(aclrtDeviceCanAccessPeer(NULL, 0, 1), 107000); /* 5 CanAccess: null, checked by the runtime layer */
        EXPECT_FAILS(aclrtDeviceCanAccessPeer(&out, 0, 64));
        EXPECT_FAILS(aclrtDeviceCanAccessPeer(&out, -1, 0));
        EXPECT_FAILS(aclrtDeviceEnablePeerAccess(64, 0));
        EXPECT_FAILS(aclrtDeviceEnablePeerAccess(-1, 0));
        EXPECT_FAILS(aclrtDeviceDisablePeerAccess(1)); /* 5 Disable: not enabled */
        out = -1;
        EXPECT_OK(aclrtDeviceCanAccessPeer(&out, 0, 1));
        EXPECT_TRUE(out == 0 || out == 1, "can %d", out);

        /* Corrections, rule 11: the status is 1 as soon as a copy would be allowed, which one call is enough for; a
         * repeated call succeeds. Clients poll the status after their one call. */
        EXPECT_OK(aclrtDevicePeerAccessStatus(0, 1, &out));
        EXPECT_TRUE(out == 0 || family() == FAMILY_A3, "nothing is enabled: status %d", out);
        EXPECT_OK(aclrtDeviceEnablePeerAccess(1, 0));
        EXPECT_OK(aclrtDeviceEnablePeerAccess(1, 0));
        out = -1;
        EXPECT_OK(aclrtDevicePeerAccessStatus(0, 1, &out));
        EXPECT_TRUE(out == 1, "one side: status %d", out);
        out = -1;
        EXPECT_OK(aclrtDevicePeerAccessStatus(1, 0, &out));
        EXPECT_TRUE(out == 1, "one side, from the other: status %d", out);
        REQUIRE_OK(aclrtSetDevice(1));
        EXPECT_OK(aclrtDeviceEnablePeerAccess(0, 0));
        EXPECT_OK(aclrtDevicePeerAccessStatus(0, 1, &out));
        EXPECT_TRUE(out == 1, "both sides: status %d", out);
        EXPECT_OK(aclrtDeviceDisablePeerAccess(0));
        EXPECT_FAILS(aclrtDeviceDisablePeerAccess(0));
        EXPECT_OK(aclrtDevicePeerAccessStatus(0, 1, &out));
        EXPECT_TRUE(out == 1, "one side again: status %d", out);
        REQUIRE_OK(aclrtResetDevice(1));
        REQUIRE_OK(aclrtSetDevice(0));
        EXPECT_OK(aclrtDeviceDisablePeerAccess(1));
        EXPECT_OK(aclrtDevicePeerAccessStatus(0, 1, &out));
        EXPECT_TRUE(out == 0 || family() == FAMILY_A3, "disabled again: status %d", out);
    }

    /* 1.11 aclrtMemP2PMap */
    void *device = device_memory(4096);
    EXPECT_CODE(aclrtMemP2PMap(NULL, 4096, 1, 0), 100000);
    EXPECT_CODE(aclrtMemP2PMap(device, 0, 1, 0), 100000);
    EXPECT_CODE(aclrtMemP2PMap(device, 4096, 1, 1), 100000);
    if (family() == FAMILY_310B) {
        EXPECT_CODE(aclrtMemP2PMap(device, 4096, 1, 0), 207000);
    } else {
        EXPECT_CODE(aclrtMemP2PMap(device, 4096, 64, 0), 107001);
        EXPECT_CODE(aclrtMemP2PMap(device, 4096, -1, 0), 107001);
        /* The mapping needs peer access, except on A3. */
        if (family() != FAMILY_A3) {
            EXPECT_SOFTACL_CODE(aclrtMemP2PMap(device, 4096, 1, 0), 507899);
        }
        EXPECT_OK(aclrtDeviceEnablePeerAccess(1, 0));
        EXPECT_OK(aclrtMemP2PMap(device, 4096, 1, 0));
        EXPECT_FAILS(aclrtMemP2PMap(device, 4097, 1, 0));
        EXPECT_FAILS(aclrtMemP2PMap(&out, sizeof out, 1, 0));
        EXPECT_OK(aclrtDeviceDisablePeerAccess(1));
    }
    EXPECT_OK(aclrtFree(device));
    REQUIRE_OK(aclrtResetDeviceForce(0));
    return finish();
}
