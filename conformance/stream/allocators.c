// soc: all
/* Custom allocators: descriptions, and their registration for streams. Operators call the functions; copies do not. */
#include "../expect.h"

static int object;

static void *allocate(aclrtAllocator allocator, size_t size)
{
    (void)allocator, (void)size;
    return NULL;
}

static void release(aclrtAllocator allocator, aclrtAllocatorBlock block)
{
    (void)allocator, (void)block;
}

static void *allocate_at(aclrtAllocator allocator, size_t size, aclrtAllocatorAddr address)
{
    (void)allocator, (void)size, (void)address;
    return NULL;
}

static void *address_of(aclrtAllocatorBlock block)
{
    return block;
}

static aclError find(aclrtStream stream, aclrtAllocatorDesc expected)
{
    aclrtAllocatorDesc desc = NULL;
    aclrtAllocator allocator = NULL;
    aclrtAllocatorAllocFunc alloc_func = NULL;
    aclrtAllocatorFreeFunc free_func = NULL;
    aclrtAllocatorAllocAdviseFunc advise_func = NULL;
    aclrtAllocatorGetAddrFromBlockFunc address_func = NULL;
    aclError got = aclrtAllocatorGetByStream(stream, &desc, &allocator, &alloc_func, &free_func, &advise_func,
                                             &address_func);
    if (got == 0) {
        EXPECT_TRUE(desc == expected && allocator == &object, "%p %p", desc, allocator);
        EXPECT_TRUE(alloc_func == allocate && free_func == release && advise_func == allocate_at
                        && address_func == address_of, "the functions differ");
    }
    return got;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc(), other = aclrtAllocatorCreateDesc();
    REQUIRE_TRUE(desc != NULL && other != NULL && desc != other, "%p %p", desc, other);
    EXPECT_CODE(aclrtAllocatorSetObjToDesc(NULL, &object), 100000);
    EXPECT_CODE(aclrtAllocatorSetAllocFuncToDesc(NULL, allocate), 100000);
    EXPECT_CODE(aclrtAllocatorSetFreeFuncToDesc(NULL, release), 100000);
    EXPECT_CODE(aclrtAllocatorSetAllocAdviseFuncToDesc(NULL, allocate_at), 100000);
    EXPECT_CODE(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(NULL, address_of), 100000);
    EXPECT_OK(aclrtAllocatorSetObjToDesc(desc, &object));
    EXPECT_OK(aclrtAllocatorSetAllocFuncToDesc(desc, allocate));
    EXPECT_OK(aclrtAllocatorSetFreeFuncToDesc(desc, release));
    EXPECT_OK(aclrtAllocatorSetAllocAdviseFuncToDesc(desc, allocate_at));
    EXPECT_OK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, address_of));
    if (family() == FAMILY_310B) { /* descriptions only */
        EXPECT_CODE(aclrtAllocatorRegister(stream, desc), 207000);
        EXPECT_CODE(find(stream, desc), 207000);
        EXPECT_CODE(aclrtAllocatorUnregister(stream), 207000);
    } else {
        EXPECT_CODE(aclrtAllocatorRegister(stream, NULL), 100000);
        EXPECT_CODE(aclrtAllocatorRegister(stale_stream(), desc), 107017);
        EXPECT_SOFTACL_CODE(aclrtAllocatorRegister(stream, other), 107000); /* it has no functions */
        EXPECT_FAILS(find(stream, desc));
        EXPECT_FAILS(aclrtAllocatorUnregister(stream));
        EXPECT_OK(aclrtAllocatorRegister(stream, desc));
        EXPECT_OK(find(stream, desc));
        aclrtStream second = new_stream();
        EXPECT_FAILS(find(second, desc)); /* registered for one stream only */
        EXPECT_OK(aclrtDestroyStream(second));

        /* The registration does not need the description. */
        EXPECT_OK(aclrtAllocatorDestroyDesc(desc));
        EXPECT_OK(find(stream, desc));
        EXPECT_OK(aclrtAllocatorUnregister(stream));
        EXPECT_FAILS(find(stream, desc));
        desc = NULL;
    }
    if (desc != NULL) {
        EXPECT_OK(aclrtAllocatorDestroyDesc(desc));
    }
    EXPECT_OK(aclrtAllocatorDestroyDesc(other));
    EXPECT_SOFTACL_CODE(aclrtAllocatorDestroyDesc(other), 107000);
    EXPECT_CODE(aclrtAllocatorDestroyDesc(NULL), 100000);
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
