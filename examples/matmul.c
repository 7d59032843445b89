/* The product of two random square matrices. The rows of the first are dealt out in blocks; rank 0
 * gathers the product and checks it against a random vector (Freivalds).
 *
 *     mpicc matmul.c -o matmul -lm && gerbil-run -n 8 ./matmul [ROWS]
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Of rank's block, and where it begins. */
static int rows_of(int rank, int size, int rows, int *first)
{
    int each = rows / size, more = rows % size;
    *first = rank * each + (rank < more ? rank : more);
    return each + (rank < more);
}

static double *matrix(long cells)
{
    double *cells_of = malloc(sizeof(double) * (size_t)(cells > 0 ? cells : 1));
    if (!cells_of) {
        fprintf(stderr, "matmul: not enough memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return cells_of;
}

int main(int argc, char **argv)
{
    int rank, size, first;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rows = argc > 1 ? atoi(argv[1]) : 512;
    if (rows < 1 || rows > 16384) {
        if (rank == 0)
            fprintf(stderr, "matmul: ROWS must be from 1 to 16384\n");
        MPI_Finalize();
        return 2;
    }

    long cells = (long)rows * rows;
    double *a = NULL, *b = matrix(cells), *c = NULL;
    int *counts = malloc(sizeof(int) * (size_t)size), *places = malloc(sizeof(int) * (size_t)size);
    for (int other = 0; other < size; other++) {
        counts[other] = rows_of(other, size, rows, &first) * rows;
        places[other] = first * rows;
    }
    if (rank == 0) {
        a = matrix(cells);
        c = matrix(cells);
        srand(1);
        for (long cell = 0; cell < cells; cell++) {
            a[cell] = rand() / (double)RAND_MAX;
            b[cell] = rand() / (double)RAND_MAX;
        }
    }

    double begin = MPI_Wtime();
    int own = rows_of(rank, size, rows, &first);
    double *own_a = matrix((long)own * rows), *own_c = matrix((long)own * rows);
    MPI_Scatterv(a, counts, places, MPI_DOUBLE, own_a, own * rows, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Bcast(b, rows * rows, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < own; i++) {
        double *to = own_c + (long)i * rows;
        for (int j = 0; j < rows; j++)
            to[j] = 0.0;
        /* In this order the inner loop walks along rows. */
        for (int k = 0; k < rows; k++) {
            double factor = own_a[(long)i * rows + k];
            for (int j = 0; j < rows; j++)
                to[j] += factor * b[(long)k * rows + j];
        }
    }
    MPI_Gatherv(own_c, own * rows, MPI_DOUBLE, c, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);

    int wrong = 0;
    if (rank == 0) {
        double took = MPI_Wtime() - begin;
        double *x = matrix(rows), *bx = matrix(rows);
        for (int i = 0; i < rows; i++)
            x[i] = rand() % 2;
        for (int i = 0; i < rows; i++) {
            bx[i] = 0.0;
            for (int j = 0; j < rows; j++)
                bx[i] += b[(long)i * rows + j] * x[j];
        }
        for (int i = 0; i < rows; i++) {
            double left = 0.0, right = 0.0;
            for (int j = 0; j < rows; j++) {
                left += a[(long)i * rows + j] * bx[j];
                right += c[(long)i * rows + j] * x[j];
            }
            wrong += fabs(left - right) > 1e-9 * rows * rows;
        }
        printf("%d rows took %.6f s, %s\n", rows, took, wrong ? "and the product is WRONG" : "checked");
    }
    MPI_Finalize();
    return wrong ? 1 : 0;
}
