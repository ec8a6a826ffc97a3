/* Helpers of the programs that build graphs. */
#ifndef CONFORMANCE_BUILD_BUILD_H
#define CONFORMANCE_BUILD_BUILD_H

/* Flags of aclmdlRIBindStream: the stream starts with the graph, or when another stream activates it. */
#define BIND_HEAD 0u
#define BIND_DEFAULT 0x7fffffffu

static inline aclrtStream persistent_stream(void)
{
    aclrtStream stream = NULL;
    REQUIRE_OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_PERSISTENT));
    return stream;
}

static inline aclrtStream bound_stream(aclmdlRI graph, uint32_t flag)
{
    aclrtStream stream = persistent_stream();
    REQUIRE_OK(aclmdlRIBindStream(graph, stream, flag));
    return stream;
}

static inline void release_stream(aclmdlRI graph, aclrtStream stream)
{
    EXPECT_OK(aclmdlRIUnbindStream(graph, stream));
    EXPECT_OK(aclrtDestroyStream(stream));
}

#endif
