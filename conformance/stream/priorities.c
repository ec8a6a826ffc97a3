// soc: all
// schedules: all
// env: SOFTACL_CANN=8.5
// softacl-only
/* Correction 20: CANN 8.5 refuses priorities outside 0 to 7 on a 310P; other products clamp them, as 9.0 does. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    for (uint32_t priority = 0; priority < 10; priority++) {
        aclrtStream stream = NULL;
        uint32_t clamped = 99;
        if (family() == FAMILY_310P && priority > 7) {
            EXPECT_CODE(aclrtCreateStreamWithConfig(&stream, priority, 0), 107000);
            continue;
        }
        REQUIRE_OK(aclrtCreateStreamWithConfig(&stream, priority, 0));
        EXPECT_OK(aclrtStreamGetPriority(stream, &clamped));
        EXPECT_TRUE(clamped == (priority > 7 ? 7 : priority), "priority %u became %u", priority, clamped);
        EXPECT_OK(aclrtDestroyStream(stream));
    }
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
