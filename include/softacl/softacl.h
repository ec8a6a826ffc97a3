/**
 * @file softacl.h
 * Functions that softacl adds to the AscendCL API. The headers in acl/ do not need this one. A program
 * that uses it runs only on softacl.
 */
#ifndef SOFTACL_SOFTACL_H_
#define SOFTACL_SOFTACL_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Returns the address through which host code may read and write device memory or pinned host memory. Intended for the
 * code of a kernel (softaclLaunchKernel), and for a host function that stands in for one:
 *
 *     static void doubleAll(void *p) {            // runs in stream order, on a host thread
 *         struct Args *a = p;
 *         void *view;
 *         if (softaclHostView(a->dev, a->n * sizeof(float), &view) != ACL_SUCCESS) return;
 *         for (size_t i = 0; i < a->n; i++) ((float *)view)[i] *= 2;
 *     }
 *     aclrtLaunchHostFunc(stream, doubleAll, &args);
 *
 * The view is valid until the allocation is freed. It is not a copy and takes no lock: order your
 * accesses with streams and events, like those of a kernel. Do not pass the address to acl functions,
 * and do not free it.
 *
 *   100000   devPtr or hostPtr NULL
 *   107000   the range is not inside one live allocation of device memory or pinned host memory
 */
ACL_FUNC_VISIBILITY aclError softaclHostView(void *devPtr, size_t size, void **hostPtr);

/** Accesses of a kernel to a range. */
enum { SOFTACL_READ = 1, SOFTACL_WRITE = 2 };

/** Bytes that a kernel accesses, in device memory or in host memory. */
typedef struct softaclRange {
    void *ptr;
    size_t size;
    uint32_t access; /**< SOFTACL_READ, SOFTACL_WRITE, or both */
} softaclRange;

/** The code of a kernel. Returns 0, or the code of an error. */
typedef int (*softaclKernelFunction)(void *argument);

/** Releases the argument of a kernel. */
typedef void (*softaclKernelRelease)(void *argument);

/**
 * Queues a kernel: `function(argument)` runs in the order of the stream, on any thread, as a task that reads and writes
 * the given ranges. Kernels of two streams run at the same time. In a capture, every run of the graph runs the kernel.
 *
 *     static int scale(void *p) {
 *         struct Args *a = p;
 *         void *view;
 *         if (softaclHostView(a->dev, a->n * sizeof(float), &view) != ACL_SUCCESS) return 507015;
 *         for (size_t i = 0; i < a->n; i++) ((float *)view)[i] *= 2;
 *         return 0;
 *     }
 *     softaclRange range = {a->dev, a->n * sizeof(float), SOFTACL_READ | SOFTACL_WRITE};
 *     softaclLaunchKernel(stream, scale, a, free, &range, 1, "scale");
 *
 * The function reads and writes memory, through softaclHostView, and nothing else: it must not wait, and of this API it
 * may call only softaclHostView. The checker judges the ranges like those of a copy. A code other than 0 fails the
 * stream: the next wait returns it, with the name of the kernel.
 *
 * @param stream    the stream; NULL is the default stream of the current context
 * @param release   called exactly once, when the kernel cannot run again, also if this call fails; NULL for nothing
 * @param ranges    what the function reads and writes, copied by the call; NULL if `count` is 0. Each range lies in one
 *                  allocation, of the device of the stream, of a peer that it may access, or in host memory
 * @param name      name for messages, findings and timelines, copied by the call
 *
 *   100000   function or name NULL, ranges NULL with a count, an access that does not exist
 *   107000   a range is not inside one live allocation
 */
ACL_FUNC_VISIBILITY aclError softaclLaunchKernel(void *stream, softaclKernelFunction function, void *argument,
                                                 softaclKernelRelease release, const softaclRange *ranges,
                                                 size_t count, const char *name);

/** Result of a step that has to be continued. */
enum { SOFTACL_PENDING = -1 };

/**
 * The functions of an operation: a kernel that depends on others, such as the other ranks of a collective or the peer of
 * a transfer. It runs in steps, none of which waits. All functions may be called on any thread. Of this API they may call
 * only softaclHostView, and isReady, describe, end and waitsInside may call none.
 */
typedef struct softaclOperation {
    size_t size; /**< sizeof(softaclOperation) */
    /** Begins a run, in the order of the stream. Returns its state, which the other functions receive. */
    void *(*begin)(void *argument);
    /** Does what can be done now. Returns 0 at the end of the run, SOFTACL_PENDING, or the code of an error. */
    int (*step)(void *run);
    /** Returns 1 if a step can continue the run. Called often, at any time between begin and end, also during a step. */
    int (*isReady)(void *run);
    /** Writes what the run waits for, or why it failed, to at most `size` bytes. Returns the length of the text. */
    size_t (*describe)(void *run, char *text, size_t size);
    /** Ends a run, whether it is finished, failed, or was aborted. Called exactly once for every run. */
    void (*end)(void *run);
    /** May be NULL, and absent: `size` is then offsetof(softaclOperation, waitsInside). Says who can continue a run that
     *  waits: SOFTACL_PENDING if another process may; otherwise only this process can, and the result is the time limit of
     *  the run in seconds, 0 for none. With it, the checker can prove that the program hangs. Called like isReady. */
    int (*waitsInside)(void *run);
} softaclOperation;

/**
 * Queues an operation: a kernel that runs in steps. While it waits for others it occupies no thread, so operations of
 * several streams of a process may depend on each other. In a capture, every run of the graph begins a run of the
 * operation. A sub-graph of a conditional task cannot contain one (207000).
 *
 * The parameters and codes are those of softaclLaunchKernel, with the functions copied by the call. The error of a failed
 * step has the text of `describe`.
 *
 *   100000   operation, one of its functions, or name NULL; a size that does not exist
 */
ACL_FUNC_VISIBILITY aclError softaclLaunchOperation(void *stream, const softaclOperation *operation, void *argument,
                                                    softaclKernelRelease release, const softaclRange *ranges,
                                                    size_t count, const char *name);

/**
 * Returns the errors of failed tasks that no wait has returned, of live and of destroyed streams. A test
 * can call this function at its end.
 *
 * @param text  receives one line per error, zero-terminated and truncated to `size`; may be NULL
 * @param size  bytes at `text`
 * @return the number of errors
 */
ACL_FUNC_VISIBILITY size_t softaclUnobservedErrors(char *text, size_t size);

/**
 * Begins a region of the calling thread in which no call may wait: synchronous copies and memory sets, asynchronous
 * copies of pageable memory, explicit waits, frees with synchronization, aclrtDestroyStream and aclrtResetDevice. A
 * call counts even if there was nothing to wait for, so the result does not depend on timing. Works with and without
 * the checker. Regions nest.
 *
 * @param name   for messages; may be NULL
 * @param allow  functions that may wait, separated by commas, for example "aclrtSynchronizeEvent"; may be NULL
 *
 *   100000   `allow` has a name that is not a function of the API
 */
ACL_FUNC_VISIBILITY aclError softaclNoHiddenSyncBegin(const char *name, const char *allow);

/**
 * Ends the innermost region of the calling thread.
 *
 * @param text  receives one line per call site that waited, with its source line, zero-terminated and truncated to
 *              `size`; may be NULL
 * @param size  bytes at `text`
 * @return the number of calls that waited; SIZE_MAX if the thread has no region
 */
ACL_FUNC_VISIBILITY size_t softaclNoHiddenSyncEnd(char *text, size_t size);

/**
 * Begins a range of the calling thread on the timeline of `softacl trace`. Ranges nest. With `softacl trace --ranges`
 * (SOFTACL_TRACE_RANGES=1), only what happens while a range of any thread is open is recorded, so that a long program
 * gives a short trace:
 *
 *     softaclTraceRangeBegin("step 100");
 *     step();
 *     softaclTraceRangeEnd();
 *
 * Without a trace, both functions do nothing.
 *
 * @param name  shown on the timeline, copied by the call; NULL for "range"
 *
 *   100000   `name` is not a readable string
 */
ACL_FUNC_VISIBILITY aclError softaclTraceRangeBegin(const char *name);

/**
 * Ends the innermost range of the calling thread.
 *
 *   100000   the thread has no open range
 */
ACL_FUNC_VISIBILITY aclError softaclTraceRangeEnd(void);

/** Returns 1 if the checker is active in this process (SOFTACL_CHECK=1, `softacl check`), 0 otherwise. */
ACL_FUNC_VISIBILITY int softaclIsChecking(void);

/**
 * Reports the findings now, once; the process then reports nothing at its end. For a process that ends without
 * running its exit handlers.
 *
 * @return 1 if findings were proven and printed to stderr; 0 if none were, or if `softacl check` reports them
 */
ACL_FUNC_VISIBILITY int softaclTellFindings(void);

/**
 * Writes the findings so far as JSON. A test can call this function at its end.
 *
 * @param text  receives the report, zero-terminated and truncated to `size`; may be NULL
 * @param size  bytes at `text`
 * @return the length of the whole report; 0 if the checker is not active
 */
ACL_FUNC_VISIBILITY size_t softaclFindings(char *text, size_t size);

/** Version of softacl, for example "0.2.0". A constant string; do not free it. */
ACL_FUNC_VISIBILITY const char *softaclVersion(void);

#ifdef __cplusplus
}
#endif

#endif /* SOFTACL_SOFTACL_H_ */
