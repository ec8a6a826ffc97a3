// soc: Ascend910B Ascend310P
// schedules: all
/* The configuration file of aclInit: a missing, malformed,
 * empty or valid file, and a second file with other contents. */
#include "../expect.h"

static const char *write_file(const char *text)
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

/* Expects one of the codes for an unusable file: 100003 to 100010. */
static void expect_unusable(const char *path)
{
    aclError got = aclInit(path);
    EXPECT_TRUE(got >= 100003 && got <= 100010, "%s returned %d", path, got);
}

int main(void)
{
    expect_unusable("/nonexistent/acl.json"); /* 4.1: bad path */
    const char *broken = write_file("{ \"dump\": ");
    const char *empty = write_file("{}");
    const char *mode = write_file("{ \"err_msg_mode\": \"1\" }");
    const char *known = write_file("{ \"dump\": {}, \"profiling\": {}, \"err_msg_mode\": \"0\" }");
    expect_unusable(broken); /* 4.1: bad JSON */
    expect_unusable("/tmp"); /* a directory */

    EXPECT_OK(aclInit(empty)); /* 4.1: failed calls are not counted */
    EXPECT_CODE(aclInit(empty), 100002);
    EXPECT_CODE(aclInit(mode), 100000); /* 4.1: other contents than the first file */
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
