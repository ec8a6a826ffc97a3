/*
 * An upload and a download of a block are prepared on two streams, each behind a notify, and started
 * later.
 *
 * buggy.c starts both, which does not order them.
 * fixed.c starts the download on the stream of the upload, behind it.
 */
#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    void *block, *source, *saved;
    aclrtStream load, save, control;
    aclrtNotify loads, saves;
    begin();
    OK(aclrtCreateStream(&load));
    OK(aclrtCreateStream(&save));
    OK(aclrtCreateStream(&control));
    OK(aclrtCreateNotify(&loads, 0));
    OK(aclrtCreateNotify(&saves, 0));
    OK(aclrtMallocHost(&source, SIZE));
    OK(aclrtMallocHost(&saved, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 0, SIZE));
    fill(source, WORDS, 6);

    OK(aclrtWaitAndResetNotify(loads, load, 0));
    OK(aclrtMemcpyAsync(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, load));
    OK(aclrtWaitAndResetNotify(saves, save, 0));
    OK(aclrtMemcpyAsync(saved, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, save));
    OK(aclrtRecordNotify(loads, control));
    OK(aclrtRecordNotify(saves, load));
    OK(aclrtSynchronizeStream(save));
    size_t wrong = wrong_words(saved, WORDS, 6);

    OK(aclrtSynchronizeStream(load));
    OK(aclrtSynchronizeStream(control));
    OK(aclrtDestroyNotify(saves));
    OK(aclrtDestroyNotify(loads));
    OK(aclrtFree(block));
    OK(aclrtFreeHost(saved));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyStream(control));
    OK(aclrtDestroyStream(save));
    OK(aclrtDestroyStream(load));
    end();
    return verdict(wrong, WORDS, "words");
}
