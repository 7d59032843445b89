/* linger SECONDS: writes "ready" when all ranks are up, and ends well after SECONDS. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        puts("ready");
        fflush(stdout);
    }
    sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 600);
    MPI_Finalize();
    return 0;
}
