/**
 * @file rt/init.h
 * Initialization, finalization and version queries. Initialization is optional for all functions of
 * acl_rt.h: aclInit only reads a configuration.
 */
#ifndef ACL_RT_INIT_H_
#define ACL_RT_INIT_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the API. It has been constant for many releases; do not use it for feature tests. */
#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 17
#define ACL_PATCH_VERSION 0

#define ACL_PKG_VERSION_MAX_SIZE 128      /**< size of a whole version text in bytes */
#define ACL_PKG_VERSION_PARTS_MAX_SIZE 64 /**< size of one part of it in bytes */

/** Package that aclsysGetCANNVersion queries. */
typedef enum aclCANNPackageName {
    ACL_PKG_NAME_CANN = 0,
    ACL_PKG_NAME_RUNTIME = 1,
    ACL_PKG_NAME_COMPILER = 2,
    ACL_PKG_NAME_HCCL = 3,
    ACL_PKG_NAME_TOOLKIT = 4,
    ACL_PKG_NAME_OPP = 5,
    ACL_PKG_NAME_OPP_KERNEL = 6,
    ACL_PKG_NAME_DRIVER = 7
} aclCANNPackageName;

/** Version of a package, whole and in parts, as text. */
typedef struct aclCANNPackageVersion {
    char version[ACL_PKG_VERSION_MAX_SIZE];
    char majorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char minorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char releaseVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char patchVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char reserved[ACL_PKG_VERSION_MAX_SIZE];
} aclCANNPackageVersion;

/** Library that hooks into aclInit and aclFinalize. */
typedef enum aclRegisterCallbackType {
    ACL_REG_TYPE_ACL_MODEL = 0,
    ACL_REG_TYPE_ACL_OP_EXECUTOR = 1,
    ACL_REG_TYPE_ACL_OP_CBLAS = 2,
    ACL_REG_TYPE_ACL_OP_COMPILER = 3,
    ACL_REG_TYPE_ACL_TDT_CHANNEL = 4,
    ACL_REG_TYPE_ACL_TDT_QUEUE = 5,
    ACL_REG_TYPE_ACL_DVPP = 6,
    ACL_REG_TYPE_ACL_RETR = 7,
    ACL_REG_TYPE_OTHER = 0xFFFF
} aclRegisterCallbackType;

/** Called by aclInit with the configuration text. */
typedef aclError (*aclInitCallbackFunc)(const char *configStr, size_t len, void *userData);

/** Called by aclFinalize. */
typedef aclError (*aclFinalizeCallbackFunc)(void *userData);

/**
 * Reads a JSON configuration; NULL or an empty file selects the defaults. Calls are counted: every
 * call after the first returns 100002, which is harmless. A configuration that differs from the first
 * -> 100000; file missing or malformed -> 100003 and above.
 *
 * Keys: "dump", "profiling", "err_msg_mode" ("0" per thread, "1" per process), "defaultDevice"
 * {"default_device"}, "StackSize", "max_opqueue_num". In a thread without a context, the first call that
 * needs one sets the default device.
 */
ACL_FUNC_VISIBILITY aclError aclInit(const char *configPath);

/**
 * Finalizes the library regardless of the count. A repeated call -> 100037; without aclInit the first
 * call returns 0. Does not release memory or streams; reset the devices first.
 */
ACL_FUNC_VISIBILITY aclError aclFinalize(void);

/**
 * Decrements the count of aclInit and finalizes the library when it reaches 0; *refCount is the
 * remaining count, unless refCount is NULL. Count already 0 -> 100037.
 */
ACL_FUNC_VISIBILITY aclError aclFinalizeReference(uint64_t *refCount);

/** Returns the three ACL_*_VERSION numbers: 1, 17, 0. Any pointer NULL -> 100000. */
ACL_DEPRECATED_MESSAGE("use aclsysGetVersionStr or aclsysGetVersionNum")
ACL_FUNC_VISIBILITY aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion,
                                             int32_t *patchVersion);

/** Returns the version of a package. Unknown name or NULL -> 100000, not installed -> 100003. */
ACL_DEPRECATED_MESSAGE("use aclsysGetVersionStr")
ACL_FUNC_VISIBILITY aclError aclsysGetCANNVersion(aclCANNPackageName name,
                                                  aclCANNPackageVersion *version);

/**
 * Returns the version of a package as text; versionStr needs ACL_PKG_VERSION_MAX_SIZE bytes. '-' and
 * '_' in the name are equivalent. NULL -> 100000, not found -> 100003.
 */
ACL_FUNC_VISIBILITY aclError aclsysGetVersionStr(char *pkgName, char *versionStr);

/**
 * Returns the version of a package as a comparable number: major * 10000000 + minor * 100000 +
 * patch * 1000, less 300, 200 or 100 plus n for "alpha n", "beta n" or "rc n". Malformed version text
 * -> 500000; other codes as in aclsysGetVersionStr.
 */
ACL_FUNC_VISIBILITY aclError aclsysGetVersionNum(char *pkgName, int32_t *versionNum);

/** Registers a function that aclInit calls; softacl: immediately, if aclInit was called before. */
ACL_FUNC_VISIBILITY aclError aclInitCallbackRegister(aclRegisterCallbackType type,
                                                     aclInitCallbackFunc cbFunc, void *userData);

/** Removes a function that aclInit calls. */
ACL_FUNC_VISIBILITY aclError aclInitCallbackUnRegister(aclRegisterCallbackType type,
                                                       aclInitCallbackFunc cbFunc);

/** Registers a function that aclFinalize calls. */
ACL_FUNC_VISIBILITY aclError aclFinalizeCallbackRegister(aclRegisterCallbackType type,
                                                         aclFinalizeCallbackFunc cbFunc,
                                                         void *userData);

/** Removes a function that aclFinalize calls. */
ACL_FUNC_VISIBILITY aclError aclFinalizeCallbackUnRegister(aclRegisterCallbackType type,
                                                           aclFinalizeCallbackFunc cbFunc);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_INIT_H_ */
