// soc: Ascend910B
// softacl-only
/* A thread that blocks in a system call on a page keeps the page usable: for copies that are queued next to its memory
 * afterwards, and while another thread makes and finishes a system call on the same page. */
#include "../expect.h"
#include "neighbor.h"
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static int ends[2];
static atomic_int thread_id;
static sem_t has_started;

struct receiver {
    char *buffer;
    ssize_t received;
    int code;
};

static void *receive(void *argument)
{
    struct receiver *self = (struct receiver *)argument;
    atomic_store(&thread_id, (int)syscall(SYS_gettid));
    sem_post(&has_started);
    self->received = read(ends[0], self->buffer, 64);
    self->code = errno;
    return NULL;
}

/* Waits until the thread is asleep in its call. */
static void wait_until_blocked(void)
{
    char path[64], state = 0;
    do {
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", atomic_load(&thread_id));
        FILE *file = fopen(path, "r");
        if (file != NULL) {
            EXPECT_TRUE(fscanf(file, "%*d (%*[^)]) %c", &state) == 1, "%s", path);
            fclose(file);
        }
        sched_yield();
    } while (state != 'S');
}

/* `is_first`: the thread blocks before the copies are queued. */
static void round_of(int is_first)
{
    pthread_t thread;
    struct receiver receiver = {0};
    int others[2];
    char *page = (char *)pinned_memory(PAGE), *device = (char *)device_memory(PAGE);
    aclrtStream stream = new_stream();
    receiver.buffer = page + 128;
    memset(page, 0, PAGE);
    EXPECT_OK(aclrtMemset(device, PAGE, 'b', PAGE));
    REQUIRE_TRUE(pipe(ends) == 0 && pipe(others) == 0 && write(others[1], "other", 5) == 5, "pipe");
    REQUIRE_TRUE(sem_init(&has_started, 0, 0) == 0, "semaphore");
    for (int step = 0; step < 2; step++) {
        if (step == !is_first) {
            REQUIRE_TRUE(pthread_create(&thread, NULL, receive, &receiver) == 0, "pthread_create");
            sem_wait(&has_started);
            wait_until_blocked();
        } else {
            EXPECT_OK(aclrtMemcpyAsync(page + FIRST, AFTER - FIRST, device, AFTER - FIRST, ACL_MEMCPY_DEVICE_TO_HOST,
                                       stream));
        }
    }
    EXPECT_TRUE(read(others[0], page + 256, 5) == 5, "read: %s", strerror(errno));
    EXPECT_TRUE(write(ends[1], "text", 4) == 4, "write");
    EXPECT_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
    EXPECT_TRUE(receiver.received == 4, "read in a thread: %s", strerror(receiver.code));
    EXPECT_TRUE(memcmp(receiver.buffer, "text", 4) == 0, "%.4s", receiver.buffer);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(page[FIRST] == 'b' && page[AFTER - 1] == 'b', "%d", page[FIRST]);
    for (int i = 0; i < 2; i++) {
        EXPECT_TRUE(close(ends[i]) == 0 && close(others[i]) == 0, "close");
    }
    EXPECT_OK(aclrtFreeHost(page));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    round_of(1);
    round_of(0);
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
