// soc: all
// softacl-only
/* Client usage: frameworks call many operators. Those that softacl does not implement fail with an error that names
 * them and do not touch the output, because success without a computation would yield wrong tensors. */
#include "../operator/call.h"

#define COUNT 16

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *device = (uint8_t *)device_memory(COUNT * 4);
    device_fill(device, COUNT * 4, 3);
    const char *names[] = {"Add", "MatMulV2", "IsFinite", "GatherV2", "", "cast"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int64_t dims[] = {COUNT};
        Tensor inputs[] = {tensor(ACL_FLOAT, 1, dims, device, COUNT * 4),
                           tensor(ACL_FLOAT, 1, dims, device, COUNT * 4)};
        EXPECT_SOFTACL_CODE(call_operator(names[i], 2, inputs, tensor(ACL_FLOAT, 1, dims, device, COUNT * 4), NULL,
                                          stream), 207000);
        const char *text = aclGetRecentErrMsg();
        EXPECT_TRUE(text != NULL && strstr(text, names[i]) != NULL, "%s", text == NULL ? "(none)" : text);
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, COUNT * 4, 3);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
