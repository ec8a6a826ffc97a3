/**
 * @file softacl.h
 * What softacl offers beyond the AscendCL interface. Nothing in acl/ needs this header; a program
 * that uses it runs on softacl only.
 */
#ifndef SOFTACL_SOFTACL_H_
#define SOFTACL_SOFTACL_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Gives the address through which host code may read and write device memory. It is meant for a
 * host function that plays the part of a kernel:
 *
 *     static void doubleAll(void *p) {            // runs in stream order, on a host thread
 *         struct Args *a = p;
 *         void *view;
 *         if (softaclHostView(a->dev, a->n * sizeof(float), &view) != ACL_SUCCESS) return;
 *         for (size_t i = 0; i < a->n; i++) ((float *)view)[i] *= 2;
 *     }
 *     aclrtLaunchHostFunc(stream, doubleAll, &args);
 *
 * The view is valid until the allocation is freed. It is no copy and takes no lock: order your
 * accesses with streams and events, as a kernel's would be. Do not pass it to acl functions, and do
 * not free it.
 *
 *   100000   devPtr or hostPtr NULL
 *   107000   the range does not lie in one live device allocation
 */
ACL_FUNC_VISIBILITY aclError softaclHostView(void *devPtr, size_t size, void **hostPtr);

/**
 * Tells about failed tasks whose error no wait ever returned, of streams that live and of streams that
 * were destroyed meanwhile. A test can ask this at its end.
 *
 * @param text  receives one line per error, ended by a zero and cut to `size`; may be NULL
 * @param size  bytes at `text`
 * @return the number of such errors
 */
ACL_FUNC_VISIBILITY size_t softaclUnobservedErrors(char *text, size_t size);

/** 1 in a process that is checked for misuse of asynchronous copies (SOFTACL_CHECK=1, `softacl check`), 0 otherwise. */
ACL_FUNC_VISIBILITY int softaclIsChecking(void);

/**
 * Tells now what the checker has found, once; at its end the process tells nothing more. For a process that ends
 * without running its exit handlers.
 *
 * @return 1 when something was proven and told on standard error; 0 when nothing was, or when `softacl check` tells it
 */
ACL_FUNC_VISIBILITY int softaclTellFindings(void);

/**
 * Writes what the checker has found so far as JSON. A test can ask this at its end.
 *
 * @param text  receives the report, ended by a zero and cut to `size`; may be NULL
 * @param size  bytes at `text`
 * @return the length of the whole report; 0 when the process is not checked
 */
ACL_FUNC_VISIBILITY size_t softaclFindings(char *text, size_t size);

/** Version of softacl, for example "0.1.0". A constant string; do not free it. */
ACL_FUNC_VISIBILITY const char *softaclVersion(void);

#ifdef __cplusplus
}
#endif

#endif /* SOFTACL_SOFTACL_H_ */
