// soc: Ascend910B
// softacl-only
// sanitize: none (changes its user)
/* A key works only for the user that created it. Not even root can use it, because a forged key could direct root to
 * any file of the system. Memory files are accessible to their owner only. Only root can switch to another user; run by
 * any other user, the program checks only the modes of the files. */
#include "../expect.h"
#include "../peer.h"

#include <ctype.h>
#include <dirent.h>
#include <sys/stat.h>

#define SIZE 4096
#define NOBODY 65534

struct keys {
    char memory[65];
    char notify[65];
    aclrtIpcEventHandle event;
};

static struct keys make_keys(void)
{
    struct keys keys;
    memset(&keys, 0, sizeof keys);
    REQUIRE_OK(aclrtSetDevice(0));
    void *device = device_memory(SIZE);
    REQUIRE_OK(aclrtIpcMemGetExportKey(device, SIZE, keys.memory, sizeof keys.memory,
                                       ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    aclrtNotify notify;
    REQUIRE_OK(aclrtCreateNotify(&notify, 0));
    REQUIRE_OK(aclrtNotifyGetExportKey(notify, keys.notify, sizeof keys.notify,
                                       ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    aclrtEvent event;
    REQUIRE_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    REQUIRE_OK(aclrtIpcGetEventHandle(event, &keys.event));
    return keys;
}

/* Every memory file of this process has mode 0600 and cannot be truncated. */
static void check_files(void)
{
    DIR *files = opendir("/proc/self/fd");
    REQUIRE_TRUE(files != NULL, "opendir");
    int count = 0;
    for (struct dirent *entry; (entry = readdir(files)) != NULL;) {
        char path[64], name[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%.20s", entry->d_name);
        if (readlink(path, name, sizeof name - 1) < 0 || strncmp(name, "/memfd:softacl-", 15) != 0) {
            continue;
        }
        struct stat status;
        int file = atoi(entry->d_name);
        REQUIRE_TRUE(fstat(file, &status) == 0, "fstat");
        EXPECT_TRUE((status.st_mode & 0777) == 0600, "mode of %s is %o", name, status.st_mode & 0777);
        EXPECT_TRUE(ftruncate(file, 0) != 0, "%s can be truncated", name);
        count++;
    }
    closedir(files);
    EXPECT_TRUE(count >= 4, "%d memory files", count); /* contents and export record of the memory, notify, event */
}

static void import_all(struct keys keys, aclError want)
{
    void *pointer = NULL;
    aclrtNotify notify = NULL;
    aclrtEvent event = NULL;
    EXPECT_CODE(aclrtIpcMemImportByKey(&pointer, keys.memory, 0), want);
    EXPECT_CODE(aclrtNotifyImportByKey(&notify, keys.notify, 0), want);
    EXPECT_CODE(aclrtIpcOpenEventHandle(keys.event, &event), want);
}

/* Process of another user that has the keys of root. */
static int other_user(struct peer parent)
{
    REQUIRE_TRUE(setgid(NOBODY) == 0 && setuid(NOBODY) == 0, "setuid");
    REQUIRE_OK(aclrtSetDevice(0));
    struct keys keys;
    peer_receive(parent, &keys, sizeof keys);
    import_all(keys, 107000);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)parent.pid);
    EXPECT_TRUE(opendir(path) == NULL, "the files of root can be listed");
    keys = make_keys();
    check_files();
    peer_send(parent, &keys, sizeof keys);
    peer_expect_byte(parent, 'e');
    return finish();
}

/* Process of the same user: the keys are valid. */
static int same_user(struct peer parent)
{
    REQUIRE_OK(aclrtSetDevice(0));
    struct keys keys;
    peer_receive(parent, &keys, sizeof keys);
    import_all(keys, 0);
    /* A key with the same digits in upper case is another text. Every key has letters, apart from one in 10^9. */
    struct keys upper = keys;
    for (char *c = upper.memory; *c != '\0'; c++) {
        *c = (char)toupper((unsigned char)*c);
    }
    for (char *c = upper.notify + strlen(upper.notify) - 32; *c != '\0'; c++) {
        *c = (char)toupper((unsigned char)*c);
    }
    void *pointer = NULL;
    aclrtNotify notify = NULL;
    EXPECT_CODE(aclrtIpcMemImportByKey(&pointer, upper.memory, 0), 107000);
    EXPECT_CODE(aclrtNotifyImportByKey(&notify, upper.notify, 0), 107000);
    /* One wrong character. */
    keys.memory[20] = keys.memory[20] == 'a' ? 'b' : 'a';
    size_t last = strlen(keys.notify) - 1;
    keys.notify[last] = keys.notify[last] == 'a' ? 'b' : 'a';
    keys.event.reserved[8] ^= 1;
    import_all(keys, 107000);
    return finish();
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        return strcmp(argv[1], "same_user") == 0 ? same_user(peer_parent(argv)) : other_user(peer_parent(argv));
    }
    struct keys keys = make_keys();
    check_files();
    struct peer child = peer_start("same_user");
    peer_send(child, &keys, sizeof keys);
    peer_join(child);
    if (getuid() == 0) {
        child = peer_start("other_user");
        peer_send(child, &keys, sizeof keys);
        struct keys other_keys;
        peer_receive(child, &other_keys, sizeof other_keys);
        import_all(other_keys, 107000);
        peer_send_byte(child, 'e');
        peer_join(child);
    }
    return finish();
}
