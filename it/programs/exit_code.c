/* exit_code RANK CODE: every rank finishes its work, and then RANK alone returns CODE. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return argc > 2 && rank == atoi(argv[1]) ? atoi(argv[2]) : 0;
}
