/*
 * A host function logs how many words have arrived.
 *
 * buggy.c waits in the function for the stream that runs it, to be sure that the copy is done.
 * fixed.c does not: the stream has finished the copy when it runs the function.
 */
#include "../zoo.h"

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

struct arrival {
    aclrtContext context;
    aclrtStream stream;
    const uint32_t *words;
    size_t wrong;
};

static void check(void *memory)
{
    struct arrival *arrival = memory;
    OK(aclrtSetCurrentContext(arrival->context));
    OK(aclrtSynchronizeStream(arrival->stream));
    arrival->wrong = wrong_words(arrival->words, WORDS, 5);
}

int main(void)
{
    uint32_t *result;
    void *block;
    struct arrival arrival = {0};
    begin();
    OK(aclrtGetCurrentContext(&arrival.context));
    OK(aclrtCreateStream(&arrival.stream));
    OK(aclrtMallocHost((void **)&result, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(result, WORDS, 5);
    arrival.words = result;

    OK(aclrtMemcpyAsync(block, SIZE, result, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, arrival.stream));
    OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, arrival.stream));
    OK(aclrtLaunchHostFunc(arrival.stream, check, &arrival));
    OK(aclrtSynchronizeStream(arrival.stream));

    OK(aclrtFree(block));
    OK(aclrtFreeHost(result));
    OK(aclrtDestroyStream(arrival.stream));
    end();
    return verdict(arrival.wrong, WORDS, "words");
}
