/*
 * Two workers hand over to each other: the stream of each one runs a host function that waits until
 * the other worker has released it.
 *
 * buggy.c synchronizes its own stream before it releases the other worker, so both wait.
 * fixed.c releases the other worker first.
 */
#include "../zoo.h"

#include <pthread.h>
#include <semaphore.h>

struct worker {
    aclrtContext context;
    sem_t released;
    struct worker *other;
};

static void wait_for_release(void *memory)
{
    struct worker *worker = memory;
    while (sem_wait(&worker->released) != 0) {
    }
}

static void *work(void *memory)
{
    struct worker *worker = memory;
    aclrtStream stream;
    OK(aclrtSetCurrentContext(worker->context));
    OK(aclrtCreateStream(&stream));
    OK(aclrtLaunchHostFunc(stream, wait_for_release, worker));
    sem_post(&worker->other->released);
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtDestroyStream(stream));
    return NULL;
}

int main(void)
{
    struct worker workers[2];
    pthread_t threads[2];
    begin();
    for (int i = 0; i < 2; i++) {
        OK(aclrtCreateContext(&workers[i].context, 0));
        sem_init(&workers[i].released, 0, 0);
        workers[i].other = &workers[1 - i];
    }
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < 2; i++) {
        OK(aclrtDestroyContext(workers[i].context));
    }
    end();
    return verdict(0, 2, "workers");
}
