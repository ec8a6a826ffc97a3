/*
 * Helpers that call operators: tensors by type and shape, small inputs on the host.
 */
#ifndef CONFORMANCE_OPERATOR_CALL_H
#define CONFORMANCE_OPERATOR_CALL_H

#include "../expect.h"
#include "acl/acl_op_compiler.h"

typedef struct {
    aclTensorDesc *desc;
    aclDataBuffer *buffer;
} Tensor;

static inline Tensor tensor(aclDataType type, int rank, const int64_t *dims, void *data, size_t size)
{
    Tensor result = {aclCreateTensorDesc(type, rank, dims, ACL_FORMAT_ND), aclCreateDataBuffer(data, size)};
    REQUIRE_TRUE(result.desc != NULL && result.buffer != NULL, "%s", "no tensor");
    return result;
}

/* Tensor of int64 values in host memory, which the operator reads during the call. */
static inline Tensor host_int64_tensor(int count, int64_t *values)
{
    int64_t dims[] = {count};
    Tensor result = tensor(ACL_INT64, 1, dims, values, (size_t)count * sizeof *values);
    REQUIRE_OK(aclSetTensorPlaceMent(result.desc, ACL_MEMTYPE_HOST));
    return result;
}

static inline void destroy_tensor(Tensor tensor)
{
    aclDestroyTensorDesc(tensor.desc);
    EXPECT_OK(aclDestroyDataBuffer(tensor.buffer));
}

/* Queues an operator and destroys its tensors, as clients do while the operator may still be queued. */
static inline aclError call_operator(const char *name, int count, const Tensor *inputs, Tensor output,
                                     const aclopAttr *attr, aclrtStream stream)
{
    const aclTensorDesc *descs[8] = {NULL};
    const aclDataBuffer *buffers[8] = {NULL};
    for (int i = 0; i < count; i++) {
        descs[i] = inputs[i].desc;
        buffers[i] = inputs[i].buffer;
    }
    const aclTensorDesc *output_descs[] = {output.desc};
    aclDataBuffer *output_buffers[] = {output.buffer};
    aclError code = aclopCompileAndExecute(name, count, descs, buffers, 1, output_descs, output_buffers, attr,
                                           ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL, stream);
    for (int i = 0; i < count; i++) {
        destroy_tensor(inputs[i]);
    }
    destroy_tensor(output);
    return code;
}

#endif
