/**
 * @file hccl_comm.h
 * Communicators: making them, asking them, ending them. A thread sets its device (aclrtSetDevice) before any call.
 *
 * Ranks are processes of one host and one user, or threads of one process.
 */
#ifndef HCCL_COMM_H_
#define HCCL_COMM_H_

#include <string.h>

#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Configuration of a communicator. The first field says which fields the program knows. */
typedef struct {
    size_t size;
    uint32_t magic;
    uint32_t version;
    uint8_t reserved[8];
    uint32_t hcclBufferSize;
    uint32_t hcclDeterministic;
    char hcclCommName[128]; /**< name of the communicator; empty: the library chooses one */
    char hcclUdi[128];
    uint32_t hcclOpExpansionMode;
    uint32_t hcclRdmaTrafficClass;
    uint32_t hcclRdmaServiceLevel;
    uint32_t hcclWorldRankID;
    uint64_t hcclJobID;
    uint8_t aclGraphZeroCopyEnable;
    int32_t hcclExecTimeOut; /**< seconds that an operator waits for other ranks; 0: for ever; -1: HCCL_EXEC_TIMEOUT */
    char hcclAlgo[1600];
    char hcclRetryEnable[50];
    char hcclRetryParams[128];
    char hcclBufferName[128];
    uint32_t hcclQos;
    uint64_t hcclSymWinMaxMemSizePerRank;
} HcclCommConfig;

/** Prepares a configuration. Required before the first use. */
static inline void HcclCommConfigInit(HcclCommConfig *config)
{
    memset(config, 0, sizeof(*config));
    config->size = sizeof(*config);
    config->magic = 0xf0f0f0f0U;
    config->version = 10;
    config->hcclBufferSize = 0xffffffffU;
    config->hcclDeterministic = 0xffffffffU;
    config->hcclRdmaTrafficClass = 0xffffffffU;
    config->hcclRdmaServiceLevel = 0xffffffffU;
    config->hcclExecTimeOut = -1;
    config->hcclQos = 0xffffffffU;
}

/** Number of capabilities; capability N of the documentation is present if N is below it. */
uint32_t HcclGetCommConfigCapability(void);

/** Makes the meeting point of a new communicator. Called by one rank. */
HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo);

/** Joins the communicator of a root info. Waits until all ranks have joined, at most HCCL_CONNECT_TIMEOUT seconds. */
HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank, HcclComm *comm);
HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
                                      const HcclCommConfig *config, HcclComm *comm);

/** Creates a communicator for a rank of a rank table. */
HcclResult HcclCommInitClusterInfo(const char *clusterInfo, uint32_t rank, HcclComm *comm);
HcclResult HcclCommInitClusterInfoConfig(const char *clusterInfo, uint32_t rank, HcclCommConfig *config, HcclComm *comm);

/** Makes all ranks of a communicator in one process: devices[i] is rank i. */
HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms);

/** Divides a communicator. Ranks that do not belong to the part pass NULL for rankIds and 0xFFFFFFFF for subCommId. */
HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum, uint32_t *rankIds, uint64_t subCommId,
                                   uint32_t subCommRankId, HcclCommConfig *config, HcclComm *subComm);

/** Ends a communicator. HCCL_E_AGAIN while an operator runs. */
HcclResult HcclCommDestroy(HcclComm comm);

HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize);
HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank);
/** Writes the name, at most 128 bytes. */
HcclResult HcclGetCommName(HcclComm comm, char *commName);
HcclResult HcclCommGetHandleWithName(const char *commName, HcclComm *comm);
/** Writes 0, or HCCL_E_REMOTE after an operator has failed because of another rank. */
HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError);
/** A sentence for every code. A constant string. */
const char *HcclGetErrorString(HcclResult code);

/** Between these two, calls of the thread are collected, and take effect at the end. */
HcclResult HcclGroupStart(void);
HcclResult HcclGroupEnd(void);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_COMM_H_ */
