// soc: Ascend910B Ascend310P
/* aclmdlRIDebugJsonPrint writes a JSON file, aclmdlRIDebugPrint prints, and both refuse invalid arguments. The contents
 * are not documented. */
#include "../expect.h"
#include "graph.h"

#define SIZE 64

/* Where the lines go is not documented: softacl prints them to standard error. */
static void print(aclmdlRI graph)
{
    char path[] = "/tmp/conformance-print-XXXXXX", text[512] = "";
    int file = mkstemp(path), saved = dup(STDERR_FILENO);
    REQUIRE_TRUE(file >= 0 && saved >= 0 && dup2(file, STDERR_FILENO) >= 0, "a file for standard error");
    int code = aclmdlRIDebugPrint(graph);
    REQUIRE_TRUE(dup2(saved, STDERR_FILENO) >= 0, "standard error is back");
    EXPECT_OK(code);
    ssize_t len = pread(file, text, sizeof text - 1, 0);
    EXPECT_TRUE(!on_softacl() || (len > 0 && strstr(text, "step 0") != NULL), "printed: %s", text);
    close(saved);
    close(file);
    unlink(path);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 1, SIZE, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));

    char path[] = "/tmp/conformance-graph-XXXXXX";
    int file = mkstemp(path);
    REQUIRE_TRUE(file >= 0, "mkstemp");
    static const uint32_t flags[] = {ACL_MDLRI_DEBUG_JSON_PRINT_SUMMARY, ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE};
    for (int i = 0; i < 2; i++) {
        EXPECT_OK(aclmdlRIDebugJsonPrint(graph, path, flags[i]));
        char first = 0;
        EXPECT_TRUE(pread(file, &first, 1, 0) == 1 && (first == '{' || first == '['), "JSON begins with '%c'", first);
    }
    EXPECT_FAILS(aclmdlRIDebugJsonPrint(graph, path, 7));
    EXPECT_FAILS(aclmdlRIDebugJsonPrint(graph, NULL, 0));
    EXPECT_SOFTACL_CODE(aclmdlRIDebugJsonPrint(graph, "/nowhere/graph.json", 0), 107010);
    EXPECT_FAILS(aclmdlRIDebugJsonPrint(NULL, path, 0));
    EXPECT_FAILS(aclmdlRIDebugJsonPrint(stream, path, 0));
    print(graph);
    EXPECT_FAILS(aclmdlRIDebugPrint(NULL));
    EXPECT_FAILS(aclmdlRIDebugPrint(stream));
    close(file);
    unlink(path);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
