// soc: Ascend910B
// softacl-only
// sanitize: none (direct futex calls)
/* Threads may wait on objects in the page of a copy, whatever they are made of. */
#include "../expect.h"
#include "neighbor.h"
#include <linux/futex.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <threads.h>

#define ROUNDS 50

struct objects {
    mtx_t mutex;
    cnd_t condition;
    pthread_mutex_t lock;
    sem_t semaphore;
    _Atomic int word;
    int turn;
};

static void wait_word(struct objects *all, int value)
{
    while (atomic_load(&all->word) < value) {
        int seen = atomic_load(&all->word);
        if (seen < value) {
            syscall(SYS_futex, &all->word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
        }
    }
}

static void *other(void *argument)
{
    struct objects *all = (struct objects *)argument;
    for (int i = 0; i < ROUNDS; i++) {
        mtx_lock(&all->mutex);
        all->turn++;
        cnd_signal(&all->condition);
        mtx_unlock(&all->mutex);
        pthread_mutex_lock(&all->lock);
        pthread_mutex_unlock(&all->lock);
        atomic_fetch_add(&all->word, 1);
        syscall(SYS_futex, &all->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        sem_post(&all->semaphore);
    }
    return NULL;
}

int main(void)
{
    struct neighbor n = neighbor_begin();
    struct objects *all = (struct objects *)(n.to + 128);
    pthread_t thread;
    mtx_init(&all->mutex, mtx_plain);
    cnd_init(&all->condition);
    pthread_mutex_init(&all->lock, NULL);
    REQUIRE_TRUE(sem_init(&all->semaphore, 0, 0) == 0, "sem_init");
    REQUIRE_TRUE(pthread_create(&thread, NULL, other, all) == 0, "pthread_create");
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&all->lock);
        pthread_mutex_unlock(&all->lock);
        wait_word(all, i + 1);
        REQUIRE_TRUE(sem_wait(&all->semaphore) == 0, "sem_wait");
    }
    mtx_lock(&all->mutex);
    while (all->turn < ROUNDS) {
        cnd_wait(&all->condition, &all->mutex);
    }
    mtx_unlock(&all->mutex);
    EXPECT_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
    sem_destroy(&all->semaphore);
    pthread_mutex_destroy(&all->lock);
    mtx_destroy(&all->mutex);
    cnd_destroy(&all->condition);
    neighbor_end(&n);
    return finish();
}
