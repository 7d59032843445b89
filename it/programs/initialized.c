/* initialized FOLDER: each rank notes the moments it was past MPI_Init and had begun, in seconds since 1970, in a
 * file of its own in FOLDER. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char **argv)
{
    struct timespec begun, now;
    char path[4096];
    int rank;
    clock_gettime(CLOCK_REALTIME, &begun);
    MPI_Init(&argc, &argv);
    if (argc < 2 || clock_gettime(CLOCK_REALTIME, &now) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/%d", argv[1], rank);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    fprintf(file, "%lld.%09ld ", (long long)now.tv_sec, now.tv_nsec);
    fprintf(file, "%lld.%09ld\n", (long long)begun.tv_sec, begun.tv_nsec);
    if (fclose(file) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    return 0;
}
