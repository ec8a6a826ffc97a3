/**
 * @file acl_meta.h
 * Objects that operators of the operator interface (aclnn) take as arguments: tensors, scalars, arrays and
 * lists. The library is libnnopbase.so. The operators are in aclnnop/.
 *
 *     int64_t dims[2] = {rows, columns};
 *     aclTensor *t = aclCreateTensor(dims, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 2, dev);
 *     ...                                        // pass it to an operator
 *     aclDestroyTensor(t);                       // the memory is not freed: it is the program's
 *
 * Functions that create an object return NULL on failure, the others a status: 0, or ACLNN_ERR_PARAM_NULLPTR
 * for a NULL argument, or ACLNN_ERR_PARAM_INVALID for an object that does not exist, is of another kind, or was
 * destroyed. aclGetRecentErrMsg describes the last error.
 */
#ifndef ACLNN_ACL_META_H_
#define ACLNN_ACL_META_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t aclnnStatus; /**< 0 or an ACLNN_ERR_* */

#define ACLNN_SUCCESS 0
#define ACLNN_ERR_PARAM_NULLPTR 161001     /**< a required pointer is NULL */
#define ACLNN_ERR_PARAM_INVALID 161002     /**< a type, shape, format, index or object is not valid */
#define ACLNN_ERR_RUNTIME_ERROR 361001     /**< the runtime failed, or the product lacks the operator */
#define ACLNN_ERR_INNER 561000             /**< error inside the library */

/* softacl returns only ACLNN_ERR_INNER_NULLPTR of these. Programs compare with the others. */
#define ACLNN_ERR_INNER_INFERSHAPE_ERROR 561001
#define ACLNN_ERR_INNER_TILING_ERROR 561002
#define ACLNN_ERR_INNER_FIND_KERNEL_ERROR 561003
#define ACLNN_ERR_INNER_CREATE_EXECUTOR 561101
#define ACLNN_ERR_INNER_NOT_TRANS_EXECUTOR 561102
#define ACLNN_ERR_INNER_NULLPTR 561103 /**< an executor, or what it should change, is NULL */
#define ACLNN_ERR_INNER_WRONG_ATTR_INFO_SIZE 561104
#define ACLNN_ERR_INNER_KEY_CONFLICT 561105
#define ACLNN_ERR_INNER_KEY_CONFILICT 561105 /**< an old spelling */
#define ACLNN_ERR_INNER_INVALID_IMPL_MODE 561106
#define ACLNN_ERR_INNER_OPP_PATH_NOT_FOUND 561107
#define ACLNN_ERR_INNER_LOAD_JSON_FAILED 561108
#define ACLNN_ERR_INNER_JSON_VALUE_NOT_FOUND 561109
#define ACLNN_ERR_INNER_JSON_FORMAT_INVALID 561110
#define ACLNN_ERR_INNER_JSON_DTYPE_INVALID 561111
#define ACLNN_ERR_INNER_OPP_KERNEL_PKG_NOT_FOUND 561112
#define ACLNN_ERR_INNER_OP_FILE_INVALID 561113
#define ACLNN_ERR_INNER_ATTR_NUM_OUT_OF_BOUND 561114
#define ACLNN_ERR_INNER_ATTR_LEN_NOT_ENOUGH 561115
#define ACLNN_ERR_INNER_INPUT_NUM_IN_JSON_TOO_LARGE 561116
#define ACLNN_ERR_INNER_INPUT_JSON_IS_NULL 561117
#define ACLNN_ERR_INNER_STATIC_WORKSPACE_INVALID 561118
#define ACLNN_ERR_INNER_STATIC_BLOCK_DIM_INVALID 561119

typedef struct aclOpExecutor aclOpExecutor; /**< a prepared operator */
typedef struct aclTensor aclTensor;         /**< a view of device memory */
typedef struct aclScalar aclScalar;         /**< one host value with its type */
typedef struct aclIntArray aclIntArray;     /**< host values: int64_t */
typedef struct aclFloatArray aclFloatArray; /**< host values: float */
typedef struct aclBoolArray aclBoolArray;   /**< host values: bool */
typedef struct aclTensorList aclTensorList; /**< owns its tensors */
typedef struct aclScalarList aclScalarList; /**< owns its scalars */

/* ------------------------------------------------------------------ create */

/**
 * Creates a tensor: a view over memory that stays the program's.
 *
 * viewDims and stride have viewDimsNum elements. Strides and offset count elements, not bytes: element (i, j)
 * is at tensorData + (offset + i * stride[0] + j * stride[1]) * size of an element. stride NULL is contiguous.
 * viewDimsNum 0 is a single element. All numbers are at least 0. tensorData may be NULL and set later.
 */
ACL_FUNC_VISIBILITY aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum,
                                               aclDataType dataType, const int64_t *stride, int64_t offset,
                                               aclFormat format, const int64_t *storageDims,
                                               uint64_t storageDimsNum, void *tensorData);

/** Copies one host value of a type with a fixed size. */
ACL_FUNC_VISIBILITY aclScalar *aclCreateScalar(void *value, aclDataType dataType);

/** Copies host values. size may be 0; value may be NULL then. */
ACL_FUNC_VISIBILITY aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size);

/** Copies host values. size may be 0; value may be NULL then. */
ACL_FUNC_VISIBILITY aclFloatArray *aclCreateFloatArray(const float *value, uint64_t size);

/** Copies host values. size may be 0; value may be NULL then. */
ACL_FUNC_VISIBILITY aclBoolArray *aclCreateBoolArray(const bool *value, uint64_t size);

/** Makes a list of tensors. Destroying the list destroys them. */
ACL_FUNC_VISIBILITY aclTensorList *aclCreateTensorList(const aclTensor *const *value, uint64_t size);

/** Makes a list of scalars. Destroying the list destroys them. */
ACL_FUNC_VISIBILITY aclScalarList *aclCreateScalarList(const aclScalar *const *value, uint64_t size);

/* ----------------------------------------------------------------- destroy */

/** Destroys a tensor. NULL -> 0, like every function of this group. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyTensor(const aclTensor *tensor);
/** Destroys a scalar. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyScalar(const aclScalar *scalar);
/** Destroys an array. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyIntArray(const aclIntArray *array);
/** Destroys an array. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyFloatArray(const aclFloatArray *array);
/** Destroys an array. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyBoolArray(const aclBoolArray *array);
/** Destroys a list and its tensors. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyTensorList(const aclTensorList *array);
/** Destroys a list and its scalars. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyScalarList(const aclScalarList *array);

/* ----------------------------------------------------------------- queries */

/** Returns a new array with the dimensions of the view. Free it with C++ `delete[]`. */
ACL_FUNC_VISIBILITY aclnnStatus aclGetViewShape(const aclTensor *tensor, int64_t **viewDims,
                                                uint64_t *viewDimsNum);

/** Returns a new array with the dimensions of the storage. Free it with C++ `delete[]`. */
ACL_FUNC_VISIBILITY aclnnStatus aclGetStorageShape(const aclTensor *tensor, int64_t **storageDims,
                                                   uint64_t *storageDimsNum);

/** Returns a new array with the strides, in elements. Free it with C++ `delete[]`. */
ACL_FUNC_VISIBILITY aclnnStatus aclGetViewStrides(const aclTensor *tensor, int64_t **stridesValue,
                                                  uint64_t *stridesNum);

/** Returns the offset of the view, in elements. */
ACL_FUNC_VISIBILITY aclnnStatus aclGetViewOffset(const aclTensor *tensor, int64_t *offset);
/** Returns the format. */
ACL_FUNC_VISIBILITY aclnnStatus aclGetFormat(const aclTensor *tensor, aclFormat *format);
/** Returns the element type. */
ACL_FUNC_VISIBILITY aclnnStatus aclGetDataType(const aclTensor *tensor, aclDataType *dataType);
/** Returns the address of the memory, without the offset. */
ACL_FUNC_VISIBILITY aclnnStatus aclGetRawTensorAddr(const aclTensor *tensor, void **addr);

/** Returns the number of elements. */
ACL_FUNC_VISIBILITY aclnnStatus aclGetIntArraySize(const aclIntArray *array, uint64_t *size);
/** Returns the number of elements. */
ACL_FUNC_VISIBILITY aclnnStatus aclGetFloatArraySize(const aclFloatArray *array, uint64_t *size);
/** Returns the number of elements. */
ACL_FUNC_VISIBILITY aclnnStatus aclGetBoolArraySize(const aclBoolArray *array, uint64_t *size);
/** Returns the number of tensors. */
ACL_FUNC_VISIBILITY aclnnStatus aclGetTensorListSize(const aclTensorList *tensorList, uint64_t *size);
/** Returns the number of scalars. */
ACL_FUNC_VISIBILITY aclnnStatus aclGetScalarListSize(const aclScalarList *scalarList, uint64_t *size);

/* ----------------------------------------------------------------- changes */

/** Replaces the description of a tensor, with the arguments of aclCreateTensor. On failure it is unchanged. */
ACL_FUNC_VISIBILITY aclnnStatus aclInitTensor(aclTensor *tensor, const int64_t *viewDims,
                                              uint64_t viewDimsNum, aclDataType dataType,
                                              const int64_t *stride, int64_t offset, aclFormat format,
                                              const int64_t *storageDims, uint64_t storageDimsNum,
                                              void *tensorDataAddr);

/** Sets the address of the memory. */
ACL_FUNC_VISIBILITY aclnnStatus aclSetRawTensorAddr(aclTensor *tensor, void *addr);

/*
 * Executors: what phase one of an operator prepares. Phase two frees an executor, unless it is repeatable. NULL ->
 * ACLNN_ERR_INNER_NULLPTR; an executor that does not exist or was used, an index that is too large, or a tensor that was
 * NULL in phase one -> ACLNN_ERR_PARAM_INVALID.
 */

/** Allows an executor to run more than once; destroy it with aclDestroyAclOpExecutor then. */
ACL_FUNC_VISIBILITY aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor);
/** Destroys a repeatable executor. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor);
/** Replaces the address of an input; lists count with all their members. */
ACL_FUNC_VISIBILITY aclnnStatus aclSetInputTensorAddr(aclOpExecutor *executor, const size_t index,
                                                      aclTensor *tensor, void *addr);
/** Replaces the address of an output; lists count with all their members. */
ACL_FUNC_VISIBILITY aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *executor, const size_t index,
                                                       aclTensor *tensor, void *addr);
/** Replaces the address of an argument; lists count with all their members. */
ACL_FUNC_VISIBILITY aclnnStatus aclSetTensorAddr(aclOpExecutor *executor, const size_t index,
                                                 aclTensor *tensor, void *addr);
/** Replaces the address of a member of an input list. */
ACL_FUNC_VISIBILITY aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor *executor, size_t irIndex,
                                                             const size_t relativeIndex,
                                                             aclTensorList *tensors, void *addr);
/** Replaces the address of a member of an output list. */
ACL_FUNC_VISIBILITY aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor *executor, size_t irIndex,
                                                              const size_t relativeIndex,
                                                              aclTensorList *tensors, void *addr);
/** Replaces the address of a member of a list. */
ACL_FUNC_VISIBILITY aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor *executor, size_t irIndex,
                                                        const size_t relativeIndex,
                                                        aclTensorList *tensors, void *addr);

/* Second names of the six functions above. */
/** aclSetInputTensorAddr under another name. */
ACL_FUNC_VISIBILITY aclnnStatus AclSetInputTensorAddr(aclOpExecutor *executor, const size_t index,
    aclTensor *tensor, void *addr);
/** aclSetOutputTensorAddr under another name. */
ACL_FUNC_VISIBILITY aclnnStatus AclSetOutputTensorAddr(aclOpExecutor *executor, const size_t index,
    aclTensor *tensor, void *addr);
/** aclSetTensorAddr under another name. */
ACL_FUNC_VISIBILITY aclnnStatus AclSetTensorAddr(aclOpExecutor *executor, const size_t index,
    aclTensor *tensor, void *addr);
/** aclSetDynamicInputTensorAddr under another name. */
ACL_FUNC_VISIBILITY aclnnStatus AclSetDynamicInputTensorAddr(aclOpExecutor *executor, size_t irIndex,
    const size_t relativeIndex, aclTensorList *tensors, void *addr);
/** aclSetDynamicOutputTensorAddr under another name. */
ACL_FUNC_VISIBILITY aclnnStatus AclSetDynamicOutputTensorAddr(aclOpExecutor *executor, size_t irIndex,
    const size_t relativeIndex, aclTensorList *tensors, void *addr);
/** aclSetDynamicTensorAddr under another name. */
ACL_FUNC_VISIBILITY aclnnStatus AclSetDynamicTensorAddr(aclOpExecutor *executor, size_t irIndex,
    const size_t relativeIndex, aclTensorList *tensors, void *addr);

/**
 * Asks for a dump of tensors, inputs first. softacl has no dump of operators: the arguments are checked, and the
 * first call says so.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclDumpOpTensors(const char *opType, const char *opName, aclTensor **tensors,
                                                 size_t inputTensorNum, size_t outputTensorNum, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* ACLNN_ACL_META_H_ */
