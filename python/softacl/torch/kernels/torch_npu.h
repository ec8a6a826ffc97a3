// The functions of torch_npu that the kernels use, as its own headers declare them.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Stream.h>

#include <functional>
#include <string>

#include "torch_npu/csrc/aten/NPUGeneratorImpl.h"

namespace c10_npu {

class NPUStream {
public:
    ~NPUStream() {}
    // The stream of the runtime. `need_empty` waits until the task queue is empty.
    void *stream(const bool need_empty) const;
    void synchronize() const;

private:
    c10::Stream stream_;
};

NPUStream getCurrentNPUStream(c10::DeviceIndex device_index);

}  // namespace c10_npu

namespace at_npu::native {

class OpCommand {
public:
    // Calls `func` in the order of the task queue.
    static void RunOpApiV2(const std::string &op_name, const std::function<int()> &func, bool sync);
};

}  // namespace at_npu::native
