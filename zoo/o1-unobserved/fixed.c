/*
 * Copies one pinned buffer to another, with CANN 7.0.
 *
 * buggy.c submits an asynchronous copy from host to host. Old runtimes accept it and fail when it
 * runs. The next wait for the stream returns the error, but the program waits for an event only.
 * fixed.c makes a blocking copy, and waits for the stream.
 */
#include "../zoo.h"

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    void *from, *to;
    aclrtStream stream;
    aclrtEvent done;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEventExWithFlag(&done, ACL_EVENT_SYNC));
    OK(aclrtMallocHost(&from, SIZE));
    OK(aclrtMallocHost(&to, SIZE));
    fill(from, WORDS, 6);
    fill(to, WORDS, 0);

    OK(aclrtMemcpy(to, SIZE, from, SIZE, ACL_MEMCPY_HOST_TO_HOST));
    OK(aclrtRecordEvent(done, stream));
    OK(aclrtSynchronizeEvent(done)); /* does not return the error of the copy */
    OK(aclrtSynchronizeStream(stream)); /* returns it */

    size_t wrong = wrong_words(to, WORDS, 6);
    OK(aclrtFreeHost(to));
    OK(aclrtFreeHost(from));
    OK(aclrtDestroyEvent(done));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words");
}
