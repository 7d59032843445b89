"""Each rank tells its neighbour where it runs: MPI from Python, with mpi4py in a virtual environment.

    python3 -m venv v && v/bin/pip install mpi4py mpich
    gerbil-run --local -n 4 v/bin/python3 ring.py
    gerbil-run -n 4 --venv v --files ring.py python3 ring.py
"""

from socket import gethostname

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
before = world.sendrecv(
    gethostname(), dest=(rank + 1) % size, source=(rank - 1) % size
)
total = world.allreduce(rank)
print(f"rank {rank} of {size}: the one before runs on {before}, the sum is {total}")
