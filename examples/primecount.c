/* How many primes there are below a number, by trial division. Candidates are dealt out to the ranks
 * in turn, so that all have large and small ones.
 *
 *     mpicc primecount.c -o primecount && gerbil-run -n 8 ./primecount [BELOW]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int is_prime(long number)
{
    if (number < 4)
        return number > 1;
    if (number % 2 == 0)
        return 0;
    for (long divisor = 3; divisor * divisor <= number; divisor += 2)
        if (number % divisor == 0)
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long below = argc > 1 ? atol(argv[1]) : 1000000;
    double begin = MPI_Wtime();
    long count = below > 2 && rank == 0, all;
    for (long number = 3 + 2L * rank; number < below; number += 2L * size)
        count += is_prime(number);
    MPI_Reduce(&count, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld primes below %ld, counted in %.6f s\n", all, below, MPI_Wtime() - begin);
    MPI_Finalize();
    return 0;
}
