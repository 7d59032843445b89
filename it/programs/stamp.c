/* stamp FOLDER: each process notes the moment it began, in seconds since 1970, in a file of its own in
 * FOLDER. No MPI: what is measured is the start of processes. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct timespec now;
    char path[4096];
    if (argc < 2 || clock_gettime(CLOCK_REALTIME, &now) != 0)
        return 1;
    snprintf(path, sizeof path, "%s/%ld", argv[1], (long)getpid());
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    fprintf(file, "%lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
    return fclose(file) == 0 ? 0 : 1;
}
