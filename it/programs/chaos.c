/* chaos GATE [write | print]: each rank leaves a process behind that has a session of its own, no parent and
 * no open file, and would live for an hour. Rank 0 writes "ready" when all are up, and tells the others
 * again and again whether the file GATE is there; then all end well. With "write", the last rank writes
 * into its working directory meanwhile, and ends with 28 when it cannot. With "print", rank 0 prints some
 * megabytes a second. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void leave_a_process_behind(void)
{
    if (fork() != 0)
        return;
    setsid();
    if (fork() == 0) {
        for (int file = 0; file < 256; file++)
            close(file);
        if (chdir("/") == 0)
            sleep(3600);
    }
    _exit(0);
}

/* All hear what rank 0 has; whoever waits leaves its core to others. */
static void agree(int *over)
{
    MPI_Request request;
    int done = 0;

    MPI_Ibcast(over, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done)
            usleep(10 * 1000);
    }
}

static void print(const char *block, size_t length)
{
    for (int times = 0; times < 12; times++)
        fwrite(block, 1, length, stdout);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static char block[64 * 1024];
    int rank, size, prints, over = 0;
    FILE *file = NULL;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    leave_a_process_behind();
    if (argc > 2 && strcmp(argv[2], "write") == 0 && rank == size - 1)
        file = fopen("data", "w");
    prints = argc > 2 && strcmp(argv[2], "print") == 0 && rank == 0;
    for (size_t place = 0; prints && place < sizeof block; place++)
        block[place] = place % 64 == 63 ? '\n' : '.';
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        puts("ready");
        fflush(stdout);
    }
    while (!over) {
        usleep(50 * 1000);
        if (file != NULL
            && (fwrite(block, 1, sizeof block, file) < sizeof block || fflush(file) != 0)) {
            int why = errno;
            perror("chaos: data");
            _exit(why);
        }
        if (prints)
            print(block, sizeof block);
        if (rank == 0)
            over = access(argv[1], F_OK) == 0;
        agree(&over);
    }
    MPI_Finalize();
    return 0;
}
