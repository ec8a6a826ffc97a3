// soc: all
// schedules: all
// expects: M1
/* A C++ client: RAII owners, errors as exceptions, and release in the right order during stack unwinding. */
#include "../expect.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

class Error : public std::runtime_error {
public:
    Error(aclError code, const char *call) : std::runtime_error(std::string(call) + ": " + message()), code(code) {}
    const aclError code;

private:
    static std::string message()
    {
        const char *text = aclGetRecentErrMsg();
        return text == nullptr ? "no message" : text;
    }
};

#define CHECK(call)                         \
    do {                                    \
        const aclError code_ = (call);      \
        if (code_ != ACL_SUCCESS) {         \
            throw Error(code_, #call);      \
        }                                   \
    } while (0)

class Device {
public:
    explicit Device(int32_t id) : id_(id) { CHECK(aclrtSetDevice(id)); }
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;
    ~Device() { EXPECT_OK(aclrtResetDevice(id_)); }

private:
    int32_t id_;
};

class Stream {
public:
    Stream() { CHECK(aclrtCreateStream(&handle_)); }
    Stream(Stream &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Stream &operator=(Stream &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Stream()
    {
        if (handle_ != nullptr) {
            EXPECT_OK(aclrtDestroyStream(handle_));
        }
    }
    operator aclrtStream() const { return handle_; }
    void synchronize() const { CHECK(aclrtSynchronizeStream(handle_)); }

private:
    aclrtStream handle_ = nullptr;
};

struct FreeDevice {
    void operator()(uint8_t *memory) const { EXPECT_OK(aclrtFree(memory)); }
};
struct FreeHost {
    void operator()(uint8_t *memory) const { EXPECT_OK(aclrtFreeHost(memory)); }
};
using DeviceBuffer = std::unique_ptr<uint8_t, FreeDevice>;
using HostBuffer = std::unique_ptr<uint8_t, FreeHost>;

static DeviceBuffer device_buffer(size_t size)
{
    void *memory = nullptr;
    CHECK(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST));
    return DeviceBuffer(static_cast<uint8_t *>(memory));
}

static HostBuffer host_buffer(size_t size)
{
    void *memory = nullptr;
    CHECK(aclrtMallocHost(&memory, size));
    return HostBuffer(static_cast<uint8_t *>(memory));
}

static void round_trip(size_t size, uint32_t seed)
{
    Stream stream;
    HostBuffer source = host_buffer(size), result = host_buffer(size);
    DeviceBuffer device = device_buffer(size);
    fill_pattern(source.get(), size, seed);
    CHECK(aclrtMemcpyAsync(device.get(), size, source.get(), size, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    CHECK(aclrtMemcpyAsync(result.get(), size, device.get(), size, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    stream.synchronize();
    EXPECT_PATTERN(result.get(), size, seed);
}

/* Throws while it owns a stream and buffers, which unwinding releases. */
static void throw_with_resources()
{
    Stream stream;
    HostBuffer source = host_buffer(1 << 20);
    DeviceBuffer device = device_buffer(1 << 20);
    for (int i = 0; i < 50; i++) {
        CHECK(aclrtMemcpyAsync(device.get(), 1 << 20, source.get(), 1 << 20, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    }
    stream.synchronize();
    CHECK(aclrtMemcpyAsync(device.get(), 1, source.get(), 2, ACL_MEMCPY_HOST_TO_DEVICE, stream));
}

int main()
{
    try {
        Device device(0);
        for (uint32_t seed = 1; seed <= 10; seed++) {
            round_trip(1000 * seed + seed, seed);
        }
        std::vector<Stream> streams(20);
        streams.erase(streams.begin() + 3, streams.begin() + 9);
        for (const Stream &stream : streams) {
            stream.synchronize();
        }
        try {
            throw_with_resources();
            EXPECT_TRUE(false, "no exception was thrown");
        } catch (const Error &error) {
            EXPECT_TRUE(error.code == ACL_ERROR_RT_PARAM_INVALID, "%s", error.what());
        }
        round_trip(12345, 99);
    } catch (const Error &error) {
        EXPECT_TRUE(false, "%s (%d)", error.what(), error.code);
    }
    try {
        Device missing(1000);
        EXPECT_TRUE(false, "no exception was thrown");
    } catch (const Error &error) {
        EXPECT_TRUE(error.code == ACL_ERROR_RT_INVALID_DEVICEID, "%s", error.what());
    }
    return finish();
}
