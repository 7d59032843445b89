/* segv RANK: RANK writes where nothing is, while all others wait for it in a barrier. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && rank == atoi(argv[1])) {
        volatile int *nowhere = 0;
        *nowhere = rank;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
