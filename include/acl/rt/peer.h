/**
 * @file rt/peer.h
 * Permission for one device to reach the memory of another, needed before copies between them.
 * Imports from other processes have a flag of their own, see rt/ipc.h.
 *
 * Peer access is enabled per direction; call it on both devices:
 *
 *     aclrtSetDevice(0); aclrtDeviceEnablePeerAccess(1, 0);
 *     aclrtSetDevice(1); aclrtDeviceEnablePeerAccess(0, 0);
 */
#ifndef ACL_RT_PEER_H_
#define ACL_RT_PEER_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Whether deviceId could reach peerDeviceId: *canAccessPeer becomes 1 or 0. The two ids being equal
 * is an error (100000), bad ids -> 107001 or 107000, canAccessPeer NULL -> 107000 (not 100000),
 * chip without it (310B) -> 207000.
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId,
                                                      int32_t peerDeviceId);

/**
 * Lets the current device reach peerDeviceId. flags not 0 -> 200006, the current device itself ->
 * 100000, no current device -> 107002. Doing it twice is harmless.
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags);

/** Takes it back. The current device itself -> 100000, no current device -> 107002. */
ACL_FUNC_VISIBILITY aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId);

/**
 * Whether two devices can use each other's memory right now: *status becomes 1 once both have
 * enabled it. A trap: peerDeviceId is a physical id here, deviceId a user id. status NULL ->
 * 100000.
 */
ACL_FUNC_VISIBILITY aclError aclrtDevicePeerAccessStatus(int32_t deviceId, int32_t peerDeviceId,
                                                         int32_t *status);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_PEER_H_ */
