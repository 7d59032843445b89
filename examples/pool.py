"""A pool of workers that are spawned while the program runs: mpi4py.futures.

    gerbil-run --local v/bin/python3 pool.py
"""

from os import getcwd

from mpi4py.futures import MPIPoolExecutor


def square(number):
    return number * number, getcwd()


if __name__ == "__main__":
    with MPIPoolExecutor(max_workers=3) as pool:
        answers = list(pool.map(square, range(10)))
    folders = {folder for _, folder in answers}
    print([number for number, _ in answers], "in the same folder:", folders == {getcwd()})
