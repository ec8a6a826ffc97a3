/**
 * @file acl_base_mdl.h
 * Descriptions of tensors: type, shape and format of what an operator is given. They are data and touch no
 * device; acl_base.h includes this file. Of the model interface itself nothing is declared.
 */
#ifndef ACL_ACL_BASE_MDL_H_
#define ACL_ACL_BASE_MDL_H_

#include "acl/acl_base_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Type, shape, format and place of a tensor; opaque. */
typedef struct aclTensorDesc aclTensorDesc;

/** Makes a description; NULL when dims cannot be read. Destroy it with aclDestroyTensorDesc. */
ACL_FUNC_VISIBILITY aclTensorDesc *aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t *dims,
    aclFormat format);

/** Ends a description. One that is not alive is ignored. */
ACL_FUNC_VISIBILITY void aclDestroyTensorDesc(const aclTensorDesc *desc);

/** Element type; ACL_DT_UNDEFINED for a description that is not alive. */
ACL_FUNC_VISIBILITY aclDataType aclGetTensorDescType(const aclTensorDesc *desc);

/** Format; ACL_FORMAT_UNDEFINED for a description that is not alive. */
ACL_FUNC_VISIBILITY aclFormat aclGetTensorDescFormat(const aclTensorDesc *desc);

/** Bytes of the tensor; 0 when a dimension or the size of the type is not known. */
ACL_FUNC_VISIBILITY size_t aclGetTensorDescSize(const aclTensorDesc *desc);

/** Elements of the tensor; 0 when a dimension is not known. */
ACL_FUNC_VISIBILITY size_t aclGetTensorDescElementCount(const aclTensorDesc *desc);

/** Number of dimensions. */
ACL_FUNC_VISIBILITY size_t aclGetTensorDescNumDims(const aclTensorDesc *desc);

/** One dimension; -1 when there is none of this number. Better: aclGetTensorDescDimV2. */
ACL_FUNC_VISIBILITY int64_t aclGetTensorDescDim(const aclTensorDesc *desc, size_t index);

/** One dimension; 100000 when there is none of this number. */
ACL_FUNC_VISIBILITY aclError aclGetTensorDescDimV2(const aclTensorDesc *desc, size_t index, int64_t *dimSize);

/** Names the tensor. The name is copied. */
ACL_FUNC_VISIBILITY void aclSetTensorDescName(aclTensorDesc *desc, const char *name);

/** The format in which the device keeps the data, where it differs. */
ACL_FUNC_VISIBILITY aclError aclSetTensorStorageFormat(aclTensorDesc *desc, aclFormat format);

/** The shape in which the device keeps the data, where it differs. */
ACL_FUNC_VISIBILITY aclError aclSetTensorStorageShape(aclTensorDesc *desc, int numDims, const int64_t *dims);

/** The same as aclSetTensorStorageFormat, under its later name. */
ACL_FUNC_VISIBILITY aclError aclSetTensorFormat(aclTensorDesc *desc, aclFormat format);

/** The same as aclSetTensorStorageShape, under its later name. */
ACL_FUNC_VISIBILITY aclError aclSetTensorShape(aclTensorDesc *desc, int numDims, const int64_t *dims);

/** Where the data is: on the device, or on the host for small inputs such as shapes. */
ACL_FUNC_VISIBILITY aclError aclSetTensorPlaceMent(aclTensorDesc *desc, aclMemType memType);

/** Gives the tensor a constant value. The bytes are copied. */
ACL_FUNC_VISIBILITY aclError aclSetTensorConst(aclTensorDesc *desc, void *dataBuffer, size_t length);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_BASE_MDL_H_ */
