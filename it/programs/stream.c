/* stream MIB: writes MIB MiB of lines of 64 bytes to standard output, 64 KiB at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 64, BLOCK = 1 << 16 };

int main(int argc, char **argv)
{
    static char block[BLOCK];
    for (size_t at = 0; at < BLOCK; at += LINE) {
        int used = snprintf(block + at, LINE, "%zu ", at / LINE);
        memset(block + at + used, 'x', (size_t)(LINE - 1 - used));
        block[at + LINE - 1] = '\n';
    }
    long blocks = (argc > 1 ? atol(argv[1]) : 1) * (1L << 20) / BLOCK;
    while (blocks-- > 0) {
        for (size_t done = 0; done < BLOCK;) {
            ssize_t written = write(STDOUT_FILENO, block + done, BLOCK - done);
            if (written < 0) {
                perror("stream");
                return 1;
            }
            done += (size_t)written;
        }
    }
    return 0;
}
