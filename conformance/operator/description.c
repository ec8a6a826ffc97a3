// soc: all
// softacl-only
/* Tensor descriptions, attributes and compile options store values; queries return what was set. */
#include "call.h"

int main(void)
{
    int64_t dims[] = {2, 3, 4};
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_FLOAT16, 3, dims, ACL_FORMAT_ND);
    REQUIRE_TRUE(desc != NULL, "%s", "no description");
    dims[0] = 9; /* no effect: the dimensions were copied */
    EXPECT_TRUE(aclGetTensorDescType(desc) == ACL_FLOAT16, "type %d", aclGetTensorDescType(desc));
    EXPECT_TRUE(aclGetTensorDescFormat(desc) == ACL_FORMAT_ND, "format %d", aclGetTensorDescFormat(desc));
    EXPECT_TRUE(aclGetTensorDescNumDims(desc) == 3, "%zu dimensions", aclGetTensorDescNumDims(desc));
    EXPECT_TRUE(aclGetTensorDescElementCount(desc) == 24, "%zu elements", aclGetTensorDescElementCount(desc));
    EXPECT_TRUE(aclGetTensorDescSize(desc) == 48, "%zu bytes", aclGetTensorDescSize(desc));
    int64_t size = 0;
    EXPECT_OK(aclGetTensorDescDimV2(desc, 2, &size));
    EXPECT_TRUE(size == 4, "dimension %lld", (long long)size);
    EXPECT_FAILS(aclGetTensorDescDimV2(desc, 3, &size));
    EXPECT_FAILS(aclGetTensorDescDimV2(desc, 0, NULL));
    aclSetTensorDescName(desc, "x");
    EXPECT_OK(aclSetTensorFormat(desc, ACL_FORMAT_NCHW));
    EXPECT_OK(aclSetTensorShape(desc, 3, dims));
    EXPECT_OK(aclSetTensorPlaceMent(desc, ACL_MEMTYPE_HOST));
    aclDestroyTensorDesc(desc);

    aclTensorDesc *scalar = aclCreateTensorDesc(ACL_INT64, 0, NULL, ACL_FORMAT_ND);
    REQUIRE_TRUE(scalar != NULL, "%s", "no scalar");
    EXPECT_TRUE(aclGetTensorDescElementCount(scalar) == 1, "%zu elements", aclGetTensorDescElementCount(scalar));
    aclDestroyTensorDesc(scalar);

    aclopAttr *attr = aclopCreateAttr();
    int64_t values[] = {1, 2, 3};
    EXPECT_OK(aclopSetAttrInt(attr, "a", 1));
    EXPECT_OK(aclopSetAttrListInt(attr, "b", 3, values));
    EXPECT_OK(aclopSetAttrString(attr, "c", "text"));
    EXPECT_FAILS(aclopSetAttrInt(attr, NULL, 1));
    aclopDestroyAttr(attr);

    EXPECT_OK(aclSetCompileopt(ACL_OP_JIT_COMPILE, "disable"));
    char value[16] = "";
    EXPECT_TRUE(aclGetCompileoptSize(ACL_OP_JIT_COMPILE) == 8, "%zu bytes", aclGetCompileoptSize(ACL_OP_JIT_COMPILE));
    EXPECT_OK(aclGetCompileopt(ACL_OP_JIT_COMPILE, value, sizeof value));
    EXPECT_TRUE(strcmp(value, "disable") == 0, "%s", value);
    return finish();
}
