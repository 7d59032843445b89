/* Each rank writes, as "RANK: APPNUM ARGUMENT", the number of its program among those of the job. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, found, *appnum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &found);
    printf("%d: %d %s\n", rank, found ? *appnum : -1, argc > 1 ? argv[1] : "");
    MPI_Finalize();
    return 0;
}
