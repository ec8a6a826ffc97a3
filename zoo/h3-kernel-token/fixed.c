/*
 * Samples a token with a kernel that writes it to pinned memory, without a copy.
 *
 * buggy.c reads the token right after the launch.
 * fixed.c waits for the stream first.
 */
#include "../zoo.h"
#include "softacl/softacl.h"

#define TOKENS 1024
#define SIZE (TOKENS * sizeof(uint32_t))

static void *tokens;

static int sample(void *unused)
{
    void *view;
    (void)unused;
    if (softaclHostView(tokens, SIZE, &view) != ACL_SUCCESS) {
        return 507035;
    }
    fill(view, TOKENS, 42);
    return 0;
}

int main(void)
{
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost(&tokens, SIZE));
    fill(tokens, TOKENS, 0);

    softaclRange range = {tokens, SIZE, SOFTACL_WRITE};
    OK(softaclLaunchKernel(stream, sample, NULL, NULL, &range, 1, "sample"));
    OK(aclrtSynchronizeStream(stream));
    size_t wrong = wrong_words(tokens, TOKENS, 42);
    OK(aclrtSynchronizeStream(stream));

    OK(aclrtFreeHost(tokens));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, TOKENS, "tokens");
}
