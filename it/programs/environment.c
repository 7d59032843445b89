/* Each rank writes, as "RANK: NAME=VALUE", its folder, the MPI library it has loaded, and the variables
 * whose names begin with one of the arguments. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
    int rank;
    char line[8192];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (getcwd(line, sizeof line) != NULL)
        printf("%d: folder=%s\n", rank, line);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        char *path = strchr(line, '/');
        if (path != NULL && strstr(path, "/libmpi") != NULL) {
            printf("%d: library=%s", rank, path);
            break;
        }
    }
    for (char **variable = environ; *variable != NULL; variable++)
        for (int prefix = 1; prefix < argc; prefix++)
            if (strncmp(*variable, argv[prefix], strlen(argv[prefix])) == 0)
                printf("%d: %s\n", rank, *variable);
    fprintf(stderr, "%d: this goes to stderr\n", rank);
    MPI_Finalize();
    return 0;
}
