/* Ranks, linked with -lhccl. Modes:
     fork     two ranks, parent and child, meet by a root info
     table    a rank of RANK_TABLE_FILE
     connect  as table; then rank 1 connects to MASTER_PORT of rank 0
     lose     as table; then rank 1 exits with 7, and the others expect to learn it
     wait     starts a child that ignores SIGINT, and waits to be ended
   Every rank prints what it found; a wrong result is a non-zero exit code. */
#define _GNU_SOURCE
#include "hccl/hccl.h"
#include "hccl/hccl_comm.h"
#include "hccl/hccl_types.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 100000, REMOTE_ERROR = 507057 };

#define CHECK(call) check((call), #call)

static void check(int code, const char *call)
{
    if (code != 0) {
        const char *message = aclGetRecentErrMsg();
        fprintf(stderr, "%s returned %d: %s\n", call, code, message == NULL ? "" : message);
        exit(90);
    }
}

static int number(const char *name)
{
    const char *text = getenv(name);
    if (text == NULL) {
        fprintf(stderr, "%s is not set\n", name);
        exit(91);
    }
    return atoi(text);
}

/* Reduces a vector in which every element is the number of the rank plus one. Returns the code of the task. */
static int reduce(HcclComm comm, uint32_t rank, uint32_t ranks)
{
    static float host[COUNT];
    void *device = NULL;
    aclrtStream stream = NULL;
    for (int at = 0; at < COUNT; at++) {
        host[at] = (float)(rank + 1);
    }
    CHECK(aclrtCreateStream(&stream));
    CHECK(aclrtMalloc(&device, sizeof(host), ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMemcpy(device, sizeof(host), host, sizeof(host), ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(HcclAllReduce(device, device, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
    int code = aclrtSynchronizeStream(stream);
    if (code == 0) {
        CHECK(aclrtMemcpy(host, sizeof(host), device, sizeof(host), ACL_MEMCPY_DEVICE_TO_HOST));
        for (int at = 0; at < COUNT; at++) {
            if (host[at] != (float)(ranks * (ranks + 1) / 2)) {
                fprintf(stderr, "element %d is %f\n", at, host[at]);
                exit(92);
            }
        }
        char name[128] = "";
        gethostname(name, sizeof(name) - 1);
        printf("rank %u of %u on %s: sum %d\n", rank, ranks, name, (int)host[0]);
        fflush(stdout);
    }
    CHECK(aclrtFree(device));
    CHECK(aclrtDestroyStream(stream));
    return code;
}

static int rank_of_pair(uint32_t rank, const int ends[2])
{
    HcclRootInfo root;
    HcclComm comm = NULL;
    CHECK(aclrtSetDevice((int)rank));
    if (rank == 0) {
        CHECK(HcclGetRootInfo(&root));
        check(write(ends[1], &root, sizeof(root)) != sizeof(root), "write");
    } else {
        check(read(ends[0], &root, sizeof(root)) != sizeof(root), "read");
    }
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    CHECK(HcclCommInitRootInfoConfig(2, &root, rank, &config, &comm));
    CHECK(reduce(comm, rank, 2));
    CHECK(HcclCommDestroy(comm));
    return 0;
}

static int fork_pair(void)
{
    int ends[2];
    check(pipe(ends), "pipe");
    pid_t child = fork();
    if (child == 0) {
        exit(rank_of_pair(1, ends));
    }
    rank_of_pair(0, ends);
    int status = -1;
    waitpid(child, &status, 0);
    /* torch_npu looks for group calls in another library, which leads to the same functions. */
    void *library = dlopen("libhcomm.so", RTLD_LAZY);
    void *found = library == NULL ? NULL : dlsym(library, "HcclGroupStart");
    check(found == NULL || found != dlsym(RTLD_DEFAULT, "HcclGroupStart"), "libhcomm.so");
    return status != 0;
}

/* Rank 0 listens, and after a barrier rank 1 connects and sends a word. */
static void exchange_words(HcclComm comm, int rank)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)number("MASTER_PORT"))};
    char word[8] = "";
    aclrtStream stream = NULL;
    int end = socket(AF_INET, SOCK_STREAM, 0);
    check(inet_pton(AF_INET, getenv("MASTER_ADDR"), &address.sin_addr) != 1, "MASTER_ADDR");
    if (rank == 0) {
        check(bind(end, (struct sockaddr *)&address, sizeof(address)), "bind");
        check(listen(end, 1), "listen");
    }
    CHECK(aclrtCreateStream(&stream));
    CHECK(HcclBarrier(comm, stream));
    CHECK(aclrtSynchronizeStream(stream));
    if (rank == 0) {
        struct sockaddr_in peer;
        socklen_t length = sizeof(peer);
        int other = accept(end, (struct sockaddr *)&peer, &length);
        check(recv(other, word, sizeof(word), MSG_WAITALL) != sizeof(word), "recv");
        printf("%s from %s\n", word, inet_ntoa(peer.sin_addr));
        fflush(stdout);
    } else {
        check(connect(end, (struct sockaddr *)&address, sizeof(address)), "connect");
        check(write(end, "a word", 7) != 7 || write(end, "", 1) != 1, "write");
    }
}

static int rank_of_table(const char *mode)
{
    int rank = number("RANK"), ranks = number("WORLD_SIZE");
    HcclComm comm = NULL;
    CHECK(aclrtSetDevice(number("LOCAL_RANK")));
    CHECK(HcclCommInitClusterInfo(getenv("RANK_TABLE_FILE"), (uint32_t)rank, &comm));
    CHECK(reduce(comm, (uint32_t)rank, (uint32_t)ranks));
    if (strcmp(mode, "connect") == 0) {
        exchange_words(comm, rank);
    }
    if (strcmp(mode, "lose") == 0) {
        if (rank == 1) {
            _exit(7);
        }
        check(reduce(comm, (uint32_t)rank, (uint32_t)ranks) != REMOTE_ERROR, "reduce");
        fprintf(stderr, "%s\n", aclGetRecentErrMsg());
        return 0;
    }
    CHECK(HcclCommDestroy(comm));
    return 0;
}

static void wait_for_end(void)
{
    pid_t child = fork();
    if (child == 0) {
        signal(SIGINT, SIG_IGN);
        printf("ready %d\n", getpid());
        fflush(stdout);
        for (;;) {
            pause();
        }
    }
    printf("ready %d\n", getpid());
    fflush(stdout);
    for (;;) {
        pause();
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc < 2 ? "" : argv[1];
    if (strcmp(mode, "fork") == 0) {
        return fork_pair();
    }
    if (strcmp(mode, "wait") == 0) {
        wait_for_end();
    }
    return rank_of_table(mode);
}
