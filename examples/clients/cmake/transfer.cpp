// Double buffering: one half of the pinned memory is filled while the other is copied to the device.
#include <acl/acl.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr size_t kChunk = 1 << 16;
constexpr int kChunks = 12;

void check(aclError code, const char *call)
{
    if (code != ACL_SUCCESS) {
        std::fprintf(stderr, "%s: %d %s\n", call, code, aclGetRecentErrMsg());
        std::exit(1);
    }
}
#define CHECK(call) check((call), #call)

uint8_t value(int chunk, size_t at)
{
    return static_cast<uint8_t>(chunk * 31 + at);
}

} // namespace

int main()
{
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    aclrtStream stream;
    CHECK(aclrtCreateStream(&stream));
    void *device;
    CHECK(aclrtMalloc(&device, kChunk * kChunks, ACL_MEM_MALLOC_HUGE_FIRST));
    uint8_t *half[2];
    aclrtEvent copied[2];
    for (int i = 0; i < 2; i++) {
        void *memory;
        CHECK(aclrtMallocHost(&memory, kChunk));
        half[i] = static_cast<uint8_t *>(memory);
        CHECK(aclrtCreateEvent(&copied[i]));
    }

    for (int chunk = 0; chunk < kChunks; chunk++) {
        int side = chunk % 2;
        if (chunk >= 2) {
            CHECK(aclrtSynchronizeEvent(copied[side])); // without this line the checker proves H1
        }
        for (size_t at = 0; at < kChunk; at++) {
            half[side][at] = value(chunk, at);
        }
        void *target = static_cast<uint8_t *>(device) + chunk * kChunk;
        CHECK(aclrtMemcpyAsync(target, kChunk, half[side], kChunk, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        CHECK(aclrtRecordEvent(copied[side], stream));
    }
    CHECK(aclrtSynchronizeStream(stream));

    std::vector<uint8_t> back(kChunk * kChunks);
    CHECK(aclrtMemcpy(back.data(), back.size(), device, back.size(), ACL_MEMCPY_DEVICE_TO_HOST));
    for (size_t at = 0; at < back.size(); at++) {
        if (back[at] != value(static_cast<int>(at / kChunk), at % kChunk)) {
            std::fprintf(stderr, "byte %zu is wrong\n", at);
            return 1;
        }
    }
    for (int i = 0; i < 2; i++) {
        CHECK(aclrtDestroyEvent(copied[i]));
        CHECK(aclrtFreeHost(half[i]));
    }
    CHECK(aclrtFree(device));
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    std::printf("%d chunks of %zu bytes on %s\n", kChunks, kChunk, aclrtGetSocName());
    return 0;
}
