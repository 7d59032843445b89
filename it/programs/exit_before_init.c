/* exit_before_init RANK CODE: RANK returns CODE without ever calling MPI_Init, in which all others wait
 * for it. The process manager names the rank in PMI_RANK before MPI is up. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const char *rank = getenv("PMI_RANK");
    if (rank == NULL) {
        fprintf(stderr, "PMI_RANK is not set\n");
        return 99;
    }
    if (argc > 2 && atoi(rank) == atoi(argv[1]))
        return atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
