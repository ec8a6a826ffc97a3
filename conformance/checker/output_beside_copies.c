// soc: Ascend910B
// softacl-only
/* A text that is larger than the buffer of a FILE may begin in the page of a copy. The library passes it to the system
 * directly. */
#include "../expect.h"
#include "neighbor.h"

/* What gcc -D_FORTIFY_SOURCE=2 calls instead. */
int __fprintf_chk(FILE *file, int flag, const char *format, ...);
int __vfprintf_chk(FILE *file, int flag, const char *format, va_list rest);
int __dprintf_chk(int file, int flag, const char *format, ...);

#define PAGES 8

static int print(FILE *file, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    int result = vfprintf(file, format, rest);
    va_end(rest);
    return result;
}

static int print_checked(FILE *file, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    int result = __vfprintf_chk(file, 1, format, rest);
    va_end(rest);
    return result;
}

/* Reads the file back and compares it with `count` texts, each with one more byte. */
static void check_file(FILE *file, const char *text, size_t length, size_t count)
{
    char *bytes = (char *)malloc(count * (length + 1));
    rewind(file);
    EXPECT_TRUE(fread(bytes, 1, count * (length + 1), file) == count * (length + 1), "%zu texts", count);
    for (size_t i = 0; i < count; i++) {
        EXPECT_TRUE(memcmp(bytes + i * (length + 1), text, length) == 0, "text %zu", i);
    }
    free(bytes);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    char *memory = (char *)pinned_memory(PAGES * PAGE), *text = memory + AFTER;
    char *device = (char *)device_memory(PAGE), *copy = (char *)malloc(PAGES * PAGE);
    size_t length = (size_t)(memory + PAGES * PAGE - 1 - text);
    memset(memory, 0, PAGES * PAGE);
    for (size_t i = 0; i < length; i++) {
        text[i] = (char)('a' + i % 26);
    }
    memcpy(copy, text, length);
    FILE *file = tmpfile();
    REQUIRE_TRUE(file != NULL, "tmpfile");
    EXPECT_OK(aclrtMemset(device, PAGE, 'b', PAGE));
    EXPECT_OK(
        aclrtMemcpyAsync(memory + FIRST, AFTER - FIRST, device, AFTER - FIRST, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_TRUE(fprintf(file, "%s\n", text) == (int)length + 1, "fprintf: %s", strerror(errno));
    EXPECT_TRUE(print(file, "%s\n", text) == (int)length + 1, "vfprintf: %s", strerror(errno));
    EXPECT_TRUE(__fprintf_chk(file, 1, "%s\n", text) == (int)length + 1, "__fprintf_chk: %s", strerror(errno));
    EXPECT_TRUE(print_checked(file, "%s\n", text) == (int)length + 1, "__vfprintf_chk: %s", strerror(errno));
    EXPECT_TRUE(fputs(text, file) >= 0 && fputc('\n', file) == '\n', "fputs: %s", strerror(errno));
    EXPECT_TRUE(fwrite(text, 1, length, file) == length && fputc('\n', file) == '\n', "fwrite: %s", strerror(errno));
    EXPECT_TRUE(fflush(file) == 0, "fflush: %s", strerror(errno));
    EXPECT_TRUE(dprintf(fileno(file), "%s\n", text) == (int)length + 1, "dprintf: %s", strerror(errno));
    EXPECT_TRUE(__dprintf_chk(fileno(file), 1, "%s\n", text) == (int)length + 1, "__dprintf_chk: %s", strerror(errno));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(memory[FIRST] == 'b' && memory[AFTER - 1] == 'b', "%d", memory[FIRST]);
    check_file(file, copy, length, 8);
    EXPECT_TRUE(fclose(file) == 0, "fclose");
    free(copy);
    EXPECT_OK(aclrtFreeHost(memory));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
