// soc: all
// schedules: all
/* Many C++ threads on one device: a stream per thread, one shared
 * stream, and host functions that signal a condition variable. */
#include "../expect.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int THREADS = 8;
constexpr int ROUNDS = 50;
constexpr size_t SIZE = 3001;

/* Every thread uses its own stream. */
void use_own_stream(int index)
{
    EXPECT_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *source = static_cast<uint8_t *>(pinned_memory(SIZE));
    uint8_t *result = static_cast<uint8_t *>(pinned_memory(SIZE));
    uint8_t *device = static_cast<uint8_t *>(device_memory(SIZE));
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t seed = static_cast<uint32_t>(index * ROUNDS + round);
        fill_pattern(source, SIZE, seed);
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_OK(aclrtMemcpyAsync(result, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_PATTERN(result, SIZE, seed);
    }
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(source));
    EXPECT_OK(aclrtFreeHost(result));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
}

/* All threads submit to one stream; each copies its own slice. */
void use_shared_stream(int index, aclrtContext context, aclrtStream stream, uint8_t *device, uint8_t *pinned)
{
    EXPECT_OK(aclrtSetCurrentContext(context));
    uint8_t *slice = pinned + index * SIZE;
    fill_pattern(slice, SIZE, static_cast<uint32_t>(index));
    for (int round = 0; round < ROUNDS; round++) {
        EXPECT_OK(aclrtMemcpyAsync(device + index * SIZE, SIZE, slice, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        if (round % 10 == 0) {
            EXPECT_OK(aclrtSynchronizeStream(stream));
        }
    }
}

/* Counter that host functions increment and a thread can wait for. */
struct Completion {
    std::mutex lock;
    std::condition_variable changed;
    int count = 0;

    static void increment(void *self)
    {
        Completion *completion = static_cast<Completion *>(self);
        std::lock_guard<std::mutex> guard(completion->lock);
        completion->count++;
        completion->changed.notify_all();
    }

    void wait_for(int wanted)
    {
        std::unique_lock<std::mutex> guard(lock);
        changed.wait(guard, [&] { return count >= wanted; });
    }
};

/* Creates and destroys objects while other threads do. */
void create_and_destroy()
{
    EXPECT_OK(aclrtSetDevice(0));
    for (int round = 0; round < ROUNDS; round++) {
        aclrtStream stream = new_stream();
        aclrtEvent event = nullptr;
        EXPECT_OK(aclrtCreateEvent(&event));
        void *memory = device_memory(64);
        EXPECT_OK(aclrtMemsetAsync(memory, 64, round, 64, stream));
        EXPECT_OK(aclrtRecordEvent(event, stream));
        EXPECT_OK(aclrtSynchronizeEvent(event));
        EXPECT_DEVICE_VALUE(memory, 64, static_cast<uint8_t>(round));
        EXPECT_OK(aclrtFree(memory));
        EXPECT_OK(aclrtDestroyEvent(event));
        EXPECT_OK(aclrtDestroyStream(stream));
    }
    EXPECT_OK(aclrtResetDevice(0));
}

template <typename Body>
void all_threads(Body body)
{
    std::vector<std::thread> threads;
    for (int i = 0; i < THREADS; i++) {
        threads.emplace_back(body, i);
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

} // namespace

int main()
{
    all_threads(use_own_stream);
    all_threads([](int) { create_and_destroy(); });

    REQUIRE_OK(aclrtSetDevice(0));
    aclrtContext context = nullptr;
    REQUIRE_OK(aclrtGetCurrentContext(&context));
    aclrtStream stream = new_stream();
    uint8_t *pinned = static_cast<uint8_t *>(pinned_memory(THREADS * SIZE));
    uint8_t *device = static_cast<uint8_t *>(device_memory(THREADS * SIZE));
    all_threads([=](int index) { use_shared_stream(index, context, stream, device, pinned); });
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < THREADS; i++) {
        EXPECT_DEVICE_PATTERN(device + i * SIZE, SIZE, static_cast<uint32_t>(i));
    }

    static Completion completion;
    /* takes the lock once, so that the thread that takes it next observes the initialized object */
    completion.wait_for(0);
    for (int i = 0; i < 100; i++) {
        EXPECT_OK(aclrtLaunchHostFunc(stream, Completion::increment, &completion));
    }
    completion.wait_for(100); /* no synchronize call is needed */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
