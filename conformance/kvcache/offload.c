// soc: all
// schedules: all
/* Key-value cache offload as in a serving engine: one stream saves blocks of several layers to the host, a second
 * stream loads others back, a third computes on the cache. Events order the streams, and every byte is verified.
 * Products without batch copies issue single copies. */
#include "../batch/variants.h"

#define LAYERS 6
#define BLOCKS 16      /* per layer, on the device */
#define HOST_BLOCKS 64 /* per layer, on the host */
#define BLOCK 4096
#define STEPS 12
#define MOVED 5 /* blocks moved per step */

static uint8_t *device_cache[LAYERS];
static uint8_t *host_cache[LAYERS];
static uint32_t on_device[BLOCKS]; /* sequence that each slot holds */
static int64_t on_host[HOST_BLOCKS];

static uint32_t seed_of(int layer, uint32_t sequence)
{
    return sequence * LAYERS + (uint32_t)layer + 1;
}

/* Moves `count` blocks of every layer between device slots and host slots in one batch. */
static void move_blocks(int to_host, const int *device_slots, const int *host_slots, int count, aclrtStream stream)
{
    static void *dsts[LAYERS * MOVED], *srcs[LAYERS * MOVED];
    static size_t sizes[LAYERS * MOVED];
    size_t items = 0;
    for (int layer = 0; layer < LAYERS; layer++) {
        for (int i = 0; i < count; i++) {
            uint8_t *device = device_cache[layer] + device_slots[i] * BLOCK;
            uint8_t *host = host_cache[layer] + host_slots[i] * BLOCK;
            dsts[items] = to_host ? host : device;
            srcs[items] = to_host ? device : host;
            sizes[items++] = BLOCK;
        }
    }
    if (family_has_batches()) {
        aclrtMemcpyBatchAttr attribute = to_host ? device_to_host() : host_to_device();
        size_t index = 0, fail = UNTOUCHED;
        EXPECT_OK(aclrtMemcpyBatchAsync(dsts, sizes, srcs, sizes, items, &attribute, &index, 1, &fail, stream));
        EXPECT_TRUE(fail == SIZE_MAX, "failIndex %zu", fail);
    } else {
        for (size_t i = 0; i < items; i++) {
            aclrtMemcpyKind kind = to_host ? ACL_MEMCPY_DEVICE_TO_HOST : ACL_MEMCPY_HOST_TO_DEVICE;
            EXPECT_OK(aclrtMemcpyAsync(dsts[i], sizes[i], srcs[i], sizes[i], kind, stream));
        }
    }
}

/* Writes the blocks of a new sequence into a device slot, in place of a model. */
static void generate(int slot, uint32_t sequence, uint8_t *staging, aclrtStream stream)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        fill_pattern(staging, BLOCK, seed_of(layer, sequence));
        EXPECT_OK(aclrtMemcpyAsync(device_cache[layer] + slot * BLOCK, BLOCK, staging, BLOCK,
                                   ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
    }
    on_device[slot] = sequence;
}

static void verify_device(int slot)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        EXPECT_DEVICE_PATTERN(device_cache[layer] + slot * BLOCK, BLOCK, seed_of(layer, on_device[slot]));
    }
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream compute = new_stream(), save = new_stream(), load = new_stream();
    aclrtEvent computed = NULL, saved = NULL, loaded = NULL;
    REQUIRE_OK(aclrtCreateEventExWithFlag(&computed, ACL_EVENT_SYNC));
    REQUIRE_OK(aclrtCreateEventExWithFlag(&saved, ACL_EVENT_SYNC));
    REQUIRE_OK(aclrtCreateEvent(&loaded));
    for (int layer = 0; layer < LAYERS; layer++) {
        device_cache[layer] = (uint8_t *)device_memory(BLOCKS * BLOCK);
        host_cache[layer] = (uint8_t *)pinned_memory(HOST_BLOCKS * BLOCK);
    }
    uint8_t *staging = (uint8_t *)pageable_memory(BLOCK);
    uint32_t next_sequence = 0;
    for (int i = 0; i < HOST_BLOCKS; i++) {
        on_host[i] = -1;
    }
    for (int slot = 0; slot < BLOCKS; slot++) {
        generate(slot, next_sequence++, staging, compute);
    }
    EXPECT_OK(aclrtRecordEvent(computed, compute));

    for (int step = 0; step < STEPS; step++) {
        int device_slots[MOVED], host_slots[MOVED], load_slots[MOVED];
        for (int i = 0; i < MOVED; i++) {
            device_slots[i] = (step * MOVED + i * 3) % BLOCKS;
            host_slots[i] = step * MOVED + i;
            on_host[host_slots[i]] = on_device[device_slots[i]];
        }
        /* Save after the model has written. */
        EXPECT_OK(aclrtStreamWaitEvent(save, computed));
        move_blocks(1, device_slots, host_slots, MOVED, save);
        EXPECT_OK(aclrtRecordEvent(saved, save));
        /* Generate new contents after the old ones are saved. */
        EXPECT_OK(aclrtStreamWaitEvent(compute, saved));
        for (int i = 0; i < MOVED; i++) {
            generate(device_slots[i], next_sequence++, staging, compute);
        }
        EXPECT_OK(aclrtRecordEvent(computed, compute));
        /* Load two earlier blocks into slots that are free by then. */
        if (step > 2) {
            for (int i = 0; i < 2; i++) {
                load_slots[i] = device_slots[i];
                host_slots[i] = (step - 2) * MOVED + i;
                on_device[load_slots[i]] = (uint32_t)on_host[host_slots[i]];
            }
            EXPECT_OK(aclrtStreamWaitEvent(load, saved));
            EXPECT_OK(aclrtStreamWaitEvent(load, computed));
            move_blocks(0, load_slots, host_slots, 2, load);
            EXPECT_OK(aclrtRecordEvent(loaded, load));
            EXPECT_OK(aclrtStreamWaitEvent(compute, loaded));
            EXPECT_OK(aclrtRecordEvent(computed, compute));
        }
        if (step % 4 == 3) { /* verify every fourth step */
            EXPECT_OK(aclrtSynchronizeEvent(computed));
            for (int slot = 0; slot < BLOCKS; slot++) {
                verify_device(slot);
            }
        }
    }
    EXPECT_OK(aclrtSynchronizeDevice());
    for (int slot = 0; slot < BLOCKS; slot++) {
        verify_device(slot);
    }
    for (int slot = 0; slot < STEPS * MOVED; slot++) {
        for (int layer = 0; layer < LAYERS; layer++) {
            EXPECT_PATTERN(host_cache[layer] + slot * BLOCK, BLOCK, seed_of(layer, (uint32_t)on_host[slot]));
        }
    }
    free(staging);
    for (int layer = 0; layer < LAYERS; layer++) {
        EXPECT_VALUE(host_cache[layer] + STEPS * MOVED * BLOCK, (HOST_BLOCKS - STEPS * MOVED) * BLOCK, 0);
        EXPECT_OK(aclrtFree(device_cache[layer]));
        EXPECT_OK(aclrtFreeHost(host_cache[layer]));
    }
    EXPECT_OK(aclrtDestroyEvent(computed));
    EXPECT_OK(aclrtDestroyEvent(saved));
    EXPECT_OK(aclrtDestroyEvent(loaded));
    EXPECT_OK(aclrtDestroyStream(compute));
    EXPECT_OK(aclrtDestroyStream(save));
    EXPECT_OK(aclrtDestroyStream(load));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
