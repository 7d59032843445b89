// K-means, reduce: adds up partial sums, one number a cycle.
//
// A partial sum is its cluster's number, then a count and `dimension` sums; the number comes beside
// each of them.
`include "edge.vh"
module kmeans_reduce #(
    parameter KW = 5,          // bits of a cluster's number
    parameter DW = 9           // bits of a place in a row: a count and the sums
) (
    input  wire               clk,
    input  wire               valid,
    input  wire [KW-1:0]      cluster,
    input  wire [DW-1:0]      at,
    input  wire signed [63:0] x,
    // Sums, one a cycle, and zeroed as they are read.
    input  wire               drain,
    output wire signed [63:0] sum
);
    reg signed [63:0] sums [0:(1 << (KW + DW))-1];
    assign sum = sums[{cluster, at}];
    always @(`EDGE clk) begin
        if (valid) sums[{cluster, at}] <= sum + x;
        else if (drain) sums[{cluster, at}] <= 64'sd0;
    end
endmodule
