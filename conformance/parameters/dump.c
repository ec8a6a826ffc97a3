// soc: Ascend910B
/* Operator dump: aclmdlInitDump and aclmdlFinalizeDump must alternate, and aclmdlSetDump needs a valid file. */
#include "../expect.h"

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    REQUIRE_TRUE(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, "%s", path);
}

int main(void)
{
    char good[] = "/tmp/conformance-dump-XXXXXX", bad[] = "/tmp/conformance-dump-XXXXXX";
    REQUIRE_TRUE(close(mkstemp(good)) == 0 && close(mkstemp(bad)) == 0, "mkstemp");
    write_file(good, "{\"dump\": {\"dump_path\": \"/tmp\", \"dump_list\": []}}");
    write_file(bad, "{\"dump\": ");
    REQUIRE_CODE(aclInit(NULL), 0);
    EXPECT_CODE(aclmdlFinalizeDump(), 100045);
    EXPECT_CODE(aclmdlSetDump(good), 100045);
    EXPECT_OK(aclmdlInitDump());
    EXPECT_CODE(aclmdlInitDump(), 100044);
    EXPECT_CODE(aclmdlSetDump(NULL), 100000);
    EXPECT_FAILS(aclmdlSetDump("/nonexistent/file.json"));
    EXPECT_FAILS(aclmdlSetDump(bad));
    EXPECT_OK(aclmdlSetDump(good));
    EXPECT_OK(aclmdlFinalizeDump());
    EXPECT_CODE(aclmdlFinalizeDump(), 100045);
    EXPECT_OK(aclmdlInitDump());
    EXPECT_OK(aclmdlFinalizeDump());
    EXPECT_OK(aclFinalize());
    EXPECT_TRUE(unlink(good) == 0 && unlink(bad) == 0, "unlink");
    return finish();
}
