/* Hexadecimal digits of pi from any place on, without those before it (Bailey, Borwein and Plouffe).
 * Four digits are a piece of work, dealt out to the ranks in turn, as in Hadoop's example `bbp`.
 *
 *     mpicc pi_bbp.c -o pi_bbp -lm && gerbil-run -n 8 ./pi_bbp [FIRST [DIGITS]]
 *
 * The first digit behind the point has place 1.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define PIECE 4

/* 16 to the `power`, modulo `modulus`, which is below 2^31. */
static long power_mod(long power, long modulus)
{
    long result = 1 % modulus, base = 16 % modulus;
    for (; power > 0; power >>= 1) {
        if (power & 1)
            result = result * base % modulus;
        base = base * base % modulus;
    }
    return result;
}

/* The fraction of the sum of 16^(skipped - k) / (8 k + j) over all k. */
static double series(long skipped, int j)
{
    double sum = 0.0, weight = 1.0;
    for (long k = 0; k < skipped; k++) {
        long modulus = 8 * k + j;
        sum += (double)power_mod(skipped - k, modulus) / (double)modulus;
        sum -= floor(sum);
    }
    for (long k = skipped; weight > 1e-17; k++, weight /= 16.0)
        sum += weight / (double)(8 * k + j);
    return sum - floor(sum);
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long first = argc > 1 ? atol(argv[1]) : 1, digits = argc > 2 ? atol(argv[2]) : 64;
    if (first < 1 || first > 200000000 || digits < 1 || digits > 1000000) {
        if (rank == 0)
            fprintf(stderr, "pi_bbp: FIRST is from 1 to 200000000, DIGITS from 1 to 1000000\n");
        MPI_Finalize();
        return 2;
    }

    double begin = MPI_Wtime();
    int pieces = (int)((digits + PIECE - 1) / PIECE);
    unsigned *own = calloc((size_t)pieces, sizeof *own), *all = calloc((size_t)pieces, sizeof *all);
    if (!own || !all) {
        fprintf(stderr, "pi_bbp: not enough memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int piece = rank; piece < pieces; piece += size) {
        long skipped = first - 1 + (long)piece * PIECE;
        double part = 4.0 * series(skipped, 1) - 2.0 * series(skipped, 4) - series(skipped, 5)
                      - series(skipped, 6);
        part -= floor(part);
        own[piece] = (unsigned)(part * 65536.0);
    }
    MPI_Reduce(own, all, pieces, MPI_UNSIGNED, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("pi from hexadecimal digit %ld on: ", first);
        for (long digit = 0; digit < digits; digit++)
            printf("%X", all[digit / PIECE] >> (4 * (PIECE - 1 - digit % PIECE)) & 15);
        printf("\n%ld digits took %.6f s\n", digits, MPI_Wtime() - begin);
    }
    MPI_Finalize();
    return 0;
}
