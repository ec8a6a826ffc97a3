/**
 * @file rt/ipc.h
 * Sharing device memory from aclrtMalloc with other processes by a text key. Sharing of physical
 * memory is in rt/virtual_memory.h, of events in rt/event.h, of notifies in rt/notify.h.
 *
 *     owner                                             importer
 *                                                       aclrtDeviceGetBareTgid(&pid); send pid
 *     aclrtIpcMemGetExportKey(p, size, key, 65, 0);
 *     aclrtIpcMemSetImportPid(key, &pid, 1); send key
 *                                                       aclrtIpcMemImportByKey(&q, key, 0);
 *                                                       ... copies with q ...
 *                                                       aclrtIpcMemClose(key);
 *     aclrtIpcMemClose(key); aclrtFree(p);
 *
 * If the two processes use different devices, the imported memory supports only asynchronous
 * device-to-device copies; on one device all copies work.
 */
#ifndef ACL_RT_IPC_H_
#define ACL_RT_IPC_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of aclrtIpcMemGetExportKey. */
#define ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x1UL /**< any process may import */

/* Flags of aclrtIpcMemImportByKey. */
#define ACL_RT_IPC_MEM_IMPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS 0x1UL /**< memory is on another device */

/* Values for ACL_RT_IPC_MEM_ATTR_ACCESS_LINK. */
#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_SIO 0x0UL
#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_HCCS 0x1UL
#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_UB_ONE_PORT_PATH 0x2UL
#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_UB_MULTI_PORT_PATH 0x3UL

/** Attribute of aclrtIpcMemSetAttr. */
typedef enum aclrtIpcMemAttrType {
    ACL_RT_IPC_MEM_ATTR_ACCESS_LINK = 0 /**< the link through which importers access the memory */
} aclrtIpcMemAttrType;

/**
 * Creates a key for device memory. `key` needs 65 bytes. NULL -> 100000; size or len 0, or unknown
 * flags -> 107000; chip without the feature (310B) -> 207000. The memory must stay allocated until all
 * importers have closed the key.
 */
ACL_FUNC_VISIBILITY aclError aclrtIpcMemGetExportKey(void *devPtr, size_t size, char *key,
                                                     size_t len, uint64_t flags);

/**
 * Allows processes to import, by the id that aclrtDeviceGetBareTgid returned to them. Not needed if the
 * key was created without pid validation. NULL -> 100000.
 */
ACL_FUNC_VISIBILITY aclError aclrtIpcMemSetImportPid(const char *key, int32_t *pid, size_t num);

/** Allows processes on other servers of the pod to import (A3). */
ACL_FUNC_VISIBILITY aclError aclrtIpcMemImportPidInterServer(const char *key,
                                                             aclrtServerPid *serverPids,
                                                             size_t num);

/**
 * Maps the memory of a key into this process. NULL -> 100000, unknown flags -> 107000. Close it with
 * aclrtIpcMemClose, not with aclrtFree.
 */
ACL_FUNC_VISIBILITY aclError aclrtIpcMemImportByKey(void **devPtr, const char *key, uint64_t flags);

/** Sets an attribute of a key before it is imported (A3). */
ACL_FUNC_VISIBILITY aclError aclrtIpcMemSetAttr(const char *key, aclrtIpcMemAttrType type,
                                                uint64_t attr);

/** In the importer: unmaps the memory. In the owner: destroys the key; call it after all importers. */
ACL_FUNC_VISIBILITY aclError aclrtIpcMemClose(const char *key);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_IPC_H_ */
