/*
 * Test harness of the conformance programs: expectations, byte patterns, gates.
 *
 * A program includes this file first, states what it expects and ends with
 * `return finish();`. All functions are static, so that a program is a single
 * translation unit.
 */
#ifndef CONFORMANCE_EXPECT_H
#define CONFORMANCE_EXPECT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "acl/acl.h"

/* ---- expectations ------------------------------------------------------ */

static int expect_total;
static int expect_failed;

/* Returns "memcpy/checks" for ".../conformance/memcpy/checks.c". */
static inline const char *program_name(void)
{
    static char name[256];
    const char *path = __BASE_FILE__;
    const char *cut = path;
    int slashes = 0;
    for (const char *p = path + strlen(path); p != path && slashes < 2; p--) {
        if (p[-1] == '/') {
            slashes++;
        }
        if (slashes < 2) {
            cut = p - 1;
        }
    }
    snprintf(name, sizeof name, "%s", cut);
    char *dot = strrchr(name, '.');
    if (dot != NULL) {
        *dot = '\0';
    }
    return name;
}

static inline void check_runtime_usable(void);
static inline void start_wait_watchdog(void);

/*
 * Number of rounds of a loop that repeats only to hit a race. Smaller under
 * `cargo xtask failpoints`, which runs the program once for each of its calls.
 */
static inline int iterations(int count)
{
    return getenv("CONFORMANCE_AFTERWARDS") != NULL && count > 20 ? 20 : count;
}

/* Set once the program has reached finish(): from then on the wait watchdog does not end it. */
static int expect_finishing;

/* Prints the result and returns the exit code. The last statement of every program. */
static inline int finish(void)
{
    if (getenv("CONFORMANCE_AFTERWARDS") != NULL) {
        __atomic_store_n(&expect_finishing, 1, __ATOMIC_SEQ_CST);
        check_runtime_usable();
    }
    int total = __atomic_load_n(&expect_total, __ATOMIC_SEQ_CST);
    int failed = __atomic_load_n(&expect_failed, __ATOMIC_SEQ_CST);
    fflush(stderr);
    if (failed == 0) {
        printf("PASS %s (%d checks)\n", program_name(), total);
    } else {
        printf("FAIL %s (%d of %d checks)\n", program_name(), failed, total);
    }
    fflush(stdout);
    return failed != 0;
}

/* Prints a line that `cargo xtask failpoints` looks for if a signal ended the child process. */
static inline void expect_no_crash(int status)
{
    if (WIFSIGNALED(status)) {
        printf("CRASHED: a process was ended by signal %d\n", WTERMSIG(status));
        fflush(stdout);
    }
}

/* Counts one check. Returns `holds`. */
static inline int expect_count(int holds)
{
    __atomic_add_fetch(&expect_total, 1, __ATOMIC_SEQ_CST);
    if (!holds && __atomic_fetch_add(&expect_failed, 1, __ATOMIC_SEQ_CST) == 0
        && getenv("CONFORMANCE_AFTERWARDS") != NULL) {
        start_wait_watchdog();
    }
    return holds;
}

static inline void expect_message(void)
{
    const char *text = aclGetRecentErrMsg(); /* newest line first */
    printf("    message: %.*s\n", text == NULL ? 6 : (int)strcspn(text, "\n"), text == NULL ? "(none)" : text);
    fflush(stdout);
}

static inline int expect_code(aclError got, aclError want, const char *call, const char *file, int line)
{
    if (expect_count(got == want)) {
        return 1;
    }
    printf("%s:%d: %s\n    got %d, expected %d\n", file, line, call, got, want);
    expect_message();
    return 0;
}

static inline int expect_either(aclError got, aclError a, aclError b, const char *call, const char *file, int line)
{
    if (expect_count(got == a || got == b)) {
        return 1;
    }
    printf("%s:%d: %s\n    got %d, expected %d or %d\n", file, line, call, got, a, b);
    expect_message();
    return 0;
}

static inline int expect_failure(aclError got, const char *call, const char *file, int line)
{
    if (expect_count(got != 0)) {
        return 1;
    }
    printf("%s:%d: %s\n    got 0, expected an error\n", file, line, call);
    fflush(stdout);
    return 0;
}

__attribute__((format(printf, 5, 6)))
static inline int expect_true(int holds, const char *text, const char *file, int line, const char *fmt, ...)
{
    if (expect_count(holds)) {
        return 1;
    }
    printf("%s:%d: %s does not hold: ", file, line, text);
    va_list args;
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    return 0;
}

static inline void require(int holds)
{
    if (!holds) {
        printf("    cannot continue\n");
        finish();
        _exit(1);
    }
}

/* True if the library under test is softacl: the runner then names the product in the environment. */
static inline int on_softacl(void)
{
    return getenv("SOFTACL_SOC") != NULL;
}

static inline int expect_softacl_code(aclError got, aclError want, const char *call, const char *file, int line)
{
    return on_softacl() ? expect_code(got, want, call, file, line) : expect_failure(got, call, file, line);
}

#define EXPECT_CODE(call, code) expect_code((call), (code), #call, __FILE__, __LINE__)
#define EXPECT_OK(call) EXPECT_CODE(call, 0)
#define EXPECT_EITHER(call, a, b) expect_either((call), (a), (b), #call, __FILE__, __LINE__)
/* An error without a documented code. */
#define EXPECT_FAILS(call) expect_failure((call), #call, __FILE__, __LINE__)
/* An error whose code softacl chose. On a card any error passes. */
#define EXPECT_SOFTACL_CODE(call, code) expect_softacl_code((call), (code), #call, __FILE__, __LINE__)
#define EXPECT_TRUE(cond, ...) expect_true((cond) != 0, #cond, __FILE__, __LINE__, __VA_ARGS__)
#define REQUIRE_CODE(call, code) require(EXPECT_CODE(call, code))
#define REQUIRE_OK(call) require(EXPECT_OK(call))
#define REQUIRE_TRUE(cond, ...) require(EXPECT_TRUE(cond, __VA_ARGS__))

/* ---- products ---------------------------------------------------------- */

enum family { FAMILY_A2, FAMILY_A3, FAMILY_950, FAMILY_310B, FAMILY_310P, FAMILY_910 };

static inline enum family family(void)
{
    static const struct { const char *prefix; enum family family; } names[] = {
        {"Ascend910_95", FAMILY_950}, {"Ascend950", FAMILY_950},   {"Ascend910_93", FAMILY_A3},
        {"Ascend910C", FAMILY_A3},    {"Ascend910B", FAMILY_A2},   {"Ascend310B", FAMILY_310B},
        {"Ascend310P", FAMILY_310P},  {"Ascend910", FAMILY_910},
    };
    const char *soc = aclrtGetSocName();
    REQUIRE_TRUE(soc != NULL, "aclrtGetSocName() returned NULL");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(soc, names[i].prefix, strlen(names[i].prefix)) == 0) {
            return names[i].family;
        }
    }
    REQUIRE_TRUE(0, "unknown product %s", soc);
    return FAMILY_A2;
}

/* True for A2, A3 and 950: the products with batch copies, host registration and 32-bit memset. */
static inline int family_has_batches(void)
{
    enum family f = family();
    return f == FAMILY_A2 || f == FAMILY_A3 || f == FAMILY_950;
}

/* The code with which a wait reports a queued copy that the device could not execute (corrections, rule 13). */
static inline aclError copy_failure(void)
{
    return family_has_batches() ? 507001 : 507013;
}

static inline int family_has_descriptors(void)
{
    return family_has_batches() || family() == FAMILY_310B;
}

/* ---- memory and patterns ----------------------------------------------- */

static inline uint8_t pattern_byte(size_t i, uint32_t seed)
{
    uint64_t x = ((uint64_t)i + 1) * 0x9E3779B97F4A7C15u + (uint64_t)seed * 0xC2B2AE3D27D4EB4Fu;
    return (uint8_t)((x >> 56) ^ (x >> 24));
}

static inline void fill_pattern(void *memory, size_t size, uint32_t seed)
{
    for (size_t i = 0; i < size; i++) {
        ((uint8_t *)memory)[i] = pattern_byte(i, seed);
    }
}

/* Returns the index of the first byte that differs from the pattern, or `size`. */
static inline size_t verify_pattern(const void *memory, size_t size, uint32_t seed)
{
    for (size_t i = 0; i < size; i++) {
        if (((const uint8_t *)memory)[i] != pattern_byte(i, seed)) {
            return i;
        }
    }
    return size;
}

/* Returns the index of the first byte that is not `value`, or `size`. */
static inline size_t verify_value(const void *memory, size_t size, uint8_t value)
{
    for (size_t i = 0; i < size; i++) {
        if (((const uint8_t *)memory)[i] != value) {
            return i;
        }
    }
    return size;
}

static inline int expect_pattern(const void *memory, size_t size, uint32_t seed, const char *text, const char *file,
                                 int line)
{
    size_t at = verify_pattern(memory, size, seed);
    return expect_true(at == size, text, file, line, "byte %zu of %zu differs from pattern %u", at, size, seed);
}

static inline int expect_value(const void *memory, size_t size, uint8_t value, const char *text, const char *file,
                               int line)
{
    size_t at = verify_value(memory, size, value);
    return expect_true(at == size, text, file, line, "byte %zu of %zu is not 0x%02x", at, size, value);
}

/* Resident set size of this process, in pages. */
static inline size_t resident_pages(void)
{
    size_t pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE_TRUE(file != NULL && fscanf(file, "%zu %zu", &pages, &resident) == 2, "/proc/self/statm");
    fclose(file);
    return resident;
}

static inline void *pageable_memory(size_t size)
{
    void *memory = malloc(size);
    REQUIRE_TRUE(memory != NULL, "malloc(%zu)", size);
    memset(memory, 0, size);
    return memory;
}

static inline void *pinned_memory(size_t size)
{
    void *memory = NULL;
    REQUIRE_OK(aclrtMallocHost(&memory, size));
    memset(memory, 0, size);
    return memory;
}

static inline void *device_memory_with(size_t size, aclrtMemMallocPolicy policy)
{
    void *memory = NULL;
    REQUIRE_OK(aclrtMalloc(&memory, size, policy));
    REQUIRE_OK(aclrtMemset(memory, size, 0, size));
    return memory;
}

static inline void *device_memory(size_t size)
{
    return device_memory_with(size, ACL_MEM_MALLOC_HUGE_FIRST);
}

/* Device memory that every product can export to other processes. */
static inline void *shareable_memory(size_t size)
{
    return device_memory_with(size, ACL_MEM_MALLOC_HUGE_FIRST_P2P);
}

/* Argument of aclrtMallocPhysical for memory of a device. */
static inline aclrtPhysicalMemProp physical_memory_of(uint32_t device)
{
    aclrtPhysicalMemProp prop;
    memset(&prop, 0, sizeof prop);
    prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
    prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    return prop;
}

/*
 * Copies device memory into a malloc'ed buffer, which the caller frees. Does
 * not wait for any stream.
 */
static inline uint8_t *device_bytes(const void *device, size_t size)
{
    uint8_t *bytes = (uint8_t *)pageable_memory(size);
    REQUIRE_OK(aclrtMemcpy(bytes, size, device, size, ACL_MEMCPY_DEVICE_TO_HOST));
    return bytes;
}

static inline void device_fill(void *device, size_t size, uint32_t seed)
{
    uint8_t *bytes = (uint8_t *)pageable_memory(size);
    fill_pattern(bytes, size, seed);
    REQUIRE_OK(aclrtMemcpy(device, size, bytes, size, ACL_MEMCPY_HOST_TO_DEVICE));
    free(bytes);
}

static inline int expect_device_pattern(const void *device, size_t size, uint32_t seed, const char *text,
                                        const char *file, int line)
{
    uint8_t *bytes = device_bytes(device, size);
    int holds = expect_pattern(bytes, size, seed, text, file, line);
    free(bytes);
    return holds;
}

static inline int expect_device_value(const void *device, size_t size, uint8_t value, const char *text,
                                      const char *file, int line)
{
    uint8_t *bytes = device_bytes(device, size);
    int holds = expect_value(bytes, size, value, text, file, line);
    free(bytes);
    return holds;
}

/* Host or device memory holds pattern `seed`, or `value` in every byte. */
#define EXPECT_PATTERN(memory, size, seed) expect_pattern((memory), (size), (seed), #memory, __FILE__, __LINE__)
#define EXPECT_VALUE(memory, size, value) expect_value((memory), (size), (value), #memory, __FILE__, __LINE__)
#define EXPECT_DEVICE_PATTERN(memory, size, seed) \
    expect_device_pattern((memory), (size), (seed), #memory, __FILE__, __LINE__)
#define EXPECT_DEVICE_VALUE(memory, size, value) \
    expect_device_value((memory), (size), (value), #memory, __FILE__, __LINE__)

#include "gate.h"

/*
 * Checks at the end of a program whether the runtime is still usable after an
 * injected failure (`cargo xtask failpoints`). The rule may hit one of the
 * calls made here, so each is tried twice. The calls run on a new thread, which
 * inherits neither a context nor a capture from the program. The device is
 * reset only if the program has reached finish().
 */
#define RETRY_ONCE(call) ((code = (call)) != 0 && (code = (call)) != 0)

/* Returns the code of the first call that fails twice, and its name in `call`. */
static inline aclError exercise_runtime(const char **call, int is_finishing)
{
    aclError code = 0;
    aclrtStream stream = NULL;
    uint8_t *device = NULL;
    static uint8_t bytes[64] __attribute__((aligned(64))), back[64] __attribute__((aligned(64)));
    aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
    fill_pattern(bytes, sizeof bytes, 77);
    *call = "aclrtSetDevice";
    if (RETRY_ONCE(aclrtSetDevice(0))) {
        return code;
    }
    aclmdlRICaptureThreadExchangeMode(&mode);
    *call = "aclrtCreateStream";
    if (RETRY_ONCE(aclrtCreateStream(&stream))) {
        return code;
    }
    *call = "aclrtMalloc";
    if (RETRY_ONCE(aclrtMalloc((void **)&device, sizeof bytes, ACL_MEM_MALLOC_HUGE_FIRST))) {
        return code;
    }
    *call = "aclrtMemcpyAsync";
    if (RETRY_ONCE(aclrtMemcpyAsync(device, sizeof bytes, bytes, sizeof bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream))) {
        return code;
    }
    *call = "aclrtSynchronizeStreamWithTimeout";
    if (RETRY_ONCE(aclrtSynchronizeStreamWithTimeout(stream, 5000))) {
        return code;
    }
    *call = "aclrtMemcpy";
    if (RETRY_ONCE(aclrtMemcpy(back, sizeof back, device, sizeof back, ACL_MEMCPY_DEVICE_TO_HOST))) {
        return code;
    }
    *call = "the bytes";
    if (memcmp(bytes, back, sizeof bytes) != 0) {
        return -1;
    }
    *call = "aclrtFree";
    if (RETRY_ONCE(aclrtFree(device))) {
        return code;
    }
    *call = "aclrtDestroyStream";
    if (RETRY_ONCE(aclrtDestroyStream(stream))) {
        return code;
    }
    *call = "aclrtResetDevice";
    if (is_finishing) {
        (void)RETRY_ONCE(aclrtResetDevice(0));
    }
    return code;
}

static inline void report_usable(int is_finishing)
{
    const char *call = NULL;
    aclError code = exercise_runtime(&call, is_finishing);
    printf("AFTERWARDS %d %s\n", code, code == 0 ? "all" : call);
    fflush(stdout);
}

static inline void *usability_thread(void *unused)
{
    report_usable(1);
    return unused;
}

static inline void check_runtime_usable(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, usability_thread, NULL) == 0) {
        pthread_join(thread, NULL);
    }
}

/*
 * A program may wait forever for the effect of a call that was refused. The
 * watchdog ends it after a few seconds and first checks that another thread can
 * still use the runtime. A program that has reached finish() is not ended.
 */
#define WAIT_LIMIT_SECONDS 3

static inline void *wait_watchdog(void *unused)
{
    struct timespec remaining = {WAIT_LIMIT_SECONDS, 0};
    while (nanosleep(&remaining, &remaining) != 0 && errno == EINTR) {
    }
    if (__atomic_load_n(&expect_finishing, __ATOMIC_SEQ_CST)) {
        return unused;
    }
    printf("WAITING: the program is still running %d s after its first failed check\n", WAIT_LIMIT_SECONDS);
    report_usable(0);
    _exit(1);
    return unused;
}

static inline void start_wait_watchdog(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_watchdog, NULL) == 0) {
        pthread_detach(thread);
    }
}

#endif
