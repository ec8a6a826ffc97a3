// soc: Ascend310B Ascend910A
/* Products without captures refuse the functions with 207000 (6). */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    aclmdlRI graph = NULL;
    aclmdlRICaptureStatus status;
    aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
    EXPECT_CODE(aclmdlRICaptureBegin(stream, mode), 207000);
    EXPECT_CODE(aclmdlRICaptureEnd(stream, &graph), 207000);
    EXPECT_CODE(aclmdlRICaptureGetInfo(stream, &status, &graph), 207000);
    EXPECT_CODE(aclmdlRICaptureThreadExchangeMode(&mode), 207000);
    EXPECT_CODE(aclmdlRICaptureTaskGrpBegin(stream), 207000);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
