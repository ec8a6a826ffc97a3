// softacl-only
// soc: Ascend910B
/* Repeated dlopen and dlclose, also while tasks run: the library stays loaded, because its threads keep running. */
#include "../expect.h"
#include <dlfcn.h>

int main(void)
{
    typedef aclError (*set_function)(int32_t);
    for (int i = 0; i < 100; i++) {
        void *library = dlopen("libascendcl.so", RTLD_NOW | RTLD_LOCAL);
        REQUIRE_TRUE(library != NULL, "%s", dlerror());
        set_function set_device = (set_function)dlsym(library, "aclrtSetDevice");
        REQUIRE_TRUE(set_device != NULL, "%s", dlerror());
        EXPECT_OK(set_device(0));
        aclrtStream stream = new_stream();
        void *device = device_memory(1 << 20), *pinned = pinned_memory(1 << 20);
        EXPECT_OK(aclrtMemcpyAsync(device, 1 << 20, pinned, 1 << 20, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_TRUE(dlclose(library) == 0, "%s", dlerror());
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_OK(aclrtFree(device));
        EXPECT_OK(aclrtFreeHost(pinned));
        EXPECT_OK(aclrtDestroyStream(stream));
        EXPECT_OK(aclrtResetDevice(0));
    }
    return finish();
}
