/* flood MIB: each rank writes lines of 64 bytes, "RANK NUMBER xxx...", MIB MiB of them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long lines = (argc > 1 ? atol(argv[1]) : 1) * (1L << 20) / LINE;
    for (long number = 0; number < lines; number++) {
        char line[LINE + 1];
        int used = snprintf(line, sizeof line, "%d %ld ", rank, number);
        memset(line + used, 'x', (size_t)(LINE - 1 - used));
        line[LINE - 1] = '\n';
        if (fwrite(line, 1, LINE, stdout) != LINE) {
            perror("flood");
            return 1;
        }
    }
    if (fflush(stdout) != 0) {
        perror("flood");
        return 1;
    }
    MPI_Finalize();
    return 0;
}
