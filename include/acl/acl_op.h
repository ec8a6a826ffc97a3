/**
 * @file acl_op.h
 * Attributes of operators: names with values, collected before an operator is called (acl_op_compiler.h).
 * Loading and executing operators from files is not declared: softacl computes nothing.
 */
#ifndef ACL_ACL_OP_H_
#define ACL_ACL_OP_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Named values for one call of an operator; opaque. */
typedef struct aclopAttr aclopAttr;

/** Which part of a chip an operator is meant for. Without effect here. */
typedef enum aclEngineType {
    ACL_ENGINE_SYS,
    ACL_ENGINE_AICORE,
    ACL_ENGINE_VECTOR,
} aclopEngineType;

/** An empty set of attributes. Destroy it with aclopDestroyAttr. */
ACL_FUNC_VISIBILITY aclopAttr *aclopCreateAttr(void);

/** Ends a set of attributes. One that is not alive is ignored. */
ACL_FUNC_VISIBILITY void aclopDestroyAttr(const aclopAttr *attr);

/* A name that was set before gets the new value. Names and values are copied. */

ACL_FUNC_VISIBILITY aclError aclopSetAttrBool(aclopAttr *attr, const char *attrName, uint8_t attrValue);
ACL_FUNC_VISIBILITY aclError aclopSetAttrInt(aclopAttr *attr, const char *attrName, int64_t attrValue);
ACL_FUNC_VISIBILITY aclError aclopSetAttrFloat(aclopAttr *attr, const char *attrName, float attrValue);
ACL_FUNC_VISIBILITY aclError aclopSetAttrString(aclopAttr *attr, const char *attrName, const char *attrValue);
ACL_FUNC_VISIBILITY aclError aclopSetAttrDataType(aclopAttr *attr, const char *attrName,
    aclDataType attrValue);
ACL_FUNC_VISIBILITY aclError aclopSetAttrListBool(aclopAttr *attr, const char *attrName, int numValues,
    const uint8_t *values);
ACL_FUNC_VISIBILITY aclError aclopSetAttrListInt(aclopAttr *attr, const char *attrName, int numValues,
    const int64_t *values);
ACL_FUNC_VISIBILITY aclError aclopSetAttrListFloat(aclopAttr *attr, const char *attrName, int numValues,
    const float *values);
ACL_FUNC_VISIBILITY aclError aclopSetAttrListListInt(aclopAttr *attr, const char *attrName, int numLists,
    const int *numValues, const int64_t *const values[]);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_OP_H_ */
