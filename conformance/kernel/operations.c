// soc: Ascend910B
// softacl-only
// sanitize: address (the library orders the operation and the host; the thread sanitizer does not see into it)
/* Operations of programs that were built before and after softaclOperation had waitsInside, and tables that are wrong. */
#include "../expect.h"
#include "softacl/softacl.h"
#include <stddef.h>

static int runs, releases;

static void *begin_run(void *argument)
{
    return argument;
}

static int step_run(void *run)
{
    (void)run;
    runs++;
    return 0;
}

static int is_ready(void *run)
{
    (void)run;
    return 1;
}

static size_t describe(void *run, char *text, size_t size)
{
    (void)run;
    return size == 0 ? 0 : (size_t)snprintf(text, size, "nothing");
}

static void end_run(void *run)
{
    (void)run;
}

static int waits_inside(void *run)
{
    (void)run;
    return 0;
}

static void release(void *argument)
{
    (void)argument;
    releases++;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    softaclOperation operation = {sizeof operation, begin_run, step_run, is_ready, describe, end_run, waits_inside};
    EXPECT_OK(softaclLaunchOperation(stream, &operation, &runs, release, NULL, 0, "whole"));
    operation.waitsInside = NULL;
    EXPECT_OK(softaclLaunchOperation(stream, &operation, &runs, release, NULL, 0, "without waitsInside"));
    /* A program that was built with an older header. Its structure ends before waitsInside. */
    operation.size = offsetof(softaclOperation, waitsInside);
    EXPECT_OK(softaclLaunchOperation(stream, &operation, &runs, release, NULL, 0, "shorter"));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(runs == 3, "%d runs", runs);

    operation.size = sizeof operation + 1;
    EXPECT_CODE(softaclLaunchOperation(stream, &operation, &runs, release, NULL, 0, "longer"), 100000);
    operation.size = 0;
    EXPECT_CODE(softaclLaunchOperation(stream, &operation, &runs, release, NULL, 0, "empty"), 100000);
    operation.size = sizeof operation;
    operation.end = NULL;
    EXPECT_CODE(softaclLaunchOperation(stream, &operation, &runs, release, NULL, 0, "no end"), 100000);
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_TRUE(runs == 3 && releases == 6, "%d runs, %d releases", runs, releases);
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
