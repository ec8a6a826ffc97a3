/*
 * Calls of operators in few words: tensors by type and shape, small inputs on the host.
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
    Tensor made = {aclCreateTensorDesc(type, rank, dims, ACL_FORMAT_ND), aclCreateDataBuffer(data, size)};
    REQUIRE_TRUE(made.desc != NULL && made.buffer != NULL, "%s", "no tensor");
    return made;
}

/* Numbers that the operator reads when it is called; they lie on the host. */
static inline Tensor numbers(int count, int64_t *values)
{
    int64_t dims[] = {count};
    Tensor made = tensor(ACL_INT64, 1, dims, values, (size_t)count * sizeof *values);
    REQUIRE_OK(aclSetTensorPlaceMent(made.desc, ACL_MEMTYPE_HOST));
    return made;
}

static inline void destroy_tensor(Tensor used)
{
    aclDestroyTensorDesc(used.desc);
    EXPECT_OK(aclDestroyDataBuffer(used.buffer));
}

/* Queues an operator and ends the tensors, which clients do while it may still be queued. */
static inline aclError call(const char *name, int count, const Tensor *inputs, Tensor output, const aclopAttr *attr, aclrtStream stream)
{
    const aclTensorDesc *descs[8] = {NULL};
    const aclDataBuffer *buffers[8] = {NULL};
    for (int i = 0; i < count; i++) {
        descs[i] = inputs[i].desc;
        buffers[i] = inputs[i].buffer;
    }
    const aclTensorDesc *output_descs[] = {output.desc};
    aclDataBuffer *output_buffers[] = {output.buffer};
    aclError code = aclopCompileAndExecute(name, count, descs, buffers, 1, output_descs, output_buffers, attr, ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL, stream);
    for (int i = 0; i < count; i++) {
        destroy_tensor(inputs[i]);
    }
    destroy_tensor(output);
    return code;
}

#endif
