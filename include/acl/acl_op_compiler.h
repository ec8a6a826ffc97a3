/**
 * @file acl_op_compiler.h
 * Operators by name. softacl has those that only copy memory, listed in docs/pytorch.md; every other one is
 * refused with 207000 and a sentence that names it. Nothing is compiled.
 */
#ifndef ACL_ACL_OP_COMPILER_H_
#define ACL_ACL_OP_COMPILER_H_

#include "acl/acl_base.h"
#include "acl/acl_op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How an operator is looked for. Without effect here. */
typedef enum aclCompileType {
    ACL_COMPILE_SYS,
    ACL_COMPILE_UNREGISTERED,
} aclopCompileType;

/** Options of the compiler, by number. Only the one that programs ask softacl for has a name here. */
typedef enum {
    ACL_OP_JIT_COMPILE = 10, /**< "enable" or "disable": whether operators are compiled at run time */
} aclCompileOpt;

/**
 * Queues an operator. Tensors lie on one device; shapes, permutations and fill values lie on the host, and are
 * read before the call returns. Bounds are checked against the data buffers and the allocations.
 */
ACL_FUNC_VISIBILITY aclError aclopCompileAndExecute(const char *opType, int numInputs,
    const aclTensorDesc *const inputDesc[], const aclDataBuffer *const inputs[], int numOutputs,
    const aclTensorDesc *const outputDesc[], aclDataBuffer *const outputs[], const aclopAttr *attr,
    aclopEngineType engineType, aclopCompileType compileFlag, const char *opPath, aclrtStream stream);

/** The same. It may also tell shapes of outputs, which no operator here needs. */
ACL_FUNC_VISIBILITY aclError aclopCompileAndExecuteV2(const char *opType, int numInputs,
    aclTensorDesc *inputDesc[], aclDataBuffer *inputs[], int numOutputs, aclTensorDesc *outputDesc[],
    aclDataBuffer *outputs[], aclopAttr *attr, aclopEngineType engineType, aclopCompileType compileFlag,
    const char *opPath, aclrtStream stream);

/** Keeps an option. */
ACL_FUNC_VISIBILITY aclError aclSetCompileopt(aclCompileOpt opt, const char *value);

/** Bytes of an option with its terminating zero; 0 when it has no value. */
ACL_FUNC_VISIBILITY size_t aclGetCompileoptSize(aclCompileOpt opt);

/** Gives an option back. */
ACL_FUNC_VISIBILITY aclError aclGetCompileopt(aclCompileOpt opt, char *value, size_t length);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_OP_COMPILER_H_ */
