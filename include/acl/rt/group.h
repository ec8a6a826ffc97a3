/**
 * @file rt/group.h
 * Resource groups of a device.
 */
#ifndef ACL_RT_GROUP_H_
#define ACL_RT_GROUP_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Descriptions of all groups; opaque. */
typedef struct tagRtGroupInfo aclrtGroupInfo;

/** Property of a group. */
typedef enum aclrtGroupAttr {
    ACL_GROUP_AICORE_INT = 0,
    ACL_GROUP_AIV_INT = 1,
    ACL_GROUP_AIC_INT = 2,
    ACL_GROUP_SDMANUM_INT = 3,
    ACL_GROUP_ASQNUM_INT = 4,
    ACL_GROUP_GROUPID_INT = 5
} aclrtGroupAttr;

/** Selects a group. Not created -> 107014. */
ACL_FUNC_VISIBILITY aclError aclrtSetGroup(int32_t groupId);

/** Returns the number of groups. */
ACL_FUNC_VISIBILITY aclError aclrtGetGroupCount(uint32_t *count);

/** Creates an object for descriptions of groups. */
ACL_FUNC_VISIBILITY aclrtGroupInfo *aclrtCreateGroupInfo(void);

/** Destroys an object for descriptions of groups. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyGroupInfo(aclrtGroupInfo *groupInfo);

/** Reads the descriptions of all groups of the current device. */
ACL_FUNC_VISIBILITY aclError aclrtGetAllGroupInfo(aclrtGroupInfo *groupInfo);

/** Reads one property of one group. */
ACL_FUNC_VISIBILITY aclError aclrtGetGroupInfoDetail(const aclrtGroupInfo *groupInfo,
                                                     int32_t groupIndex, aclrtGroupAttr attr,
                                                     void *attrValue, size_t valueLen,
                                                     size_t *paramRetSize);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_GROUP_H_ */
