/*
 * A graph waits for a notify before it saves a block. The notify says that the block is loaded.
 *
 * buggy.c records the notify behind the graph, in the same stream.
 * fixed.c records it before the graph.
 */
#include "../zoo.h"

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *result;
    void *block;
    aclrtStream stream;
    aclrtNotify loaded;
    aclmdlRI graph;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateNotify(&loaded, 0));
    OK(aclrtMallocHost((void **)&result, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(aclrtWaitAndResetNotify(loaded, stream, 0));
    OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclmdlRICaptureEnd(stream, &graph));

    OK(aclrtMemsetAsync(block, SIZE, 0x22, SIZE, stream));
    OK(aclrtRecordNotify(loaded, stream));
    OK(aclmdlRIExecuteAsync(graph, stream));
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_words(result, WORDS, 0x22222222);
    OK(aclmdlRIDestroy(graph));
    OK(aclrtFree(block));
    OK(aclrtFreeHost(result));
    OK(aclrtDestroyNotify(loaded));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words");
}
