/* Each rank leaves a process behind that has a session of its own, no parent and no open file, and
 * would live for an hour. The ranks themselves end well. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    pid_t child = fork();
    if (child < 0) {
        perror("escape");
        return 1;
    }
    if (child == 0) {
        setsid();
        if (fork() == 0) {
            for (int file = 0; file < 256; file++)
                close(file);
            if (chdir("/") == 0)
                sleep(3600);
        }
        _exit(0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
