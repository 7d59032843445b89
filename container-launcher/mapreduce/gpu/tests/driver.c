/* CUDA's driver with one device, which is this process's memory. Pinned memory is counted; cuMemHostRegister refuses where
 * DRIVER_REFUSES is set. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int pinned, streams;

int cuInit(unsigned flags) { return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = 0; return ordinal == 0 ? 0 : 101; }
int cuDeviceGetPCIBusId(char *text, int length, int device) { strncpy(text, "0000:01:00.0", length); return 0; }
int cuDeviceGetName(char *name, int length, int device) { strncpy(name, "Trial", length); return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = &pinned; return 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return 0; }
int cuCtxSetCurrent(void *context) { return context == &pinned ? 0 : 201; }
int cuStreamCreate(void **stream, unsigned flags) { *stream = &streams; streams++; return flags == 1 ? 0 : 1; }
int cuStreamSynchronize(void *stream) { return stream == &streams ? 0 : 400; }
int cuStreamDestroy_v2(void *stream) { streams--; return 0; }
int cuMemAlloc_v2(uintptr_t *at, size_t bytes) { *at = (uintptr_t)malloc(bytes); return *at ? 0 : 2; }
int cuMemFree_v2(uintptr_t at) { free((void *)at); return 0; }
int cuMemsetD8Async(uintptr_t at, unsigned char byte, size_t bytes, void *stream) {
    memset((void *)at, byte, bytes);
    return stream == &streams ? 0 : 400;
}
int cuMemcpyHtoDAsync_v2(uintptr_t to, const void *from, size_t bytes, void *stream) {
    memcpy((void *)to, from, bytes);
    return stream == &streams ? 0 : 400;
}
int cuMemcpyDtoHAsync_v2(void *to, uintptr_t from, size_t bytes, void *stream) {
    memcpy(to, (void *)from, bytes);
    return stream == &streams ? 0 : 400;
}
int cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags) {
    if (getenv("DRIVER_REFUSES")) return 1;
    if (flags != 1 || (uintptr_t)address % 4096 != 0 || bytes % 4096 != 0) return 801;
    pinned++;
    return 0;
}
int cuMemHostUnregister(void *address) { pinned--; return 0; }

/* Whatever was pinned, and each stream, is given back. */
__attribute__((destructor)) static void end(void) {
    if (pinned != 0 || streams != 0) abort();
}
