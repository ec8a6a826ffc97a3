/*
 * A record in pinned memory has its mutex beside its data. A host function fills it, in the order of
 * the stream, before it is uploaded; the host then prepares the next upload.
 *
 * buggy.c changes the record under its mutex, which the copy does not take.
 * fixed.c waits for the stream first.
 */
#include <pthread.h>

#include "../zoo.h"

#define WORDS 200

struct record {
    pthread_mutex_t lock;
    _Alignas(64) uint32_t data[WORDS];
};

#define SIZE (WORDS * sizeof(uint32_t))

static void change(struct record *record, uint32_t value)
{
    pthread_mutex_lock(&record->lock);
    fill(record->data, WORDS, value);
    pthread_mutex_unlock(&record->lock);
}

static void produce(void *record)
{
    change(record, 2);
}

int main(void)
{
    struct record *record;
    void *block;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&record, sizeof *record));
    OK(aclrtMalloc(&block, 2 * 1024, ACL_MEM_MALLOC_HUGE_FIRST));
    pthread_mutex_init(&record->lock, NULL);
    change(record, 1);

    OK(aclrtLaunchHostFunc(stream, produce, record));
    OK(aclrtMemcpyAsync(block, SIZE, record->data, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtMemcpyAsync((char *)block + 1024, SIZE, record->data, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    change(record, 3);
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_on_device(block, WORDS, 2) + wrong_on_device((char *)block + 1024, WORDS, 2);
    pthread_mutex_destroy(&record->lock);
    OK(aclrtFree(block));
    OK(aclrtFreeHost(record));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, 2 * WORDS, "words");
}
