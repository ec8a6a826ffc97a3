// soc: Ascend910B
// softacl-only
/* A ring of small slots in one page: each slot is in flight on its own, and the program fills and reads the others, more
 * often than the checker follows. */
#include "../expect.h"

#define SLOT 256
#define SLOTS 16

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    volatile uint8_t *in = (volatile uint8_t *)pinned_memory(SLOT * SLOTS);
    volatile uint8_t *out = (volatile uint8_t *)pinned_memory(SLOT * SLOTS);
    uint8_t *device = (uint8_t *)device_memory(SLOT * SLOTS);
    aclrtEvent events[SLOTS];
    for (int i = 0; i < SLOTS; i++) {
        REQUIRE_OK(aclrtCreateEventExWithFlag(&events[i], ACL_EVENT_SYNC));
    }
    for (int i = 0; i < 3 * SLOTS; i++) {
        int slot = i % SLOTS;
        volatile uint8_t *from = in + slot * SLOT, *to = out + slot * SLOT;
        if (i >= SLOTS) {
            EXPECT_OK(aclrtSynchronizeEvent(events[slot]));
            for (int k = 0; k < SLOT; k++) {
                REQUIRE_TRUE(to[k] == (uint8_t)(i - SLOTS), "slot %d byte %d is %d", slot, k, to[k]);
            }
        }
        for (int pass = 0; pass < 3; pass++) {
            for (int k = 0; k < SLOT; k++) {
                from[k] = (uint8_t)i;
                to[k] = 0;
            }
        }
        EXPECT_OK(aclrtMemcpyAsync(device + slot * SLOT, SLOT, (void *)from, SLOT, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_OK(aclrtMemcpyAsync((void *)to, SLOT, device + slot * SLOT, SLOT, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        EXPECT_OK(aclrtRecordEvent(events[slot], stream));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < SLOTS; i++) {
        EXPECT_OK(aclrtDestroyEvent(events[i]));
    }
    EXPECT_OK(aclrtFreeHost((void *)in));
    EXPECT_OK(aclrtFreeHost((void *)out));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
