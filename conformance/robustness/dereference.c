// soc: Ascend910B Ascend950 Ascend310P
// softacl-only
// sanitize: none (the child ends with SIGSEGV, which the sanitizers would catch)
// schedules: all
/* Dereferencing device memory on the host ends the process with SIGSEGV, after a message that explains the cause. */
#include "../expect.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* In the child: allocates device memory and dereferences it, which does not return. */
static void dereference(int is_write)
{
    void *memory = NULL;
    if (aclrtSetDevice(0) != 0 || aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST) != 0) {
        _exit(2);
    }
    volatile uint8_t *cell = (volatile uint8_t *)memory + 100;
    if (is_write) {
        *cell = 1;
    } else {
        uint8_t value = *cell;
        (void)value;
    }
    _exit(0);
}

static void expect_killed(int is_write)
{
    int ends[2];
    REQUIRE_TRUE(pipe(ends) == 0, "pipe");
    fflush(stdout);
    pid_t pid = fork(); /* before the first AscendCL call of this process */
    REQUIRE_TRUE(pid >= 0, "fork");
    if (pid == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        dereference(is_write);
    }
    close(ends[1]);
    char text[4096] = {0};
    size_t filled = 0;
    ssize_t got;
    while ((got = read(ends[0], text + filled, sizeof text - 1 - filled)) > 0) {
        filled += (size_t)got;
    }
    close(ends[0]);
    int status = 0;
    REQUIRE_TRUE(waitpid(pid, &status, 0) == pid, "waitpid");
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "status 0x%x", status);
    EXPECT_TRUE(strstr(text, "device") != NULL, "stderr: %s", text);
}

int main(void)
{
    expect_killed(0);
    expect_killed(1);
    return finish();
}
