/**
 * @file acl_tdt.h
 * Channels that transfer tensors between host and device. Queues of shared buffers are in
 * acl_tdt_queue.h.
 *
 * On softacl no program runs on the device: what is sent to a channel stays there until it is received
 * from a channel of the same name on the same device, in the same process.
 *
 * Timeouts are in milliseconds: -1 waits without limit, 0 does not wait.
 */
#ifndef ACL_ACL_TDT_H_
#define ACL_ACL_TDT_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Kind of an item: tensor, end of the data, and so on. This header does not define the values; int
 * has the size of the enum. softacl stores the kind and transfers it with the item.
 */
typedef int acltdtTensorType;

/* These three are opaque: programs use only pointers to them. */
typedef struct acltdtDataItem acltdtDataItem;           /**< one tensor */
typedef struct acltdtDataset acltdtDataset;             /**< list of tensors */
typedef struct acltdtChannelHandle acltdtChannelHandle; /**< a channel */

/** Returns the kind of an item. */
ACL_FUNC_VISIBILITY acltdtTensorType acltdtGetTensorTypeFromItem(const acltdtDataItem *dataItem);

/** Returns the element type of an item. */
ACL_FUNC_VISIBILITY aclDataType acltdtGetDataTypeFromItem(const acltdtDataItem *dataItem);

/** Returns the address of the data of an item. */
ACL_FUNC_VISIBILITY void *acltdtGetDataAddrFromItem(const acltdtDataItem *dataItem);

/** Returns the size of the data of an item in bytes. */
ACL_FUNC_VISIBILITY size_t acltdtGetDataSizeFromItem(const acltdtDataItem *dataItem);

/** Returns the number of dimensions of an item. */
ACL_FUNC_VISIBILITY size_t acltdtGetDimNumFromItem(const acltdtDataItem *dataItem);

/** Reads the number of slices of a tensor and the index of this slice. */
ACL_FUNC_VISIBILITY aclError acltdtGetSliceInfoFromItem(const acltdtDataItem *dataItem,
                                                        size_t *sliceNum, size_t *sliceId);

/** Reads the dimensions of an item; dimNum is the capacity of dims. */
ACL_FUNC_VISIBILITY aclError acltdtGetDimsFromItem(const acltdtDataItem *dataItem, int64_t *dims,
                                                   size_t dimNum);

/** Creates an item; NULL on failure. The caller keeps ownership of the data. */
ACL_FUNC_VISIBILITY acltdtDataItem *acltdtCreateDataItem(acltdtTensorType tdtType,
                                                         const int64_t *dims, size_t dimNum,
                                                         aclDataType dataType, void *data,
                                                         size_t size);

/** Destroys an item. */
ACL_FUNC_VISIBILITY aclError acltdtDestroyDataItem(acltdtDataItem *dataItem);

/** Creates an empty list; NULL on failure. */
ACL_FUNC_VISIBILITY acltdtDataset *acltdtCreateDataset(void);

/** Destroys a list, with the items that it received but not those that the program added. */
ACL_FUNC_VISIBILITY aclError acltdtDestroyDataset(acltdtDataset *dataset);

/** Returns one item of a list; NULL if the index is out of range. */
ACL_FUNC_VISIBILITY acltdtDataItem *acltdtGetDataItem(const acltdtDataset *dataset, size_t index);

/** Adds an item to a list. The item must live until the list is sent. */
ACL_FUNC_VISIBILITY aclError acltdtAddDataItem(acltdtDataset *dataset, acltdtDataItem *dataItem);

/** Returns the number of items in a list. */
ACL_FUNC_VISIBILITY size_t acltdtGetDatasetSize(const acltdtDataset *dataset);

/** Returns the name of the channel that a list was received from; empty if it was not received. */
ACL_FUNC_VISIBILITY const char *acltdtGetDatasetName(const acltdtDataset *dataset);

/** Wakes the threads that wait on a channel. No call on this handle waits from then on. */
ACL_FUNC_VISIBILITY aclError acltdtStopChannel(acltdtChannelHandle *handle);

/** Opens a channel; NULL on failure. */
ACL_FUNC_VISIBILITY acltdtChannelHandle *acltdtCreateChannel(uint32_t deviceId, const char *name);

/** Opens a channel that holds at most `capacity` elements. */
ACL_FUNC_VISIBILITY acltdtChannelHandle *acltdtCreateChannelWithCapacity(uint32_t deviceId,
                                                                         const char *name,
                                                                         size_t capacity);

/** Closes a channel. */
ACL_FUNC_VISIBILITY aclError acltdtDestroyChannel(acltdtChannelHandle *handle);

/** Discards the contents of a channel. */
ACL_FUNC_VISIBILITY aclError acltdtCleanChannel(acltdtChannelHandle *handle);

/**
 * Sends a copy of a list. Waits while the channel is full.
 * @retval ACL_ERROR_RT_QUEUE_FULL the channel was still full when the timeout ended
 */
ACL_FUNC_VISIBILITY aclError acltdtSendTensor(const acltdtChannelHandle *handle,
                                              const acltdtDataset *dataset, int32_t timeout);

/**
 * Receives a list into an empty one. Waits while the channel is empty.
 * @retval ACL_ERROR_RT_QUEUE_EMPTY the channel was still empty when the timeout ended
 */
ACL_FUNC_VISIBILITY aclError acltdtReceiveTensor(const acltdtChannelHandle *handle,
                                                 acltdtDataset *dataset, int32_t timeout);

/** Reads the number of elements in a channel. */
ACL_FUNC_VISIBILITY aclError acltdtQueryChannelSize(const acltdtChannelHandle *handle,
                                                    size_t *size);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_TDT_H_ */
