/* A token travels once round all ranks, and each adds its number: the sum shows that every rank could
 * talk to its neighbour, across nodes too. Rank 0 checks the sum and returns 1 if it is wrong.
 *
 *     mpicc ring.c -o ring && gerbil-run -n 8 ./ring
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, token;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    int next = (rank + 1) % size;
    int previous = (rank + size - 1) % size;
    int wrong = 0;

    if (rank == 0) {
        double begin = MPI_Wtime();
        token = 0;
        if (size > 1) {
            MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        int expected = size * (size - 1) / 2;
        wrong = token != expected;
        printf("the token came back as %d, expected %d, after %.6f s and %d hops\n", token, expected,
               MPI_Wtime() - begin, size);
    } else {
        MPI_Recv(&token, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token += rank;
        MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return wrong;
}
