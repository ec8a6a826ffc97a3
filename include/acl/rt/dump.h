/**
 * @file rt/dump.h
 * Enabling and disabling operator dump. Dump files and exceptions are in acl_dump.h.
 */
#ifndef ACL_RT_DUMP_H_
#define ACL_RT_DUMP_H_

#include "acl/rt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Initializes dump in programs that did not configure it in aclInit. Already running -> 100044. */
ACL_FUNC_VISIBILITY aclError aclmdlInitDump(void);

/** Reads the dump settings from a JSON file. Bad file -> 100003 and above. */
ACL_FUNC_VISIBILITY aclError aclmdlSetDump(const char *dumpCfgPath);

/** Ends dump. Not running -> 100045. */
ACL_FUNC_VISIBILITY aclError aclmdlFinalizeDump(void);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_DUMP_H_ */
