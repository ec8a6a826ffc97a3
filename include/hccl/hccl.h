/**
 * @file hccl.h
 * Collectives and transfers between ranks (libhccl.so).
 *
 * Every operator is a task of the stream: the call returns at once, and the result is there when the stream has reached
 * it. All ranks of a communicator call the same operators in the same order with equal arguments. If they do not, or if a
 * rank ends, the task fails with 507057 and a sentence that names the ranks; if a rank does not come within
 * HCCL_EXEC_TIMEOUT seconds, it fails with 507048. The communicator is then of no use anymore.
 *
 * Elements are reduced in the order of the ranks, ((x0 + x1) + x2) + ...; 16-bit floats are rounded after every step.
 */
#ifndef HCCL_H_
#define HCCL_H_

#include "acl/acl_base.h"
#include "acl/acl_rt.h"
#include "hccl/hccl_comm.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Reduces `count` elements of every rank; all ranks get the result. sendBuf and recvBuf may be equal. */
HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                         HcclComm comm, aclrtStream stream);

/** Copies `count` elements of the root to all ranks. */
HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType, uint32_t root, HcclComm comm,
                         aclrtStream stream);

/** Reduces `count` elements of every rank; the root gets the result. */
HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                      uint32_t root, HcclComm comm, aclrtStream stream);

/** Concatenates `sendCount` elements of every rank. In place, a rank sends from its own part of recvBuf. */
HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount, HcclDataType dataType, HcclComm comm,
                         aclrtStream stream);

/** As HcclAllGather, with a number of elements per rank. The arrays have one uint64_t per rank, and are copied. */
HcclResult HcclAllGatherV(const void *sendBuf, uint64_t sendCount, const void *recvBuf, const void *recvCounts,
                          const void *rdispls, HcclDataType dataType, HcclComm comm, aclrtStream stream);

/** Reduces the operands of all ranks; each rank gets its part, `recvCount` elements. */
HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType, HcclReduceOp op,
                             HcclComm comm, aclrtStream stream);
HcclResult HcclReduceScatterV(const void *sendBuf, const void *sendCounts, const void *sdispls, const void *recvBuf,
                              uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                              aclrtStream stream);

/** Gives each rank its part of the buffer of the root, `recvCount` elements. */
HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType, uint32_t root,
                       HcclComm comm, aclrtStream stream);

/** Every rank sends a part to every rank. */
HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount, HcclDataType sendType, const void *recvBuf,
                        uint64_t recvCount, HcclDataType recvType, HcclComm comm, aclrtStream stream);
HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts, const void *sdispls, HcclDataType sendType,
                         const void *recvBuf, const void *recvCounts, const void *rdispls, HcclDataType recvType,
                         HcclComm comm, aclrtStream stream);
/** As HcclAlltoAllV, with a matrix: element [i * ranks + j] is what rank i sends to rank j. */
HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix, HcclDataType sendType, const void *recvBuf,
                          HcclDataType recvType, HcclComm comm, aclrtStream stream);

/** The task ends when all ranks have come. */
HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);

/** Transfers `count` elements. A send ends when its receive has begun. Transfers between two ranks match in order. */
HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm,
                    aclrtStream stream);
HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm,
                    aclrtStream stream);

/** Several transfers that do not block each other. */
HcclResult HcclBatchSendRecv(HcclSendRecvItem *sendRecvInfo, uint32_t itemNum, HcclComm comm, aclrtStream stream);

/** Settings. Results are deterministic whatever the setting. */
HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue value);
HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *value);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_H_ */
