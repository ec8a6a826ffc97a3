/* Regions without hidden waits, in C. Prints what the regions report. */
#include "runtime.h"

typedef int begin_region(const char *, const char *);
typedef size_t end_region(char *, size_t);

int main(void)
{
    begin_region *begin_gate = (begin_region *)function("softaclNoHiddenSyncBegin");
    end_region *end_gate = (end_region *)function("softaclNoHiddenSyncEnd");
    static char text[4096], pageable[PAGE];
    begin();

    if (end_gate(text, sizeof(text)) != (size_t)-1 || begin_gate("x", "noSuchFunction") != 100000) {
        return 1;
    }
    begin_gate("clean", NULL);
    copy(device, host, PAGE, HOST_TO_DEVICE);
    printf("clean %zu\n", end_gate(text, sizeof(text)));

    begin_gate("upload", "aclrtSynchronizeStream");
    synchronize();
    for (int i = 0; i < 3; i++) {
        copy(device, pageable, PAGE, HOST_TO_DEVICE); /* hidden */
    }
    CALL(aclrtMemset, (void *, size_t, int, size_t), device, PAGE, 0, PAGE); /* synchronous */
    printf("upload %zu\n%s\n", end_gate(text, sizeof(text)), text);

    synchronize();
    printf("outside %zu\n", end_gate(text, sizeof(text)));
    return finish();
}
