// The clock's edge that registers change at.  A simulator takes both: a cycle is then one change of the
// clock, and one evaluation instead of two; what a cycle does, and how many there are, is the same.
`ifdef VERILATOR
`define EDGE edge
`else
`define EDGE posedge
`endif
