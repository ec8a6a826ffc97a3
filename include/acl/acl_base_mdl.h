/**
 * @file acl_base_mdl.h
 * Tensor descriptions: type, shape and format of the arguments of an operator. They are plain data and use no
 * device. acl_base.h includes this file. The model API itself is not declared.
 */
#ifndef ACL_ACL_BASE_MDL_H_
#define ACL_ACL_BASE_MDL_H_

#include "acl/acl_base_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Type, shape, format and location of a tensor; opaque. */
typedef struct aclTensorDesc aclTensorDesc;

/** Creates a description. Returns NULL if dims cannot be read. Destroy it with aclDestroyTensorDesc. */
ACL_FUNC_VISIBILITY aclTensorDesc *aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t *dims,
    aclFormat format);

/** Destroys a description. Ignores an invalid or destroyed one. */
ACL_FUNC_VISIBILITY void aclDestroyTensorDesc(const aclTensorDesc *desc);

/** Returns the element type; ACL_DT_UNDEFINED for an invalid description. */
ACL_FUNC_VISIBILITY aclDataType aclGetTensorDescType(const aclTensorDesc *desc);

/** Returns the format; ACL_FORMAT_UNDEFINED for an invalid description. */
ACL_FUNC_VISIBILITY aclFormat aclGetTensorDescFormat(const aclTensorDesc *desc);

/** Returns the size of the tensor in bytes; 0 if a dimension or the element size is unknown. */
ACL_FUNC_VISIBILITY size_t aclGetTensorDescSize(const aclTensorDesc *desc);

/** Returns the number of elements; 0 if a dimension is unknown. */
ACL_FUNC_VISIBILITY size_t aclGetTensorDescElementCount(const aclTensorDesc *desc);

/** Returns the number of dimensions. */
ACL_FUNC_VISIBILITY size_t aclGetTensorDescNumDims(const aclTensorDesc *desc);

/** Returns one dimension; -1 if the index is out of range. Prefer aclGetTensorDescDimV2. */
ACL_FUNC_VISIBILITY int64_t aclGetTensorDescDim(const aclTensorDesc *desc, size_t index);

/** Reads one dimension. Index out of range -> 100000. */
ACL_FUNC_VISIBILITY aclError aclGetTensorDescDimV2(const aclTensorDesc *desc, size_t index, int64_t *dimSize);

/** Names the tensor. The name is copied. */
ACL_FUNC_VISIBILITY void aclSetTensorDescName(aclTensorDesc *desc, const char *name);

/** Sets the format in which the device stores the data, if it differs. */
ACL_FUNC_VISIBILITY aclError aclSetTensorStorageFormat(aclTensorDesc *desc, aclFormat format);

/** Sets the shape in which the device stores the data, if it differs. */
ACL_FUNC_VISIBILITY aclError aclSetTensorStorageShape(aclTensorDesc *desc, int numDims, const int64_t *dims);

/** Newer name of aclSetTensorStorageFormat. */
ACL_FUNC_VISIBILITY aclError aclSetTensorFormat(aclTensorDesc *desc, aclFormat format);

/** Newer name of aclSetTensorStorageShape. */
ACL_FUNC_VISIBILITY aclError aclSetTensorShape(aclTensorDesc *desc, int numDims, const int64_t *dims);

/** Sets where the data is: on the device, or on the host for small inputs such as shapes. */
ACL_FUNC_VISIBILITY aclError aclSetTensorPlaceMent(aclTensorDesc *desc, aclMemType memType);

/** Sets a constant value. The bytes are copied. */
ACL_FUNC_VISIBILITY aclError aclSetTensorConst(aclTensorDesc *desc, void *dataBuffer, size_t length);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_BASE_MDL_H_ */
