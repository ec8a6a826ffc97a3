// soc: all
// schedules: all
/* Version and name queries, none of which requires aclInit or a device. */
#include "../expect.h"

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
    EXPECT_TRUE(soc == aclrtGetSocName() || strcmp(soc, aclrtGetSocName()) == 0, "the name changed");

    aclCANNPackageVersion version;
    char text[128];
    int32_t number = 0;
    EXPECT_TRUE(sizeof version == 512, "wrong layout");
    EXPECT_CODE(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, NULL), 100000);
    EXPECT_CODE(aclsysGetCANNVersion((aclCANNPackageName)8, &version), 100000);
    EXPECT_CODE(aclsysGetCANNVersion((aclCANNPackageName)-1, &version), 100000);
    EXPECT_CODE(aclsysGetVersionStr(NULL, text), 100000);
    EXPECT_CODE(aclsysGetVersionStr((char *)"runtime", NULL), 100000);
    EXPECT_CODE(aclsysGetVersionNum(NULL, &number), 100000);
    EXPECT_CODE(aclsysGetVersionNum((char *)"runtime", NULL), 100000);
    EXPECT_CODE(aclsysGetVersionStr((char *)"no-such-package", text), 100003);

    /* A known package may have a version; its number then matches its text. */
    static const char *packages[] = {"runtime", "toolkit", "opp", "opp_kernel", "opp-kernel", "hccl", "compiler"};
    for (size_t i = 0; i < sizeof packages / sizeof packages[0]; i++) {
        memset(text, 0, sizeof text);
        aclError got = aclsysGetVersionStr((char *)packages[i], text);
        EXPECT_TRUE(got == 0 || got == 100003, "%s returned %d", packages[i], got);
        if (got != 0) {
            continue;
        }
        int parts[3] = {0, 0, 0};
        char rest[64] = "";
        int fields = sscanf(text, "%d.%d.%d%63s", &parts[0], &parts[1], &parts[2], rest);
        EXPECT_TRUE(fields >= 2, "%s has version %s", packages[i], text);
        EXPECT_OK(aclsysGetVersionNum((char *)packages[i], &number));
        if (fields == 3) { /* a release, without an alpha, beta or rc suffix */
            EXPECT_TRUE(number == parts[0] * 10000000 + parts[1] * 100000 + parts[2] * 1000, "%s is %d", text, number);
        }
    }
    EXPECT_CODE(aclsysGetVersionNum((char *)"no-such-package", &number), 100003);
    for (int name = 0; name < 8; name++) {
        memset(&version, 0, sizeof version);
        aclError got = aclsysGetCANNVersion((aclCANNPackageName)name, &version);
        EXPECT_TRUE(got == 0 || got == 100003, "package %d returned %d", name, got);
        EXPECT_TRUE(got != 0 || version.version[0] != '\0', "package %d has an empty version", name);
    }
    return finish();
}
