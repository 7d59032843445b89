/* Five packets there and back through the C face, and one that is none. */
#include <stdio.h>
#include <string.h>

#include "gerbil_fpga.h"

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, gerbil_fpga_error());
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    gerbil_fpga *fpga = gerbil_fpga_lease(argv[1], "echo", "a C program", 0);
    if (!fpga) return fail("lease");
    for (unsigned n = 0; n < 6; n++) {
        size_t size, length;
        uint64_t sent, answered;
        uint32_t status;
        char *block = gerbil_fpga_block(fpga, 5000, &size);
        if (!block) return fail("block");
        memset(block, 'a' + (int)n, 1000);
        gerbil_fpga_layout layout = {.length = 1000, .function = 1};
        if (n == 5) layout.flags = 99;
        if (gerbil_fpga_send(fpga, &layout, &sent)) return fail("send");
        const char *result = gerbil_fpga_result(fpga, 5000, &length, &answered, &status);
        if (!result || answered != sent) return fail("result");
        if (n == 5) {
            printf("%u packets echoed; a bad one has status %u\n", n, status);
        } else if (status || length != 1000 || result[0] != 'a' + (int)n || result[999] != result[0]) {
            return fail("wrong bytes");
        }
    }
    gerbil_fpga_close(fpga);
    return 0;
}
