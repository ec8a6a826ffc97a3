/**
 * @file ge_error_codes.h
 * Error codes of the graph engine, which loads and runs offline models. The runtime API never
 * returns them; they are defined for sources that name them.
 */
#ifndef ACL_ERROR_CODES_GE_ERROR_CODES_H_
#define ACL_ERROR_CODES_GE_ERROR_CODES_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 145xxx: wrong use */
static const uint32_t ACL_ERROR_GE_PARAM_INVALID = 145000; /**< bad argument */
static const uint32_t ACL_ERROR_GE_EXEC_NOT_INIT = 145001; /**< executor not set up */
static const uint32_t ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID = 145002; /**< bad model path */
static const uint32_t ACL_ERROR_GE_EXEC_MODEL_ID_INVALID = 145003; /**< no such model */
static const uint32_t ACL_ERROR_GE_EXEC_MODEL_DATA_SIZE_INVALID = 145006; /**< model data of a wrong size */
static const uint32_t ACL_ERROR_GE_EXEC_MODEL_ADDR_INVALID = 145007; /**< bad model address */
static const uint32_t ACL_ERROR_GE_EXEC_MODEL_QUEUE_ID_INVALID = 145008; /**< bad queue of a model */
static const uint32_t ACL_ERROR_GE_EXEC_LOAD_MODEL_REPEATED = 145009; /**< model already loaded */
static const uint32_t ACL_ERROR_GE_DYNAMIC_INPUT_ADDR_INVALID = 145011; /**< bad address of the dynamic input */
static const uint32_t ACL_ERROR_GE_DYNAMIC_INPUT_LENGTH_INVALID = 145012; /**< bad length of the dynamic input */
static const uint32_t ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID = 145013; /**< bad batch size */
static const uint32_t ACL_ERROR_GE_AIPP_BATCH_EMPTY = 145014; /**< preprocessing has no batch */
static const uint32_t ACL_ERROR_GE_AIPP_NOT_EXIST = 145015; /**< no preprocessing configured */
static const uint32_t ACL_ERROR_GE_AIPP_MODE_INVALID = 145016; /**< bad preprocessing mode */
static const uint32_t ACL_ERROR_GE_OP_TASK_TYPE_INVALID = 145017; /**< bad kind of operator task */
static const uint32_t ACL_ERROR_GE_OP_KERNEL_TYPE_INVALID = 145018; /**< bad kind of kernel */
static const uint32_t ACL_ERROR_GE_PLGMGR_PATH_INVALID = 145019; /**< bad plugin path */
static const uint32_t ACL_ERROR_GE_FORMAT_INVALID = 145020; /**< bad format */
static const uint32_t ACL_ERROR_GE_SHAPE_INVALID = 145021; /**< bad shape */
static const uint32_t ACL_ERROR_GE_DATATYPE_INVALID = 145022; /**< bad data type */

/* 245xxx: resources */
static const uint32_t ACL_ERROR_GE_MEMORY_ALLOCATION = 245000; /**< out of memory */
static const uint32_t ACL_ERROR_GE_MEMORY_OPERATE_FAILED = 245001; /**< host memory operation failed */
static const uint32_t ACL_ERROR_GE_DEVICE_MEMORY_OPERATE_FAILED = 245002; /**< device memory operation failed */

/* 345xxx: application */
static const uint32_t ACL_ERROR_GE_SUBHEALTHY = 345102; /**< a node is degraded */
static const uint32_t ACL_ERROR_GE_USER_RAISE_EXCEPTION = 345103; /**< user code threw */
static const uint32_t ACL_ERROR_GE_DATA_NOT_ALIGNED = 345104; /**< inputs do not line up */

/* 545xxx: internal */
static const uint32_t ACL_ERROR_GE_INTERNAL_ERROR = 545000; /**< internal error */
static const uint32_t ACL_ERROR_GE_LOAD_MODEL = 545001; /**< model cannot be loaded */
static const uint32_t ACL_ERROR_GE_EXEC_LOAD_MODEL_PARTITION_FAILED = 545002; /**< model part cannot be loaded */
static const uint32_t ACL_ERROR_GE_EXEC_LOAD_WEIGHT_PARTITION_FAILED = 545003; /**< weights cannot be loaded */
static const uint32_t ACL_ERROR_GE_EXEC_LOAD_TASK_PARTITION_FAILED = 545004; /**< tasks cannot be loaded */
static const uint32_t ACL_ERROR_GE_EXEC_LOAD_KERNEL_PARTITION_FAILED = 545005; /**< kernels cannot be loaded */
static const uint32_t ACL_ERROR_GE_EXEC_RELEASE_MODEL_DATA = 545006; /**< model data cannot be released */
static const uint32_t ACL_ERROR_GE_COMMAND_HANDLE = 545007; /**< command failed */
static const uint32_t ACL_ERROR_GE_GET_TENSOR_INFO = 545008; /**< tensor info not available */
static const uint32_t ACL_ERROR_GE_UNLOAD_MODEL = 545009; /**< model cannot be unloaded */
static const uint32_t ACL_ERROR_GE_MODEL_EXECUTE_TIMEOUT = 545601; /**< model took too long */
static const uint32_t ACL_ERROR_GE_REDEPLOYING = 545602; /**< being redeployed */

#ifdef __cplusplus
}
#endif

#endif /* ACL_ERROR_CODES_GE_ERROR_CODES_H_ */
