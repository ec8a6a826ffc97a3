/* Was linked with every name of the library, as programs of a newer toolkit are, and opens each of them again: all must
 * be one engine. Prints the number of names that differ. */
#include <dlfcn.h>
#include <stdio.h>

int aclrtSetDevice(int device);
int aclrtGetDevice(int *device);

int main(int argc, char **argv)
{
    int wrong = 0;
    if (aclrtSetDevice(1) != 0) {
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            printf("%s\n", dlerror());
            return 3;
        }
        int (*get)(int *) = (int (*)(int *))dlsym(library, "aclrtGetDevice");
        int device = -1;
        /* The device of this thread is state of the engine: another engine would have none. */
        if (get != aclrtGetDevice || get(&device) != 0 || device != 1) {
            printf("%s has another engine\n", argv[i]);
            wrong++;
        }
    }
    printf("%d of %d names differ\n", wrong, argc - 1);
    return wrong;
}
