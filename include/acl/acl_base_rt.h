/**
 * @file acl_base_rt.h
 * Base types of the API: aclError and the ACL-layer codes, handles, data types and formats,
 * data buffers, half-precision conversion, the application log, and a few queries that need no
 * device. The runtime-layer codes are in error_codes/rt_error_codes.h; devices, streams and memory
 * are in acl_rt.h.
 */
#ifndef ACL_ACL_BASE_RT_H_
#define ACL_ACL_BASE_RT_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Marks an exported function. Only a build of the library itself defines FUNC_VISIBILITY. */
#ifdef FUNC_VISIBILITY
#define ACL_FUNC_VISIBILITY __attribute__((visibility("default")))
#else
#define ACL_FUNC_VISIBILITY
#endif

/** Compiler warnings for deprecated functions; empty on compilers without support. */
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 6)
#define ACL_DEPRECATED __attribute__((deprecated))
#define ACL_DEPRECATED_MESSAGE(message) __attribute__((deprecated(message)))
#else
#define ACL_DEPRECATED
#define ACL_DEPRECATED_MESSAGE(message)
#endif

/* ---------------------------------------------------------------- handles */

/*
 * Handles are opaque pointers. A NULL aclrtStream means "the default stream of the current
 * context" in most calls; the few exceptions are documented. A destroyed handle, or a handle of
 * another kind, gives 107017.
 */
typedef void *aclrtStream;    /**< queue of tasks that run in order */
typedef void *aclrtEvent;     /**< marker in a stream that other streams and the host can wait for */
typedef void *aclrtContext;   /**< owner of streams and events on one device */
typedef void *aclrtNotify;    /**< one-shot signal between streams, devices or processes */
typedef void *aclrtCntNotify; /**< notify that carries a counter */
typedef void *aclrtLabel;     /**< jump target inside a stream */
typedef void *aclrtLabelList; /**< table of labels for an indexed jump */
typedef void *aclrtMbuf;      /**< reference-counted shared buffer */
typedef void *aclrtTaskGrp;   /**< group of captured tasks that can be updated */
typedef void *aclmdlRITask;   /**< one task of a captured graph */

typedef void *aclrtAllocatorDesc;  /**< description of a custom allocator */
typedef void *aclrtAllocator;      /**< custom allocator object, owned by the program */
typedef void *aclrtAllocatorBlock; /**< block returned by a custom allocator, owned by the program */
typedef void *aclrtAllocatorAddr;  /**< address inside such a block */

typedef uint16_t aclFloat16; /**< IEEE 754 half precision, as raw bits */

/** Address and length of a memory range; opaque, see aclCreateDataBuffer. */
typedef struct aclDataBuffer aclDataBuffer;

/* ------------------------------------------------------------ error codes */

/**
 * Result of nearly every call. 0 is success. The first digit gives the cause: 1xxxxx the caller,
 * 2xxxxx a resource or a missing feature, 3xxxxx a limit of the application, 5xxxxx the runtime or
 * the device. The codes below come from the outer layer, which checks pointers, enum ranges and
 * reserved fields; they do not set the error that aclrtGetLastError returns. The x07xxx codes come
 * from the runtime layer and do set it.
 */
typedef int aclError;

static const int ACL_ERROR_NONE = 0; /**< success */
static const int ACL_SUCCESS = 0;    /**< success */

static const int ACL_ERROR_INVALID_PARAM = 100000;      /**< NULL, bad enum, reserved field set ... */
static const int ACL_ERROR_UNINITIALIZE = 100001;       /**< aclInit missing; not used by aclrt* */
static const int ACL_ERROR_REPEAT_INITIALIZE = 100002;  /**< repeated aclInit; harmless */
static const int ACL_ERROR_INVALID_FILE = 100003;       /**< file missing or unreadable */
static const int ACL_ERROR_WRITE_FILE = 100004;         /**< file cannot be written */
static const int ACL_ERROR_INVALID_FILE_SIZE = 100005;  /**< file too small or too big */
static const int ACL_ERROR_PARSE_FILE = 100006;         /**< file content cannot be parsed */
static const int ACL_ERROR_FILE_MISSING_ATTR = 100007;  /**< file lacks a required key */
static const int ACL_ERROR_FILE_ATTR_INVALID = 100008;  /**< file has a bad value for a key */
static const int ACL_ERROR_INVALID_DUMP_CONFIG = 100009;      /**< bad dump section */
static const int ACL_ERROR_INVALID_PROFILING_CONFIG = 100010; /**< bad profiling section */
static const int ACL_ERROR_INVALID_MODEL_ID = 100011;         /**< no such model */
static const int ACL_ERROR_DESERIALIZE_MODEL = 100012;        /**< model cannot be decoded */
static const int ACL_ERROR_PARSE_MODEL = 100013;              /**< model cannot be parsed */
static const int ACL_ERROR_READ_MODEL_FAILURE = 100014;       /**< model cannot be read */
static const int ACL_ERROR_MODEL_SIZE_INVALID = 100015;       /**< model has a wrong size */
static const int ACL_ERROR_MODEL_MISSING_ATTR = 100016;       /**< model lacks an attribute */
static const int ACL_ERROR_MODEL_INPUT_NOT_MATCH = 100017;    /**< inputs do not fit the model */
static const int ACL_ERROR_MODEL_OUTPUT_NOT_MATCH = 100018;   /**< outputs do not fit the model */
static const int ACL_ERROR_MODEL_NOT_DYNAMIC = 100019;        /**< model has fixed shapes */
static const int ACL_ERROR_OP_TYPE_NOT_MATCH = 100020;        /**< operator of another type */
static const int ACL_ERROR_OP_INPUT_NOT_MATCH = 100021;       /**< inputs do not fit the operator */
static const int ACL_ERROR_OP_OUTPUT_NOT_MATCH = 100022;      /**< outputs do not fit the operator */
static const int ACL_ERROR_OP_ATTR_NOT_MATCH = 100023;        /**< attributes do not fit */
static const int ACL_ERROR_OP_NOT_FOUND = 100024;             /**< no such operator */
static const int ACL_ERROR_OP_LOAD_FAILED = 100025;           /**< operator cannot be loaded */
static const int ACL_ERROR_UNSUPPORTED_DATA_TYPE = 100026;    /**< data type not supported */
static const int ACL_ERROR_FORMAT_NOT_MATCH = 100027;         /**< format differs */
static const int ACL_ERROR_BIN_SELECTOR_NOT_REGISTERED = 100028; /**< kernel selector missing */
static const int ACL_ERROR_KERNEL_NOT_FOUND = 100029;            /**< no such kernel */
static const int ACL_ERROR_BIN_SELECTOR_ALREADY_REGISTERED = 100030; /**< selector already registered */
static const int ACL_ERROR_KERNEL_ALREADY_REGISTERED = 100031;   /**< kernel already registered */
static const int ACL_ERROR_INVALID_QUEUE_ID = 100032;            /**< no such queue */
static const int ACL_ERROR_REPEAT_SUBSCRIBE = 100033;      /**< superseded by 107011 */
static const int ACL_ERROR_STREAM_NOT_SUBSCRIBE = 100034;  /**< superseded by 107015 */
static const int ACL_ERROR_THREAD_NOT_SUBSCRIBE = 100035;  /**< superseded by 107012 */
static const int ACL_ERROR_WAIT_CALLBACK_TIMEOUT = 100036; /**< superseded by 507012 */
static const int ACL_ERROR_REPEAT_FINALIZE = 100037;       /**< repeated aclFinalize */
static const int ACL_ERROR_NOT_STATIC_AIPP = 100038;       /**< image preprocessing not static */
static const int ACL_ERROR_COMPILING_STUB_MODE = 100039;   /**< a link-time stub was loaded */
static const int ACL_ERROR_GROUP_NOT_SET = 100040;         /**< superseded by 107013 */
static const int ACL_ERROR_GROUP_NOT_CREATE = 100041;      /**< superseded by 107014 */
static const int ACL_ERROR_PROF_ALREADY_RUN = 100042;      /**< profiling already running */
static const int ACL_ERROR_PROF_NOT_RUN = 100043;          /**< profiling not running */
static const int ACL_ERROR_DUMP_ALREADY_RUN = 100044;      /**< dump already running */
static const int ACL_ERROR_DUMP_NOT_RUN = 100045;          /**< dump not running */
static const int ACL_ERROR_PROF_REPEAT_SUBSCRIBE = 148046; /**< model already subscribed */
static const int ACL_ERROR_PROF_API_CONFLICT = 148047;     /**< conflicting profiling APIs */
static const int ACL_ERROR_INVALID_MAX_OPQUEUE_NUM_CONFIG = 148048; /**< bad max_opqueue_num */
static const int ACL_ERROR_INVALID_OPP_PATH = 148049;      /**< operator package path not set */
static const int ACL_ERROR_OP_UNSUPPORTED_DYNAMIC = 148050; /**< operator needs fixed shapes */
static const int ACL_ERROR_RELATIVE_RESOURCE_NOT_CLEARED = 148051; /**< dependent objects still alive */
static const int ACL_ERROR_UNSUPPORTED_JPEG = 148052;        /**< kind of JPEG not supported */
static const int ACL_ERROR_INVALID_BUNDLE_MODEL_ID = 148053; /**< no such model bundle */

static const int ACL_ERROR_BAD_ALLOC = 200000;                /**< out of pageable host memory */
static const int ACL_ERROR_API_NOT_SUPPORT = 200001;          /**< call not available */
static const int ACL_ERROR_INVALID_DEVICE = 200002;           /**< device unsuitable for the request */
static const int ACL_ERROR_MEMORY_ADDRESS_UNALIGNED = 200003; /**< address not aligned */
static const int ACL_ERROR_RESOURCE_NOT_MATCH = 200004;       /**< objects do not belong together */
static const int ACL_ERROR_INVALID_RESOURCE_HANDLE = 200005;  /**< bad handle */
static const int ACL_ERROR_FEATURE_UNSUPPORTED = 200006;      /**< e.g. peer access flags not 0 */
static const int ACL_ERROR_PROF_MODULES_UNSUPPORTED = 200007; /**< profiling module unknown */

static const int ACL_ERROR_STORAGE_OVER_LIMIT = 300000; /**< storage limit reached */

static const int ACL_ERROR_INTERNAL_ERROR = 500000;    /**< error inside the outer layer */
static const int ACL_ERROR_FAILURE = 500001;           /**< other failure */
static const int ACL_ERROR_GE_FAILURE = 500002;        /**< graph engine failed */
static const int ACL_ERROR_RT_FAILURE = 500003;        /**< runtime failed */
static const int ACL_ERROR_DRV_FAILURE = 500004;       /**< driver failed */
static const int ACL_ERROR_PROFILING_FAILURE = 500005; /**< profiling failed */

/* ------------------------------------------------- data types and formats */

/** Element type of a tensor. aclDataTypeSize gives the bytes of one element. */
typedef enum aclDataType {
    ACL_DT_UNDEFINED = -1, /**< not set */
    ACL_FLOAT = 0,         /**< 32-bit float */
    ACL_FLOAT16 = 1,       /**< 16-bit IEEE float */
    ACL_INT8 = 2,
    ACL_INT32 = 3,
    ACL_UINT8 = 4,
    ACL_INT16 = 6,
    ACL_UINT16 = 7,
    ACL_UINT32 = 8,
    ACL_INT64 = 9,
    ACL_UINT64 = 10,
    ACL_DOUBLE = 11,         /**< 64-bit float */
    ACL_BOOL = 12,           /**< one byte */
    ACL_STRING = 13,         /**< no fixed size */
    ACL_COMPLEX64 = 16,      /**< two 32-bit floats */
    ACL_COMPLEX128 = 17,     /**< two 64-bit floats */
    ACL_BF16 = 27,           /**< brain float: upper half of a 32-bit float */
    ACL_INT4 = 29,           /**< two elements in a byte */
    ACL_UINT1 = 30,          /**< eight elements in a byte */
    ACL_COMPLEX32 = 33,      /**< two 16-bit floats */
    ACL_HIFLOAT8 = 34,       /**< 8-bit float */
    ACL_FLOAT8_E5M2 = 35,    /**< 8-bit float: 5 exponent, 2 mantissa bits */
    ACL_FLOAT8_E4M3FN = 36,  /**< 8-bit float: 4 exponent, 3 mantissa bits, no infinity */
    ACL_FLOAT8_E8M0 = 37,    /**< 8-bit power of two, used as a scale */
    ACL_FLOAT6_E3M2 = 38,    /**< 6-bit float */
    ACL_FLOAT6_E2M3 = 39,    /**< 6-bit float */
    ACL_FLOAT4_E2M1 = 40,    /**< 4-bit float */
    ACL_FLOAT4_E1M2 = 41     /**< 4-bit float */
} aclDataType;

/** Order of the dimensions in memory. Copies ignore it. */
typedef enum aclFormat {
    ACL_FORMAT_UNDEFINED = -1,
    ACL_FORMAT_NCHW = 0,
    ACL_FORMAT_NHWC = 1,
    ACL_FORMAT_ND = 2, /**< plain row-major array of any rank */
    ACL_FORMAT_NC1HWC0 = 3,
    ACL_FORMAT_FRACTAL_Z = 4,
    ACL_FORMAT_NC1HWC0_C04 = 12,
    ACL_FORMAT_HWCN = 16,
    ACL_FORMAT_NDHWC = 27,
    ACL_FORMAT_FRACTAL_NZ = 29,
    ACL_FORMAT_NCDHW = 30,
    ACL_FORMAT_NDC1HWC0 = 32,
    ACL_FRACTAL_Z_3D = 33,
    ACL_FORMAT_NC = 35,
    ACL_FORMAT_NCL = 47,
    ACL_FORMAT_FRACTAL_NZ_C0_16 = 50,
    ACL_FORMAT_FRACTAL_NZ_C0_32 = 51,
    ACL_FORMAT_FRACTAL_NZ_C0_2 = 52,
    ACL_FORMAT_FRACTAL_NZ_C0_4 = 53,
    ACL_FORMAT_FRACTAL_NZ_C0_8 = 54
} aclFormat;

/** Severity of a log line. */
typedef enum aclLogLevel {
    ACL_DEBUG = 0,
    ACL_INFO = 1,
    ACL_WARNING = 2,
    ACL_ERROR = 3
} aclLogLevel;

/** Location of a tensor. */
typedef enum aclMemType {
    ACL_MEMTYPE_DEVICE = 0,
    ACL_MEMTYPE_HOST = 1,
    ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT = 2
} aclMemType;

/** Options of aclrtSetSysParamOpt and aclrtCtxSetSysParamOpt. */
typedef enum aclSysParamOpt {
    ACL_OPT_DETERMINISTIC = 0,
    ACL_OPT_ENABLE_DEBUG_KERNEL = 1,
    ACL_OPT_STRONG_CONSISTENCY = 2, /**< deprecated */
    ACL_OPT_ENABLE_KERNEL_EARLY_START = 3
} aclSysParamOpt;

/** Features that aclGetCannAttribute can query. */
typedef enum aclCannAttr {
    ACL_CANN_ATTR_UNDEFINED = -1,
    ACL_CANN_ATTR_INF_NAN = 0,
    ACL_CANN_ATTR_BF16 = 1,
    ACL_CANN_ATTR_JIT_COMPILE = 2
} aclCannAttr;

/** Values that aclGetDeviceCapability can query. */
typedef enum aclDeviceInfo {
    ACL_DEVICE_INFO_UNDEFINED = -1,
    ACL_DEVICE_INFO_AI_CORE_NUM = 0,     /**< number of AI cores */
    ACL_DEVICE_INFO_VECTOR_CORE_NUM = 1, /**< number of vector cores */
    ACL_DEVICE_INFO_L2_SIZE = 2          /**< bytes of level-2 cache */
} aclDeviceInfo;

/* -------------------------------------------------------------- functions */

/** Converts a half-precision value to float. Exact; preserves infinities and NaN. */
ACL_FUNC_VISIBILITY float aclFloat16ToFloat(aclFloat16 value);

/** Rounds a float to half precision. Values too large for it become infinity. */
ACL_FUNC_VISIBILITY aclFloat16 aclFloatToFloat16(float value);

/**
 * Creates a data buffer: a small object that stores an address and a length. The caller keeps
 * ownership of the memory. Returns NULL only if the object cannot be allocated; data may be NULL.
 */
ACL_FUNC_VISIBILITY aclDataBuffer *aclCreateDataBuffer(void *data, size_t size);

/** Destroys the object, not the memory it points to. NULL -> 100000. */
ACL_FUNC_VISIBILITY aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer);

/** Points an existing data buffer at other memory. dataBuffer NULL -> 100000. */
ACL_FUNC_VISIBILITY aclError aclUpdateDataBuffer(aclDataBuffer *dataBuffer, void *data,
                                                 size_t size);

/** Returns the address stored in a data buffer; NULL for a NULL buffer. */
ACL_FUNC_VISIBILITY void *aclGetDataBufferAddr(const aclDataBuffer *dataBuffer);

/** Returns the length stored in a data buffer, truncated to 32 bits; 0 for a NULL buffer. */
ACL_DEPRECATED_MESSAGE("the result has only 32 bits; use aclGetDataBufferSizeV2")
ACL_FUNC_VISIBILITY uint32_t aclGetDataBufferSize(const aclDataBuffer *dataBuffer);

/** Returns the length stored in a data buffer; 0 for a NULL buffer. */
ACL_FUNC_VISIBILITY size_t aclGetDataBufferSizeV2(const aclDataBuffer *dataBuffer);

/** Returns the size of one element in bytes; 0 for types without a whole-byte size and for unknown values. */
ACL_FUNC_VISIBILITY size_t aclDataTypeSize(aclDataType dataType);

/**
 * Writes one line to the log, printf style. func, file and line give its origin: pass __func__,
 * __FILE__ and __LINE__.
 */
ACL_FUNC_VISIBILITY void aclAppLog(aclLogLevel logLevel, const char *func, const char *file,
                                   uint32_t line, const char *fmt, ...);

/**
 * Returns the name of the chip, for example "Ascend910B3"; NULL if it is unknown. Needs neither
 * aclInit nor a device. Do not free the string.
 */
ACL_FUNC_VISIBILITY const char *aclrtGetSocName(void);

/**
 * Returns the list of supported features. *cannAttrList points to memory of the library; do not
 * free it. Either pointer NULL -> 100000.
 */
ACL_FUNC_VISIBILITY aclError aclGetCannAttributeList(const aclCannAttr **cannAttrList, size_t *num);

/** Sets *value to 1 if the feature is supported, else to 0. NULL or an unknown feature -> 100000. */
ACL_FUNC_VISIBILITY aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t *value);

/** Reads one device property. value NULL or an unknown deviceInfo -> 100000, bad id -> 107001. */
ACL_FUNC_VISIBILITY aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo,
                                                    int64_t *value);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_BASE_RT_H_ */
