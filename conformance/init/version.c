// soc: all
/* Version and name queries; none of them needs aclInit or a device. */
#include "../expect.h"

#include <sys/stat.h>

static char root[] = "/tmp/conformance-XXXXXX";

/* A package as an installation would have it: share/info/<name>/version.info below ASCEND_HOME_PATH. */
static void package(const char *name, const char *version)
{
    char path[256];
    snprintf(path, sizeof path, "%s/share", root);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/share/info", root);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/share/info/%s", root, name);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/share/info/%s/version.info", root, name);
    FILE *file = fopen(path, "w");
    REQUIRE_TRUE(file != NULL, "%s", path);
    fprintf(file, "Version=%s\n", version);
    fclose(file);
}

int main(void)
{
    int32_t major = 0, minor = 0, patch = -1;
    EXPECT_OK(aclrtGetVersion(&major, &minor, &patch)); /* 9.4 */
    EXPECT_TRUE(major == 1 && minor == 17 && patch == 0, "%d.%d.%d", major, minor, patch);
    EXPECT_CODE(aclrtGetVersion(NULL, &minor, &patch), 100000);
    EXPECT_CODE(aclrtGetVersion(&major, NULL, &patch), 100000);
    EXPECT_CODE(aclrtGetVersion(&major, &minor, NULL), 100000);

    const char *soc = aclrtGetSocName();
    EXPECT_TRUE(soc != NULL && strncmp(soc, "Ascend", 6) == 0, "soc %s", soc == NULL ? "(null)" : soc);
    EXPECT_TRUE(soc == aclrtGetSocName() || strcmp(soc, aclrtGetSocName()) == 0, "a constant");

    aclCANNPackageVersion version;
    char text[128];
    int32_t number = 0;
    EXPECT_TRUE(sizeof version == 512, "layout");
    EXPECT_CODE(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, NULL), 100000);
    EXPECT_CODE(aclsysGetCANNVersion((aclCANNPackageName)8, &version), 100000);
    EXPECT_CODE(aclsysGetCANNVersion((aclCANNPackageName)-1, &version), 100000);
    EXPECT_CODE(aclsysGetVersionStr(NULL, text), 100000);
    EXPECT_CODE(aclsysGetVersionStr((char *)"runtime", NULL), 100000);
    EXPECT_CODE(aclsysGetVersionNum(NULL, &number), 100000);
    EXPECT_CODE(aclsysGetVersionNum((char *)"runtime", NULL), 100000);
    EXPECT_CODE(aclsysGetVersionStr((char *)"no-such-package", text), 100003);

    if (on_softacl()) { /* with an installation of our own making */
        REQUIRE_TRUE(mkdtemp(root) != NULL, "mkdtemp");
        package("my-ops", "8.5.0");
        package("early-ops", "9.1.0-beta.2");
        setenv("ASCEND_HOME_PATH", root, 1);
        EXPECT_OK(aclsysGetVersionStr((char *)"my-ops", text));
        EXPECT_TRUE(strcmp(text, "8.5.0") == 0, "version %s", text);
        EXPECT_OK(aclsysGetVersionStr((char *)"my_ops", text)); /* 9.4: both spellings */
        EXPECT_OK(aclsysGetVersionNum((char *)"my-ops", &number));
        EXPECT_TRUE(number == 80500000, "number %d", number);
        EXPECT_OK(aclsysGetVersionNum((char *)"early-ops", &number));
        EXPECT_TRUE(number == 90100000 - 200 + 2, "number %d", number);
        EXPECT_CODE(aclsysGetVersionStr((char *)"no-such-package", text), 100003);
        char command[300];
        snprintf(command, sizeof command, "rm -r '%s'", root);
        EXPECT_TRUE(system(command) == 0, "%s", command);
    }
    return conclude();
}
