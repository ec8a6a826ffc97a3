/**
 * @file rt_error_codes.h
 * Error codes of the runtime layer, as macros so that they can be case labels.
 * Failures with these codes are kept per thread for aclrtGetLastError. The codes of the outer layer
 * (100000, 200000 ...) are in acl_base_rt.h, those of the graph engine in ge_error_codes.h.
 */
#ifndef ACL_ERROR_CODES_RT_ERROR_CODES_H_
#define ACL_ERROR_CODES_RT_ERROR_CODES_H_

#define ACL_RT_SUCCESS                                   0 /**< success */

/* 107xxx: invalid argument or invalid use */
#define ACL_ERROR_RT_PARAM_INVALID                       107000 /**< an argument the runtime layer refuses */
#define ACL_ERROR_RT_INVALID_DEVICEID                    107001 /**< no such device id */
#define ACL_ERROR_RT_CONTEXT_NULL                        107002 /**< this thread has no usable current context */
#define ACL_ERROR_RT_STREAM_CONTEXT                      107003 /**< stream (or event) of another context */
#define ACL_ERROR_RT_MODEL_CONTEXT                       107004 /**< graph of another context */
#define ACL_ERROR_RT_STREAM_MODEL                        107005 /**< stream is not part of the graph */
#define ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID             107006 /**< event has no timestamp */
#define ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL            107007 /**< end event older than start event */
#define ACL_ERROR_RT_ADDR_UNALIGNED                      107008 /**< address not aligned */
#define ACL_ERROR_RT_FILE_OPEN                           107009 /**< file cannot be opened */
#define ACL_ERROR_RT_FILE_WRITE                          107010 /**< file cannot be written */
#define ACL_ERROR_RT_STREAM_SUBSCRIBE                    107011 /**< stream already has a callback thread */
#define ACL_ERROR_RT_THREAD_SUBSCRIBE                    107012 /**< thread not subscribed */
#define ACL_ERROR_RT_GROUP_NOT_SET                       107013 /**< no group chosen */
#define ACL_ERROR_RT_GROUP_NOT_CREATE                    107014 /**< no groups exist */
#define ACL_ERROR_RT_STREAM_NO_CB_REG                    107015 /**< no callback thread for this stream */
#define ACL_ERROR_RT_INVALID_MEMORY_TYPE                 107016 /**< kind of memory not valid here */
#define ACL_ERROR_RT_INVALID_HANDLE                      107017 /**< handle bad or already destroyed */
#define ACL_ERROR_RT_INVALID_MALLOC_TYPE                 107018 /**< kind of allocation not valid */
#define ACL_ERROR_RT_WAIT_TIMEOUT                        107019 /**< a wait took too long */
#define ACL_ERROR_RT_TASK_TIMEOUT                        107020 /**< a task took too long */
#define ACL_ERROR_RT_SYSPARAMOPT_NOT_SET                 107021 /**< option was never set */
#define ACL_ERROR_RT_DEVICE_TASK_ABORT                   107022 /**< device is dropping its tasks */
#define ACL_ERROR_RT_STREAM_ABORT                        107023 /**< stream is dropping its tasks */
#define ACL_ERROR_RT_CAPTURE_DEPENDENCY                  107024 /**< capture depends on work outside it */
#define ACL_ERROR_RT_STREAM_UNJOINED                     107025 /**< a side stream was not joined back */
#define ACL_ERROR_RT_MODEL_CAPTURED                      107026 /**< not allowed on a captured graph */
#define ACL_ERROR_RT_STREAM_CAPTURED                     107027 /**< not allowed on a capturing stream */
#define ACL_ERROR_RT_EVENT_CAPTURED                      107028 /**< not allowed on a captured event */
#define ACL_ERROR_RT_STREAM_NOT_CAPTURED                 107029 /**< stream is not capturing */
#define ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT            107030 /**< not allowed in this capture mode */
#define ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT             107031 /**< default stream cannot be captured */
#define ACL_ERROR_STREAM_CAPTURE_CONFLICT                107032 /**< two captures depend on each other */
#define ACL_ERROR_STREAM_TASK_GROUP_STATUS               107033 /**< task group in the wrong state */
#define ACL_ERROR_STREAM_TASK_GROUP_INTR                 107034 /**< task group interrupted */
#define ACL_ERROR_RT_TASK_ABORT_STOP                     107035 /**< abort stopped early */
#define ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED            107036 /**< capture began on another stream */
#define ACL_ERROR_RT_MODEL_RUNNING                       107037 /**< graph still runs */
#define ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD         107038 /**< capture began in another thread */
#define ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY            107039 /**< output array too short */
#define ACL_ERROR_RT_MODEL_UPDATE_FAILED                 107040 /**< graph update failed */
#define ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC            107041 /**< async copy would block, not allowed */
#define ACL_ERROR_RT_SYMBOL_NOT_FOUND                    107042 /**< no such device symbol */
#define ACL_ERROR_RT_INVALID_SYMBOL                      107043 /**< device symbol unusable */
#define ACL_ERROR_RT_INVALID_DEVICE_FUNCTION             107044 /**< device function unusable */
#define ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING           107045 /**< sub-graph still capturing */

/* 207xxx: a resource ran out or a feature is missing */
#define ACL_ERROR_RT_FEATURE_NOT_SUPPORT                 207000 /**< chip, mode or request not supported */
#define ACL_ERROR_RT_MEMORY_ALLOCATION                   207001 /**< out of device or pinned memory */
#define ACL_ERROR_RT_MEMORY_FREE                         207002 /**< memory cannot be freed */
#define ACL_ERROR_RT_AICORE_OVER_FLOW                    207003 /**< arithmetic overflow in an AI core */
#define ACL_ERROR_RT_NO_DEVICE                           207004 /**< no device present */
#define ACL_ERROR_RT_RESOURCE_ALLOC_FAIL                 207005 /**< some other resource ran out */
#define ACL_ERROR_RT_NO_PERMISSION                       207006 /**< not permitted */
#define ACL_ERROR_RT_NO_EVENT_RESOURCE                   207007 /**< no event left */
#define ACL_ERROR_RT_NO_STREAM_RESOURCE                  207008 /**< no stream left */
#define ACL_ERROR_RT_NO_NOTIFY_RESOURCE                  207009 /**< no notify left */
#define ACL_ERROR_RT_NO_MODEL_RESOURCE                   207010 /**< no graph left */
#define ACL_ERROR_RT_NO_CDQ_RESOURCE                     207011 /**< no command queue left */
#define ACL_ERROR_RT_OVER_LIMIT                          207012 /**< limit exceeded */
#define ACL_ERROR_RT_QUEUE_EMPTY                         207013 /**< queue empty */
#define ACL_ERROR_RT_QUEUE_FULL                          207014 /**< queue full */
#define ACL_ERROR_RT_REPEATED_INIT                       207015 /**< set up twice */
#define ACL_ERROR_RT_AIVEC_OVER_FLOW                     207016 /**< arithmetic overflow in a vector core */
#define ACL_ERROR_RT_OVER_FLOW                           207017 /**< arithmetic overflow */
#define ACL_ERROR_RT_DEVICE_OOM                          207018 /**< device side ran out of memory */
#define ACL_ERROR_RT_FEATURE_NOT_SUPPORT_UPDATE_OP       207019 /**< operator cannot be updated */
#define ACL_ERROR_RT_TIMEOUT                             207020 /**< driver took too long */
#define ACL_ERROR_RT_LINK_TYPE_NOT_SUPPORTED             207021 /**< kind of link not supported */

/* 507xxx: the runtime or the device failed */
#define ACL_ERROR_RT_INTERNAL_ERROR                      507000 /**< runtime internal error */
#define ACL_ERROR_RT_TS_ERROR                            507001 /**< task scheduler failed */
#define ACL_ERROR_RT_STREAM_TASK_FULL                    507002 /**< stream queue full */
#define ACL_ERROR_RT_STREAM_TASK_EMPTY                   507003 /**< stream queue empty */
#define ACL_ERROR_RT_STREAM_NOT_COMPLETE                 507004 /**< stream busy; queries turn it into a status */
#define ACL_ERROR_RT_END_OF_SEQUENCE                     507005 /**< no more data */
#define ACL_ERROR_RT_EVENT_NOT_COMPLETE                  507006 /**< event pending; queries turn it into a status */
#define ACL_ERROR_RT_CONTEXT_RELEASE_ERROR               507007 /**< context destroyed, or reset without set */
#define ACL_ERROR_RT_SOC_VERSION                         507008 /**< built for another chip */
#define ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT               507009 /**< kind of task not supported */
#define ACL_ERROR_RT_LOST_HEARTBEAT                      507010 /**< scheduler stopped responding */
#define ACL_ERROR_RT_MODEL_EXECUTE                       507011 /**< graph execution failed */
#define ACL_ERROR_RT_REPORT_TIMEOUT                      507012 /**< no callback arrived in time */
#define ACL_ERROR_RT_SYS_DMA                             507013 /**< copy failed on the device */
#define ACL_ERROR_RT_AICORE_TIMEOUT                      507014 /**< AI core took too long */
#define ACL_ERROR_RT_AICORE_EXCEPTION                    507015 /**< AI core failed */
#define ACL_ERROR_RT_AICORE_TRAP_EXCEPTION               507016 /**< AI core trapped */
#define ACL_ERROR_RT_AICPU_TIMEOUT                       507017 /**< AI CPU took too long */
#define ACL_ERROR_RT_AICPU_EXCEPTION                     507018 /**< AI CPU failed */
#define ACL_ERROR_RT_AICPU_DATADUMP_RSP_ERR              507019 /**< AI CPU refused a data dump */
#define ACL_ERROR_RT_AICPU_MODEL_RSP_ERR                 507020 /**< AI CPU refused a graph */
#define ACL_ERROR_RT_PROFILING_ERROR                     507021 /**< profiling failed */
#define ACL_ERROR_RT_IPC_ERROR                           507022 /**< sharing between processes failed */
#define ACL_ERROR_RT_MODEL_ABORT_NORMAL                  507023 /**< graph was stopped */
#define ACL_ERROR_RT_KERNEL_UNREGISTERING                507024 /**< kernel is being removed */
#define ACL_ERROR_RT_RINGBUFFER_NOT_INIT                 507025 /**< ring buffer not ready */
#define ACL_ERROR_RT_RINGBUFFER_NO_DATA                  507026 /**< ring buffer empty */
#define ACL_ERROR_RT_KERNEL_LOOKUP                       507027 /**< kernel not found */
#define ACL_ERROR_RT_KERNEL_DUPLICATE                    507028 /**< kernel already registered */
#define ACL_ERROR_RT_DEBUG_REGISTER_FAIL                 507029 /**< debugger cannot attach */
#define ACL_ERROR_RT_DEBUG_UNREGISTER_FAIL               507030 /**< debugger cannot detach */
#define ACL_ERROR_RT_LABEL_CONTEXT                       507031 /**< label of another context */
#define ACL_ERROR_RT_PROGRAM_USE_OUT                     507032 /**< no program slot left */
#define ACL_ERROR_RT_DEV_SETUP_ERROR                     507033 /**< device could not be set up */
#define ACL_ERROR_RT_VECTOR_CORE_TIMEOUT                 507034 /**< vector core took too long */
#define ACL_ERROR_RT_VECTOR_CORE_EXCEPTION               507035 /**< vector core failed */
#define ACL_ERROR_RT_VECTOR_CORE_TRAP_EXCEPTION          507036 /**< vector core trapped */
#define ACL_ERROR_RT_CDQ_BATCH_ABNORMAL                  507037 /**< command batch failed */
#define ACL_ERROR_RT_DIE_MODE_CHANGE_ERROR               507038 /**< die mode cannot be changed */
#define ACL_ERROR_RT_DIE_SET_ERROR                       507039 /**< die cannot be chosen in this mode */
#define ACL_ERROR_RT_INVALID_DIEID                       507040 /**< no such die */
#define ACL_ERROR_RT_DIE_MODE_NOT_SET                    507041 /**< die mode not chosen */
#define ACL_ERROR_RT_AICORE_TRAP_READ_OVERFLOW           507042 /**< AI core read out of bounds */
#define ACL_ERROR_RT_AICORE_TRAP_WRITE_OVERFLOW          507043 /**< AI core wrote out of bounds */
#define ACL_ERROR_RT_VECTOR_CORE_TRAP_READ_OVERFLOW      507044 /**< vector core read out of bounds */
#define ACL_ERROR_RT_VECTOR_CORE_TRAP_WRITE_OVERFLOW     507045 /**< vector core wrote out of bounds */
#define ACL_ERROR_RT_STREAM_SYNC_TIMEOUT                 507046 /**< waiting for a stream or device timed out */
#define ACL_ERROR_RT_EVENT_SYNC_TIMEOUT                  507047 /**< waiting for an event timed out */
#define ACL_ERROR_RT_FFTS_PLUS_TIMEOUT                   507048 /**< thread scheduler took too long */
#define ACL_ERROR_RT_FFTS_PLUS_EXCEPTION                 507049 /**< thread scheduler failed */
#define ACL_ERROR_RT_FFTS_PLUS_TRAP_EXCEPTION            507050 /**< thread scheduler trapped */
#define ACL_ERROR_RT_SEND_MSG                            507051 /**< message to the device not sent */
#define ACL_ERROR_RT_COPY_DATA                           507052 /**< host memory of a copy not accessible */
#define ACL_ERROR_RT_DEVICE_MEM_ERROR                    507053 /**< device memory fault */
#define ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR             507054 /**< uncorrectable memory error */
#define ACL_ERROR_RT_SUSPECT_DEVICE_MEM_ERROR            507055 /**< probably a device memory fault */
#define ACL_ERROR_RT_LINK_ERROR                          507056 /**< link between devices failed */
#define ACL_ERROR_RT_SUSPECT_REMOTE_ERROR                507057 /**< probably a fault of the peer */
#define ACL_ERROR_RT_DRV_INTERNAL_ERROR                  507899 /**< other driver error */
#define ACL_ERROR_RT_AICPU_INTERNAL_ERROR                507900 /**< AI CPU internal error */
#define ACL_ERROR_RT_SOCKET_CLOSE                        507901 /**< connection to the device closed */
#define ACL_ERROR_RT_AICPU_INFO_LOAD_RSP_ERR             507902 /**< AI CPU refused its set-up */
#define ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED          507903 /**< capture was invalidated by an earlier call */
#define ACL_ERROR_RT_COMM_OP_RETRY_FAIL                  507904 /**< collective operation failed again */
#define ACL_ERROR_SNAPSHOT_LOCK_TIMEOUT                  507905 /**< process not locked in time */
#define ACL_ERROR_SNAPSHOT_LOCK_FAILED                   507906 /**< process cannot be locked */
#define ACL_ERROR_SNAPSHOT_UNLOCK_FAILED                 507907 /**< process cannot be unlocked */
#define ACL_ERROR_SNAPSHOT_BACKUP_FAILED                 507908 /**< snapshot cannot be saved */
#define ACL_ERROR_SNAPSHOT_RESTORE_FAILED                507909 /**< snapshot cannot be restored */
#define ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED         507910 /**< host range is registered already */
#define ACL_ERROR_HOST_MEMORY_NOT_REGISTERED             507911 /**< host range is not registered */
#define ACL_ERROR_SNAPSHOT_CALLBACK_FAILED               507912 /**< a snapshot callback failed */
#define ACL_ERROR_SNAPSHOT_REGISTER_CALLBACK_FAILED      507913 /**< snapshot callback not accepted */
#define ACL_ERROR_RT_L3_PORT_ERROR                       507914 /**< level-3 port failed */
#define ACL_ERROR_RT_CCU_TIMEOUT                         507915 /**< collective unit took too long */
#define ACL_ERROR_RT_CCU_EXCEPTION                       507916 /**< collective unit failed */

#endif /* ACL_ERROR_CODES_RT_ERROR_CODES_H_ */
