// soc: all
/* Dump of operator arguments: starting and stopping must alternate. Nothing is dumped without operators. */
#include "../expect.h"
#include "acl/acl_dump.h"

#define ARGUMENTS 1

int main(void)
{
    int has_dump = family_has_batches() || family() == FAMILY_910;
    REQUIRE_OK(aclrtSetDevice(0));
    if (!has_dump) {
        EXPECT_CODE(aclopStartDumpArgs(ARGUMENTS, "/tmp"), 207000);
        EXPECT_CODE(aclopStopDumpArgs(ARGUMENTS), 207000);
    } else {
        EXPECT_CODE(aclopStartDumpArgs(ARGUMENTS, NULL), 100000);
        EXPECT_FAILS(aclopStartDumpArgs(ARGUMENTS, "/nonexistent/directory"));
        EXPECT_FAILS(aclopStopDumpArgs(ARGUMENTS));
        EXPECT_OK(aclopStartDumpArgs(ARGUMENTS, "/tmp"));
        EXPECT_SOFTACL_CODE(aclopStartDumpArgs(ARGUMENTS, "/tmp"), 100044);
        EXPECT_OK(aclopStopDumpArgs(ARGUMENTS));
        EXPECT_SOFTACL_CODE(aclopStopDumpArgs(ARGUMENTS), 100045);
    }
    if (on_softacl()) {
        EXPECT_TRUE(acldumpGetPath(ARGUMENTS) == NULL, "a directory for dumps");
    }
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
