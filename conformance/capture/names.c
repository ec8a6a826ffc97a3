// soc: Ascend910B Ascend310P
// schedules: all
/* Names of graphs, and functions that are called when a graph is destroyed. */
#include "../expect.h"
#include "graph.h"

static int order[4], calls;

static void first(void *value)
{
    order[calls++] = *(int *)value;
}

static void second(void *value)
{
    order[calls++] = *(int *)value;
}

static void never(void *unused)
{
    (void)unused;
    EXPECT_TRUE(0, "an unregistered function was called");
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    aclmdlRI graph = NULL;
    char name[16];
    static int one = 1, two = 2;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));

    EXPECT_OK(aclmdlRIGetName(graph, sizeof name, name));
    EXPECT_TRUE(name[0] == 0, "a graph starts without a name");
    EXPECT_OK(aclmdlRISetName(graph, "decode"));
    EXPECT_OK(aclmdlRIGetName(graph, sizeof name, name));
    EXPECT_TRUE(strcmp(name, "decode") == 0, "%s", name);
    EXPECT_OK(aclmdlRIGetName(graph, 7, name)); /* with its final zero */
    name[0] = 'x';
    EXPECT_FAILS(aclmdlRIGetName(graph, 6, name));
    EXPECT_TRUE(name[0] == 'x', "a refused call has written");
    EXPECT_OK(aclmdlRISetName(graph, "prefill"));
    EXPECT_OK(aclmdlRIGetName(graph, sizeof name, name));
    EXPECT_TRUE(strcmp(name, "prefill") == 0, "%s", name);
    EXPECT_CODE(aclmdlRISetName(graph, NULL), 100000);
    EXPECT_CODE(aclmdlRIGetName(graph, sizeof name, NULL), 100000);
    EXPECT_FAILS(aclmdlRISetName(stream, "x"));

    EXPECT_OK(aclmdlRIDestroyRegisterCallback(graph, first, &one));
    EXPECT_OK(aclmdlRIDestroyRegisterCallback(graph, never, NULL));
    EXPECT_OK(aclmdlRIDestroyRegisterCallback(graph, second, &two));
    EXPECT_FAILS(aclmdlRIDestroyRegisterCallback(graph, first, &two)); /* registered already */
    EXPECT_CODE(aclmdlRIDestroyRegisterCallback(graph, NULL, NULL), 100000);
    EXPECT_OK(aclmdlRIDestroyUnregisterCallback(graph, never));
    EXPECT_FAILS(aclmdlRIDestroyUnregisterCallback(graph, never));
    EXPECT_TRUE(calls == 0, "called too early");
    EXPECT_OK(aclmdlRIExecute(graph, -1));
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_TRUE(calls == 2 && order[0] == 1 && order[1] == 2, "%d calls", calls);
    EXPECT_FAILS(aclmdlRIDestroy(graph));
    EXPECT_TRUE(calls == 2, "called again");
    EXPECT_FAILS(aclmdlRIDestroyRegisterCallback(graph, first, &one));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
