/* Rank 0 copies its input to its output; all others wait for it. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        static char buffer[1 << 16];
        size_t count;
        while ((count = fread(buffer, 1, sizeof buffer, stdin)) > 0)
            fwrite(buffer, 1, count, stdout);
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
