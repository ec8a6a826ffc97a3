// soc: Ascend910B
// expects: I1
// sanitize: address (the thread sanitizer does not know the reserved addresses)
/* Imported memory stays valid after the exporter exits or is killed, and an exporter survives a killed importer. */
#include "../expect.h"
#include "../peer.h"

#define SIZE ((size_t)1 << 20)

static int exporter(struct peer parent)
{
    REQUIRE_OK(aclrtSetDevice(0));
    void *device = device_memory(SIZE);
    device_fill(device, SIZE, 7);
    char key[65];
    REQUIRE_OK(aclrtIpcMemGetExportKey(device, SIZE, key, sizeof key, 1));
    peer_send(parent, key, sizeof key);
    peer_expect_byte(parent, 'e');
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}

/* Writes to the imported memory until it is killed. */
__attribute__((noreturn)) static void writer(struct peer parent)
{
    REQUIRE_OK(aclrtSetDevice(0));
    char key[65];
    void *device = NULL;
    peer_receive(parent, key, sizeof key);
    REQUIRE_OK(aclrtIpcMemImportByKey(&device, key, 0));
    aclrtStream stream = new_stream();
    for (int round = 0;; round++) {
        aclrtMemsetAsync(device, SIZE, 0x33, SIZE, stream);
        aclrtSynchronizeStream(stream);
        if (round == 10) {
            peer_send_byte(parent, 'w');
        }
    }
}

static size_t open_files(void)
{
    size_t count = 0;
    for (int fd = 0; fd < 4096; fd++) {
        char path[64], target[256];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t len = readlink(path, target, sizeof target - 1);
        count += len > 0;
    }
    return count;
}

int main(int argc, char **argv)
{
    if (argc == 4) {
        if (strcmp(argv[1], "writer") == 0) {
            writer(peer_parent(argv));
        }
        return exporter(peer_parent(argv));
    }
    REQUIRE_OK(aclrtSetDevice(0));
    /* An observer may open a file when a process first shares something. The file of the
     * freed memory may be closed later. */
    void *first = device_memory(SIZE);
    char first_key[65];
    REQUIRE_OK(aclrtIpcMemGetExportKey(first, SIZE, first_key, sizeof first_key, 1));
    REQUIRE_OK(aclrtIpcMemClose(first_key));
    REQUIRE_OK(aclrtFree(first));
    size_t files = open_files();
    for (int is_killed = 0; is_killed < 2; is_killed++) {
        struct peer peer = peer_start("exporter");
        char key[65];
        void *device = NULL, *again = NULL;
        peer_receive(peer, key, sizeof key);
        REQUIRE_OK(aclrtIpcMemImportByKey(&device, key, 0));
        EXPECT_DEVICE_PATTERN(device, SIZE, 7);
        if (is_killed) {
            peer_kill(peer);
        } else {
            peer_send_byte(peer, 'e');
            peer_join(peer);
        }
        EXPECT_DEVICE_PATTERN(device, SIZE, 7);
        device_fill(device, SIZE, 8);
        EXPECT_DEVICE_PATTERN(device, SIZE, 8);
        EXPECT_OK(aclrtIpcMemClose(key));
        EXPECT_FAILS(aclrtIpcMemImportByKey(&again, key, 0));
    }

    /* An importer that is killed while it writes. */
    void *device = device_memory(SIZE);
    void *neighbor = device_memory(SIZE);
    device_fill(neighbor, SIZE, 9);
    char key[65];
    REQUIRE_OK(aclrtIpcMemGetExportKey(device, SIZE, key, sizeof key, 1));
    struct peer peer = peer_start("writer");
    peer_send(peer, key, sizeof key);
    peer_expect_byte(peer, 'w');
    peer_kill(peer);
    EXPECT_DEVICE_VALUE(device, SIZE, 0x33);
    EXPECT_DEVICE_PATTERN(neighbor, SIZE, 9);
    device_fill(device, SIZE, 4);
    EXPECT_DEVICE_PATTERN(device, SIZE, 4);
    EXPECT_OK(aclrtIpcMemClose(key));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFree(neighbor));
    EXPECT_TRUE(open_files() <= files, "%zu open files, initially %zu", open_files(), files);
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
