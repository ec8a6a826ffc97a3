// soc: Ascend910B
// softacl-only
// sanitize: none (the sanitizer replaces the string functions)
/* String functions load whole vectors, before the start and beyond the end of a text. Only the bytes that they use
 * count: texts that end right before bytes in flight, or start right after them, may be read. */
#define _GNU_SOURCE
#include "../expect.h"
#include "neighbor.h"

static int by_byte(const void *one, const void *other)
{
    return *(const char *)one - *(const char *)other;
}

int main(void)
{
    struct neighbor n = neighbor_begin();
    volatile size_t used = 0;
    for (int length = 1; length < 70; length += 17) {
        /* The end of the text is the last byte before the bytes in flight. */
        char *text = n.to + FIRST - length - 1;
        memset(text, 'x', (size_t)length);
        text[length - 1] = 'y';
        text[length] = 0;
        char buffer[PAGE];
        EXPECT_TRUE(strlen(text) == (size_t)length, "strlen");
        EXPECT_TRUE(strnlen(text, (size_t)length + 1) == (size_t)length, "strnlen");
        EXPECT_TRUE(strchr(text, 'y') == text + length - 1, "strchr");
        EXPECT_TRUE(strchr(text, 'z') == NULL, "strchr without a match");
        EXPECT_TRUE(strrchr(text, 'y') == text + length - 1, "strrchr");
        EXPECT_TRUE(memchr(text, 'y', PAGE) == text + length - 1, "memchr");
        EXPECT_TRUE(memrchr(text, 'y', (size_t)length) == text + length - 1, "memrchr");
        EXPECT_TRUE(rawmemchr(text, 0) == text + length, "rawmemchr");
        EXPECT_TRUE(strstr(text, "y") == text + length - 1, "strstr");
        EXPECT_TRUE(memmem(text, (size_t)length, "y", 1) == text + length - 1, "memmem");
        EXPECT_TRUE(strspn(text, "xy") == (size_t)length, "strspn");
        EXPECT_TRUE(strcspn(text, "q") == (size_t)length, "strcspn");
        EXPECT_TRUE(strpbrk(text, "qy") == text + length - 1, "strpbrk");
        EXPECT_TRUE(strcmp(strcpy(buffer, text), text) == 0, "strcpy");
        EXPECT_TRUE(strncmp(strncpy(buffer, text, sizeof buffer), text, PAGE) == 0, "strncpy");
        EXPECT_TRUE(strcasecmp(text, buffer) == 0, "strcasecmp");
        EXPECT_TRUE(stpcpy(buffer, text) == buffer + length, "stpcpy");
        EXPECT_TRUE(snprintf(buffer, sizeof buffer, "%s!", text) == length + 1, "snprintf");
        char *copy = strdup(text);
        EXPECT_TRUE(copy != NULL && strcmp(copy, text) == 0, "strdup");
        free(copy);
        /* The text starts right after the bytes in flight. */
        text = n.to + AFTER;
        memset(text, '7', (size_t)length);
        text[length] = 0;
        used += strlen(text) + (size_t)strtol(text + length - 1, NULL, 10) + (strchr(text, '8') != NULL);
        used += (size_t)(strcmp(text, "77777777") == 0) + (size_t)(memchr(text, '7', 9) != NULL);
        qsort(text, (size_t)length, 1, by_byte);
    }
    /* The source may be read. */
    used += (size_t)(memchr(n.from + FIRST, 'q', AFTER - FIRST) != NULL) + (size_t)n.from[FIRST];
    neighbor_end(&n);
    return finish();
}
