from mpi4py import MPI
import h5py
c = MPI.COMM_WORLD
f = h5py.File("x.h5", 'w', driver='mpio', comm=c)
d = f.create_dataset('x', (c.size,), dtype='i')
d[c.rank] = c.rank * 7
f.close()
c.Barrier()
if c.rank == 0:
    print(list(h5py.File("x.h5")['x']), MPI.Get_library_version().split(',')[0])
