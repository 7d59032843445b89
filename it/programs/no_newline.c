/* Each rank's output ends in the middle of a line. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("<rank %d ends here>", rank);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
