/* leave_early RANK CODE [finalize]: RANK ends with _exit(CODE) between MPI_Init and MPI_Finalize; the others wait for
   it in a barrier, or in MPI_Finalize. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 2 && rank == atoi(argv[1]))
        _exit(atoi(argv[2]));
    if (argc <= 3)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
