/**
 * @file rt/symbol.h
 * Device variables: address, size and copies. Copies of ordinary memory are in rt/copy.h.
 *
 * `symbol` is the host-side symbol of a device variable, registered when its kernel binary was
 * loaded. Not registered -> 107042, unusable -> 107043.
 */
#ifndef ACL_RT_SYMBOL_H_
#define ACL_RT_SYMBOL_H_

#include "acl/rt/copy.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the device address of a variable. NULL -> 100000. */
ACL_FUNC_VISIBILITY aclError aclrtGetSymbolAddress(const void *symbol, void **devPtr);

/** Returns the size of a variable in bytes. NULL -> 100000. */
ACL_FUNC_VISIBILITY aclError aclrtGetSymbolSize(const void *symbol, size_t *size);

/**
 * Writes `count` bytes to a variable, starting `offset` bytes into it. Blocking, see aclrtMemcpy.
 * count 0 -> 0. NULL, a kind other than H2D and DEFAULT, or a range beyond the variable -> 100000.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyToSymbol(const void *symbol, const void *src, size_t count,
                                                 size_t offset, aclrtMemcpyKind kind);

/** Asynchronous variant of aclrtMemcpyToSymbol; blocks under the conditions of aclrtMemcpyAsync. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyToSymbolAsync(const void *symbol, const void *src,
                                                      size_t count, size_t offset,
                                                      aclrtMemcpyKind kind, aclrtStream stream);

/**
 * Reads `count` bytes of a variable, starting `offset` bytes into it. Blocking, see aclrtMemcpy.
 * count 0 -> 0. NULL, count above dstMax, a kind other than D2H and DEFAULT, or a range beyond the
 * variable -> 100000.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyFromSymbol(void *dst, size_t dstMax, const void *symbol,
                                                   size_t count, size_t offset,
                                                   aclrtMemcpyKind kind);

/** Asynchronous variant of aclrtMemcpyFromSymbol; blocks under the conditions of aclrtMemcpyAsync. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyFromSymbolAsync(void *dst, size_t dstMax,
                                                        const void *symbol, size_t count,
                                                        size_t offset, aclrtMemcpyKind kind,
                                                        aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_SYMBOL_H_ */
