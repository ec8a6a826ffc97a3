/**
 * @file acl_rt_api.h
 * The C++ forms of the runtime API (CANN 9.1 and newer): overloads and templates with the names of the
 * C functions, for typed pointers and for options that have a separate function in C.
 *
 *     #include "acl/acl_rt_api.h"
 *
 *     float *dev = nullptr;
 *     aclrtMalloc(&dev, n * sizeof(float));                        // no cast to void **
 *     aclrtMemcpy(dev, n * sizeof(float), host, n * sizeof(float), ACL_MEMCPY_HOST_TO_DEVICE);
 *     aclrtSynchronizeStream(stream, 1000);                        // at most one second
 *
 * Sizes are always bytes, never elements. Each form calls the C function that its comment names and
 * returns its result; the rules are in the header of that function. Nothing here is exported by a library.
 *
 * A call with `void *` arguments and the parameter list of C is the C function, with or without this
 * header. The names are overloaded, so a pointer to one of these functions needs its type:
 *
 *     aclError (*wait)(aclrtStream) = aclrtSynchronizeStream;      // not: auto wait = ...
 *
 * In C, this header is acl_rt.h. C++11 or newer.
 */
#ifndef ACL_ACL_RT_API_H_
#define ACL_ACL_RT_API_H_

#include "acl/acl_rt.h"

#ifdef __cplusplus

// Correct even if a program includes this file inside extern "C".
extern "C++" {

#include <type_traits>

namespace softacl_forms {

/** An array of pointers to write to, as C takes it. An array of pointers to const does not compile. */
template <typename T>
inline void **targets(T **pointers)
{
    static_assert(!std::is_const<T>::value, "the destinations of a copy must not point to const");
    return reinterpret_cast<void **>(pointers);
}

/** An array of pointers to read from, as C takes it: without const, although the memory is only read. */
template <typename T>
inline void **sources(T **pointers)
{
    return reinterpret_cast<void **>(const_cast<typename std::remove_const<T>::type **>(pointers));
}

} // namespace softacl_forms

/* ----------------------------------------------------------------- waiting */

/** aclrtSynchronizeDeviceWithTimeout; timeout in milliseconds, -1 waits forever. */
inline aclError aclrtSynchronizeDevice(int32_t timeout)
{
    return aclrtSynchronizeDeviceWithTimeout(timeout);
}

/** aclrtSynchronizeStreamWithTimeout; timeout in milliseconds, -1 waits forever. */
inline aclError aclrtSynchronizeStream(aclrtStream stream, int32_t timeout)
{
    return aclrtSynchronizeStreamWithTimeout(stream, timeout);
}

/** aclrtSynchronizeEventWithTimeout; timeout in milliseconds, -1 waits forever. */
inline aclError aclrtSynchronizeEvent(aclrtEvent event, int32_t timeout)
{
    return aclrtSynchronizeEventWithTimeout(event, timeout);
}

/** aclrtStreamWaitEventWithTimeout. */
inline aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event, int32_t timeout)
{
    return aclrtStreamWaitEventWithTimeout(stream, event, timeout);
}

/** aclrtSetOpExecuteTimeOutV2. */
inline aclError aclrtSetOpExecuteTimeOut(uint64_t timeout, uint64_t *actualTimeout)
{
    return aclrtSetOpExecuteTimeOutV2(timeout, actualTimeout);
}

/* ------------------------------------------------------- streams and events */

/** aclrtCreateStreamWithConfig. */
inline aclError aclrtCreateStream(aclrtStream *stream, uint32_t priority, uint32_t flag)
{
    return aclrtCreateStreamWithConfig(stream, priority, flag);
}

/** aclrtCreateEventWithFlag. */
inline aclError aclrtCreateEvent(aclrtEvent *event, uint32_t flag)
{
    return aclrtCreateEventWithFlag(event, flag);
}

/* ------------------------------------------------------------------ memory */

/** aclrtMallocWithCfg with the policy ACL_MEM_MALLOC_HUGE_FIRST. */
template <typename T>
inline aclError aclrtMalloc(T **devPtr, size_t size, aclrtMallocConfig *cfg = nullptr)
{
    return aclrtMallocWithCfg(softacl_forms::targets(devPtr), size, ACL_MEM_MALLOC_HUGE_FIRST, cfg);
}

/** aclrtMallocHostWithCfg. */
template <typename T>
inline aclError aclrtMallocHost(T **hostPtr, size_t size, aclrtMallocConfig *cfg = nullptr)
{
    return aclrtMallocHostWithCfg(softacl_forms::targets(hostPtr), size, cfg);
}

/** aclrtPointerGetAttributes. */
template <typename T>
inline aclError aclrtPointerGetAttributes(const T *ptr, aclrtPtrAttributes *attributes)
{
    return aclrtPointerGetAttributes(static_cast<const void *>(ptr), attributes);
}

/** aclrtHostRegister. */
template <typename T, typename U>
inline aclError aclrtHostRegister(T *ptr, uint64_t size, aclrtHostRegisterType type, U **devPtr)
{
    return aclrtHostRegister(static_cast<void *>(ptr), size, type, softacl_forms::targets(devPtr));
}

/** aclrtHostGetDevicePointer. */
template <typename T>
inline aclError aclrtHostGetDevicePointer(T *pHost, T **pDevice, uint32_t flag)
{
    return aclrtHostGetDevicePointer(static_cast<void *>(pHost), softacl_forms::targets(pDevice), flag);
}

/** aclrtHostUnregister. */
template <typename T>
inline aclError aclrtHostUnregister(T *ptr)
{
    return aclrtHostUnregister(static_cast<void *>(ptr));
}

/* -------------------------------------------------------------------- copy */

/** aclrtMemcpy. */
template <typename T, typename U>
inline aclError aclrtMemcpy(T *dst, size_t destMax, const U *src, size_t count, aclrtMemcpyKind kind)
{
    return aclrtMemcpy(static_cast<void *>(dst), destMax, static_cast<const void *>(src), count, kind);
}

/** aclrtMemcpyAsync. */
template <typename T, typename U>
inline aclError aclrtMemcpyAsync(T *dst, size_t destMax, const U *src, size_t count,
                                 aclrtMemcpyKind kind, aclrtStream stream)
{
    return aclrtMemcpyAsync(static_cast<void *>(dst), destMax, static_cast<const void *>(src), count,
                            kind, stream);
}

/** aclrtMemcpy2d. */
template <typename T, typename U>
inline aclError aclrtMemcpy2d(T *dst, size_t dpitch, const U *src, size_t spitch, size_t width,
                              size_t height, aclrtMemcpyKind kind)
{
    return aclrtMemcpy2d(static_cast<void *>(dst), dpitch, static_cast<const void *>(src), spitch,
                         width, height, kind);
}

/** aclrtMemcpy2dAsync. */
template <typename T, typename U>
inline aclError aclrtMemcpy2dAsync(T *dst, size_t dpitch, const U *src, size_t spitch, size_t width,
                                   size_t height, aclrtMemcpyKind kind, aclrtStream stream)
{
    return aclrtMemcpy2dAsync(static_cast<void *>(dst), dpitch, static_cast<const void *>(src), spitch,
                              width, height, kind, stream);
}

/* ----------------------------------------------------------------- batches */

/** aclrtMemcpyBatchV2 with one attribute for all items. */
template <typename T, typename U>
inline aclError aclrtMemcpyBatch(T **dsts, size_t *destMaxs, U **srcs, size_t *sizes,
                                 size_t numBatches, aclrtMemcpyBatchAttr attr)
{
    size_t first = 0;
    return aclrtMemcpyBatchV2(softacl_forms::targets(dsts), destMaxs, softacl_forms::sources(srcs),
                              sizes, numBatches, &attr, &first, 1);
}

/** aclrtMemcpyBatchV2. */
template <typename T, typename U>
inline aclError aclrtMemcpyBatch(T **dsts, size_t *destMaxs, U **srcs, size_t *sizes,
                                 size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes,
                                 size_t numAttrs)
{
    return aclrtMemcpyBatchV2(softacl_forms::targets(dsts), destMaxs, softacl_forms::sources(srcs),
                              sizes, numBatches, attrs, attrsIndexes, numAttrs);
}

/** aclrtMemcpyBatchAsyncV2 with one attribute for all items. */
template <typename T, typename U>
inline aclError aclrtMemcpyBatchAsync(T **dsts, size_t *destMaxs, U **srcs, size_t *sizes,
                                      size_t numBatches, aclrtMemcpyBatchAttr attr, aclrtStream stream)
{
    size_t first = 0;
    return aclrtMemcpyBatchAsyncV2(softacl_forms::targets(dsts), destMaxs, softacl_forms::sources(srcs),
                                   sizes, numBatches, &attr, &first, 1, stream);
}

/** aclrtMemcpyBatchAsyncV2. */
template <typename T, typename U>
inline aclError aclrtMemcpyBatchAsync(T **dsts, size_t *destMaxs, U **srcs, size_t *sizes,
                                      size_t numBatches, aclrtMemcpyBatchAttr *attrs,
                                      size_t *attrsIndexes, size_t numAttrs, aclrtStream stream)
{
    return aclrtMemcpyBatchAsyncV2(softacl_forms::targets(dsts), destMaxs, softacl_forms::sources(srcs),
                                   sizes, numBatches, attrs, attrsIndexes, numAttrs, stream);
}

/* ---------------------------------------------------------- managed memory */

/** aclrtMemAllocManaged. */
template <typename T>
inline aclError aclrtMemAllocManaged(T **ptr, uint64_t size, uint32_t flag)
{
    return aclrtMemAllocManaged(softacl_forms::targets(ptr), size, flag);
}

/** aclrtMemManagedPrefetchAsync. */
template <typename T>
inline aclError aclrtMemManagedPrefetchAsync(const T *ptr, size_t size, aclrtMemManagedLocation location,
                                             uint32_t flags, aclrtStream stream)
{
    return aclrtMemManagedPrefetchAsync(static_cast<const void *>(ptr), size, location, flags, stream);
}

/** aclrtMemManagedPrefetchBatchAsync. */
template <typename T>
inline aclError aclrtMemManagedPrefetchBatchAsync(T **ptrs, size_t *sizes, size_t count,
                                                  aclrtMemManagedLocation *prefetchLocs,
                                                  size_t *prefetchLocIdxs, size_t numPrefetchLocs,
                                                  uint64_t flags, aclrtStream stream)
{
    return aclrtMemManagedPrefetchBatchAsync(const_cast<const void **>(softacl_forms::sources(ptrs)), sizes,
                                             count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags,
                                             stream);
}

/* --------------------------------------------------------- device variables */

/** aclrtGetSymbolAddress. */
template <typename T, typename U>
inline aclError aclrtGetSymbolAddress(const T *symbol, U **devPtr)
{
    return aclrtGetSymbolAddress(static_cast<const void *>(symbol), softacl_forms::targets(devPtr));
}

/** aclrtGetSymbolSize. */
template <typename T>
inline aclError aclrtGetSymbolSize(const T *symbol, size_t *size)
{
    return aclrtGetSymbolSize(static_cast<const void *>(symbol), size);
}

/** aclrtMemcpyFromSymbol. */
template <typename T, typename U>
inline aclError aclrtMemcpyFromSymbol(T *dst, size_t dstMax, const U *symbol, size_t count,
                                      size_t offset, aclrtMemcpyKind kind)
{
    return aclrtMemcpyFromSymbol(static_cast<void *>(dst), dstMax, static_cast<const void *>(symbol), count,
                                 offset, kind);
}

/** aclrtMemcpyFromSymbolAsync. */
template <typename T, typename U>
inline aclError aclrtMemcpyFromSymbolAsync(T *dst, size_t dstMax, const U *symbol, size_t count,
                                           size_t offset, aclrtMemcpyKind kind, aclrtStream stream)
{
    return aclrtMemcpyFromSymbolAsync(static_cast<void *>(dst), dstMax, static_cast<const void *>(symbol),
                                      count, offset, kind, stream);
}

/** aclrtMemcpyToSymbol. */
template <typename T, typename U>
inline aclError aclrtMemcpyToSymbol(const T *symbol, const U *src, size_t count, size_t offset,
                                    aclrtMemcpyKind kind)
{
    return aclrtMemcpyToSymbol(static_cast<const void *>(symbol), static_cast<const void *>(src), count,
                               offset, kind);
}

/** aclrtMemcpyToSymbolAsync. */
template <typename T, typename U>
inline aclError aclrtMemcpyToSymbolAsync(const T *symbol, const U *src, size_t count, size_t offset,
                                         aclrtMemcpyKind kind, aclrtStream stream)
{
    return aclrtMemcpyToSymbolAsync(static_cast<const void *>(symbol), static_cast<const void *>(src), count,
                                    offset, kind, stream);
}

} // extern "C++"

#endif /* __cplusplus */

#endif /* ACL_ACL_RT_API_H_ */
