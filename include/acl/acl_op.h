/**
 * @file acl_op.h
 * Operator attributes: named values that are passed to an operator (acl_op_compiler.h). Functions that load and
 * execute operators from files are not declared, because softacl does not compute.
 */
#ifndef ACL_ACL_OP_H_
#define ACL_ACL_OP_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Named values for one operator call; opaque. */
typedef struct aclopAttr aclopAttr;

/** Engine that runs an operator. No effect in softacl. */
typedef enum aclEngineType {
    ACL_ENGINE_SYS,
    ACL_ENGINE_AICORE,
    ACL_ENGINE_VECTOR,
} aclopEngineType;

/** Creates an empty set of attributes. Destroy it with aclopDestroyAttr. */
ACL_FUNC_VISIBILITY aclopAttr *aclopCreateAttr(void);

/** Destroys a set of attributes. Ignores an invalid or destroyed one. */
ACL_FUNC_VISIBILITY void aclopDestroyAttr(const aclopAttr *attr);

/* Setting a name again replaces its value. Names and values are copied. */

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
