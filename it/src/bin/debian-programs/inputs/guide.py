import meep as mp
cell = mp.Vector3(8, 4, 0)
g = [mp.Block(mp.Vector3(mp.inf, 1, mp.inf), center=mp.Vector3(), material=mp.Medium(epsilon=12))]
s = [mp.Source(mp.ContinuousSource(frequency=0.15), component=mp.Ez, center=mp.Vector3(-3, 0))]
sim = mp.Simulation(cell_size=cell, boundary_layers=[mp.PML(1.0)], geometry=g, sources=s, resolution=10)
sim.run(until=50)
v = sim.get_field_point(mp.Ez, mp.Vector3(2, 0))
if mp.am_master():
    print("Ez", "%.10f %.10f" % (v.real, v.imag), mp.count_processors())
