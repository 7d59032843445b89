/* Prints the shared libraries that each rank has loaded, once MPI has worked. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%d: sum %d\n", rank, sum);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096], last[4096] = "";
    while (maps && fgets(line, sizeof line, maps)) {
        /* A library is mapped in several pieces, one behind the other. */
        const char *path = strchr(line, '/');
        if (path && strstr(path, ".so") && strcmp(path, last) != 0) {
            printf("%d: %s", rank, path);
            strcpy(last, path);
        }
    }
    if (maps)
        fclose(maps);
    MPI_Finalize();
    return 0;
}
