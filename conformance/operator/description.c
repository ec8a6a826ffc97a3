// soc: all
// softacl-only
/* Tensor descriptions, data buffers, attributes and compile options store values; queries return what was set. */
#include "call.h"

/* The pointer of a buffer is a handle: what is not a live buffer has no contents. */
static void data_buffers(void)
{
    char memory[64];
    aclDataBuffer *buffer = aclCreateDataBuffer(memory, 48);
    REQUIRE_TRUE(buffer != NULL, "%s", "no buffer");
    EXPECT_TRUE(aclGetDataBufferAddr(buffer) == memory, "%p", aclGetDataBufferAddr(buffer));
    EXPECT_TRUE(aclGetDataBufferSizeV2(buffer) == 48, "%zu bytes", aclGetDataBufferSizeV2(buffer));
    EXPECT_OK(aclUpdateDataBuffer(buffer, memory + 1, ((size_t)1 << 32) + 5));
    EXPECT_TRUE(aclGetDataBufferAddr(buffer) == memory + 1, "%p", aclGetDataBufferAddr(buffer));
    EXPECT_TRUE(aclGetDataBufferSizeV2(buffer) == ((size_t)1 << 32) + 5, "%zu bytes", aclGetDataBufferSizeV2(buffer));
    EXPECT_TRUE(aclGetDataBufferSize(buffer) == 5, "the old query has the low 32 bits: %u", aclGetDataBufferSize(buffer));
    EXPECT_OK(aclDestroyDataBuffer(buffer));
    EXPECT_FAILS(aclDestroyDataBuffer(buffer));
    EXPECT_FAILS(aclUpdateDataBuffer(buffer, memory, 1));
    EXPECT_FAILS(aclUpdateDataBuffer(NULL, memory, 1));
    EXPECT_TRUE(aclGetDataBufferAddr(buffer) == NULL, "%s", "a destroyed buffer has an address");
    EXPECT_TRUE(aclGetDataBufferSizeV2((aclDataBuffer *)memory) == 0, "%s", "host memory has a size");
}

int main(void)
{
    data_buffers();
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
