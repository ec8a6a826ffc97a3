// soc: Ascend910B
// softacl-only
/* Programs may be started with paths and arguments in the page of a copy, and their status may be written there. */
#include "../expect.h"
#include "neighbor.h"
#include <spawn.h>
#include <sys/resource.h>

extern char **environ;

static void check_status(pid_t child, int *status, int code)
{
    *status = 0;
    EXPECT_TRUE(child > 0 && waitpid(child, status, 0) == child, "waitpid: %s", strerror(errno));
    EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == code, "status %x instead of %d", *status, code);
}

int main(void)
{
    struct neighbor n = neighbor_begin();
    char *pages[] = {n.to, n.from};
    for (int i = 0; i < 2; i++) {
        char *page = pages[i], **arguments = (char **)(page + 128), **variables = (char **)(page + 256);
        int *status = (int *)(page + FIRST - 4);
        struct rusage *usage = (struct rusage *)(page + 512);
        siginfo_t *info = (siginfo_t *)(page + 512);
        pid_t child = 0;
        arguments[0] = strcpy(page, "/bin/sh");
        arguments[1] = strcpy(page + 16, "-c");
        arguments[2] = strcpy(page + 32, "exit $CODE");
        arguments[3] = NULL;
        variables[0] = strcpy(page + 64, "CODE=9");
        variables[1] = NULL;
        EXPECT_TRUE(posix_spawn(&child, page, NULL, NULL, arguments, variables) == 0, "posix_spawn");
        check_status(child, status, 9);
        EXPECT_TRUE(posix_spawnp(&child, page, NULL, NULL, arguments, variables) == 0, "posix_spawnp");
        *status = 0;
        EXPECT_TRUE(wait4(child, status, 0, usage) == child && WEXITSTATUS(*status) == 9, "wait4: %s", strerror(errno));
        EXPECT_TRUE(posix_spawn(&child, page, NULL, NULL, arguments, variables) == 0, "posix_spawn");
        EXPECT_TRUE(waitid(P_PID, (id_t)child, info, WEXITED) == 0 && info->si_status == 9, "waitid: %s",
                    strerror(errno));
        child = fork();
        if (child == 0) {
            execve(page, arguments, variables);
            _exit(100);
        }
        check_status(child, status, 9);
        child = vfork();
        if (child == 0) {
            execle(page, page, "-c", "exit $CODE", (char *)NULL, variables);
            _exit(100);
        }
        check_status(child, status, 9);
        child = vfork();
        if (child == 0) {
            execlp(page, page, "-c", "exit 7", (char *)NULL);
            _exit(100);
        }
        check_status(child, status, 7);
        EXPECT_TRUE(execv("/nonexistent/program", arguments) == -1 && errno == ENOENT, "execv: %s", strerror(errno));
        EXPECT_TRUE(system(strcpy(page, "exit 8")) >> 8 == 8, "system");
        FILE *output = popen(strcpy(page, "echo piped"), "r");
        EXPECT_TRUE(output != NULL && fgets(page, 100, output) == page && strcmp(page, "piped\n") == 0, "popen");
        EXPECT_TRUE(output != NULL && pclose(output) == 0, "pclose");
    }
    neighbor_end(&n);
    return finish();
}
