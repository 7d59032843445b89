/* neighbours: each rank tells with which lowest rank it shares its node, as the MPI library sees it. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, lowest;
    MPI_Comm node;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Allreduce(&rank, &lowest, 1, MPI_INT, MPI_MIN, node);
    printf("%d beside %d\n", rank, lowest);
    MPI_Comm_free(&node);
    MPI_Finalize();
    return 0;
}
