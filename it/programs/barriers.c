/* barriers COUNT: rank 0 writes the mean time of a barrier in microseconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int count = argc > 1 ? atoi(argv[1]) : 1000;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int turn = 0; turn < count; turn++)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: %.1f us a barrier\n", size, (MPI_Wtime() - begin) * 1e6 / count);
    MPI_Finalize();
    return 0;
}
