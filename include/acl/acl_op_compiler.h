/**
 * @file acl_op_compiler.h
 * Calling operators by name. softacl implements the operators that only copy memory, listed in docs/pytorch.md. It
 * refuses all others with 207000 and a message that names the operator. Nothing is compiled.
 */
#ifndef ACL_ACL_OP_COMPILER_H_
#define ACL_ACL_OP_COMPILER_H_

#include "acl/acl_base.h"
#include "acl/acl_op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How an operator is looked up. No effect in softacl. */
typedef enum aclCompileType {
    ACL_COMPILE_SYS,
    ACL_COMPILE_UNREGISTERED,
} aclopCompileType;

/** Compiler options. Only the option that programs use with softacl has a name. */
typedef enum {
    ACL_OP_JIT_COMPILE = 10, /**< "enable" or "disable": whether operators are compiled at run time */
} aclCompileOpt;

/**
 * Queues an operator. All tensors are on one device. Shapes, permutations and fill values are on the host and are
 * read before the call returns. Bounds are checked against the data buffers and the allocations.
 */
ACL_FUNC_VISIBILITY aclError aclopCompileAndExecute(const char *opType, int numInputs,
    const aclTensorDesc *const inputDesc[], const aclDataBuffer *const inputs[], int numOutputs,
    const aclTensorDesc *const outputDesc[], aclDataBuffer *const outputs[], const aclopAttr *attr,
    aclopEngineType engineType, aclopCompileType compileFlag, const char *opPath, aclrtStream stream);

/** Variant of aclopCompileAndExecute that can also return output shapes, which no operator in softacl needs. */
ACL_FUNC_VISIBILITY aclError aclopCompileAndExecuteV2(const char *opType, int numInputs,
    aclTensorDesc *inputDesc[], aclDataBuffer *inputs[], int numOutputs, aclTensorDesc *outputDesc[],
    aclDataBuffer *outputs[], aclopAttr *attr, aclopEngineType engineType, aclopCompileType compileFlag,
    const char *opPath, aclrtStream stream);

/** Sets an option. */
ACL_FUNC_VISIBILITY aclError aclSetCompileopt(aclCompileOpt opt, const char *value);

/** Returns the size of an option value in bytes, including the terminating zero; 0 if it is not set. */
ACL_FUNC_VISIBILITY size_t aclGetCompileoptSize(aclCompileOpt opt);

/** Reads an option. */
ACL_FUNC_VISIBILITY aclError aclGetCompileopt(aclCompileOpt opt, char *value, size_t length);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_OP_COMPILER_H_ */
