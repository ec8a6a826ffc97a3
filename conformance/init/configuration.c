// soc: Ascend910B Ascend310P
// schedules: all
/* The configuration file of aclInit: missing, broken, empty, known keys, and another one later. */
#include "../expect.h"

static const char *file_with(const char *text)
{
    static char names[8][64];
    static int next;
    char *name = names[next++];
    snprintf(name, sizeof names[0], "/tmp/conformance-XXXXXX");
    int file = mkstemp(name);
    REQUIRE_TRUE(file >= 0, "mkstemp");
    REQUIRE_TRUE(write(file, text, strlen(text)) == (ssize_t)strlen(text), "write");
    close(file);
    return name;
}

/* The codes of a file that cannot be used: 100003 to 100010. */
static void unusable(const char *path)
{
    aclError got = aclInit(path);
    EXPECT_TRUE(got >= 100003 && got <= 100010, "%s gave %d", path, got);
}

int main(void)
{
    unusable("/nonexistent/acl.json"); /* 4.1: bad path */
    const char *broken = file_with("{ \"dump\": ");
    const char *empty = file_with("{}");
    const char *mode = file_with("{ \"err_msg_mode\": \"1\" }");
    const char *known = file_with("{ \"dump\": {}, \"profiling\": {}, \"err_msg_mode\": \"0\" }");
    unusable(broken); /* 4.1: bad JSON */
    unusable("/tmp"); /* a directory */

    EXPECT_OK(aclInit(empty)); /* 4.1: after failures the count is still 0 */
    EXPECT_CODE(aclInit(empty), 100002);
    EXPECT_CODE(aclInit(mode), 100000); /* 4.1: a different content later */
    EXPECT_OK(aclFinalize());
    EXPECT_OK(aclInit(""));
    EXPECT_OK(aclFinalize());
    EXPECT_OK(aclInit(known));
    EXPECT_OK(aclFinalize());

    const char *files[] = {broken, empty, mode, known};
    for (int i = 0; i < 4; i++) {
        unlink(files[i]);
    }
    return finish();
}
