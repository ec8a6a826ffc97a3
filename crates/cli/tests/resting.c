/* A program that initializes the runtime, allocates 64 MiB on device 1, makes a call that fails, prints "ready", and then
   waits for the end of its input. No call waits. */
#include "runtime.h"
#include <unistd.h>

enum { MEGABYTES = 64 };

int main(void)
{
    char byte;
    void *memory;
    CALL(aclInit, (const char *), NULL);
    CALL(aclrtSetDevice, (int), 1);
    CALL(aclrtMalloc, (void **, size_t, int), &memory, (size_t)MEGABYTES << 20, 0);
    if (((int(*)(void *))function("aclrtFree"))((char *)memory + 1) == 0) {
        return 96;
    }
    puts("ready");
    fflush(stdout);
    return read(0, &byte, 1) == 0 ? 0 : 97;
}
