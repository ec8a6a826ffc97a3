/**
 * @file rt/peer.h
 * Access of one device to the memory of another, required for copies between them. Imports from other
 * processes have a separate flag, see rt/ipc.h.
 *
 * Peer access is enabled per direction. One call, on either device, is enough for copies between the
 * two; some drivers require both:
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
 * Sets *canAccessPeer to 1 if deviceId can access peerDeviceId, else to 0. Equal ids -> 100000, bad ids
 * -> 107001 or 107000, canAccessPeer NULL -> 107000 (not 100000), chip without the feature (310B) ->
 * 207000.
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId,
                                                      int32_t peerDeviceId);

/**
 * Enables access of the current device to peerDeviceId. flags not 0 -> 200006, the current device
 * itself -> 100000, no current device -> 107002. A repeated call is harmless.
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags);

/** Disables access to peerDeviceId. The current device itself -> 100000, no current device -> 107002. */
ACL_FUNC_VISIBILITY aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId);

/**
 * Sets *status to 1 if copies between the two devices are allowed, else to 0. Caution: peerDeviceId
 * is a physical id, deviceId a user id. status NULL -> 100000.
 */
ACL_FUNC_VISIBILITY aclError aclrtDevicePeerAccessStatus(int32_t deviceId, int32_t peerDeviceId,
                                                         int32_t *status);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_PEER_H_ */
