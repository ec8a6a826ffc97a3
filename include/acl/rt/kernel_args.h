/**
 * @file rt/kernel_args.h
 * Building the argument list of a kernel incrementally: init, append, finalize, then
 * aclrtLaunchKernelWithConfig (rt/kernel.h).
 */
#ifndef ACL_RT_KERNEL_ARGS_H_
#define ACL_RT_KERNEL_ARGS_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Starts a list in memory of the library. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsInit(aclrtFuncHandle funcHandle,
                                                 aclrtArgsHandle *argsHandle);

/** Starts a list in memory of the caller; the next two functions return the required sizes. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsInitByUserMem(aclrtFuncHandle funcHandle,
                                                          aclrtArgsHandle argsHandle,
                                                          void *userHostMem,
                                                          size_t actualArgsSize);

/** Returns the size of the list object in bytes. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsGetHandleMemSize(aclrtFuncHandle funcHandle,
                                                             size_t *memSize);

/** Returns the memory needed for the arguments, given the sum of their sizes. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsGetMemSize(aclrtFuncHandle funcHandle,
                                                       size_t userArgsSize,
                                                       size_t *actualArgsSize);

/** Adds an argument by value. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsAppend(aclrtArgsHandle argsHandle, void *param,
                                                   size_t paramSize, aclrtParamHandle *paramHandle);

/** Adds a pointer argument whose data is stored with the list. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsAppendPlaceHolder(aclrtArgsHandle argsHandle,
                                                              aclrtParamHandle *paramHandle);

/** Returns the buffer for the data of a pointer argument. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle argsHandle,
                                                                 aclrtParamHandle paramHandle,
                                                                 size_t dataSize,
                                                                 void **bufferAddr);

/** Changes an argument of the list. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsParaUpdate(aclrtArgsHandle argsHandle,
                                                       aclrtParamHandle paramHandle, void *param,
                                                       size_t paramSize);

/** Finalizes the list. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsFinalize(aclrtArgsHandle argsHandle);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_KERNEL_ARGS_H_ */
