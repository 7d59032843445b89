// K-means, map and combine: k products at a time.
//
// A vector enters one element a cycle; K multipliers add its products with the same element of every
// centroid.  While the next vector enters, the K sums are compared one a cycle (ties to the lowest),
// and while the one after that enters, the vector is added to the sums of its cluster.  So a vector
// takes `beat` cycles, the larger of dimension and k, whatever k is.
//
// Latency: a vector's cluster appears 2 beats after its first element, its sums are complete after 3.
// The driver of this core keeps `step` high for whole beats, and feeds two more beats of nothing to
// empty the pipe.
`include "edge.vh"
module kmeans_map #(
    parameter K = 32,          // centroids, at most
    parameter D = 256,         // elements of a vector, at most
    parameter KW = 5,          // bits of a centroid's number
    parameter DW = 8           // bits of an element's number
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire [15:0]          dimension,
    input  wire [15:0]          k,
    input  wire                 combine,
    // Centroids, one element a cycle, before the first vector.
    input  wire                 load,
    input  wire [KW-1:0]        load_k,
    input  wire [DW-1:0]        load_d,
    input  wire signed [31:0]   x,
    // One cycle of a beat; `first` and `last` mark its ends, `valid` says that a vector enters.
    input  wire                 step,
    input  wire                 first,
    input  wire                 last,
    input  wire                 valid,
    input  wire [15:0]          at,
    // The cluster of the vector that entered two beats before.
    output reg                  out_valid,
    output reg  [KW-1:0]        out_cluster,
    // Sums, one a cycle, and zeroed as they are read.
    input  wire                 drain,
    input  wire [KW-1:0]        drain_k,
    input  wire [DW-1:0]        drain_d,
    output wire signed [63:0]   drain_sum,
    output wire [63:0]          drain_count
);
    wire element = at < dimension;
    wire candidate = at < k;

    // First stage: products; what it has computed is held for a beat, for the second.
    // Element d of all centroids is one word, so that all lanes read at one address.
    reg [K*32-1:0] centroids [0:D-1];
    always @(`EDGE clk) if (load) centroids[load_d][load_k*32 +: 32] <= x;
    reg signed [63:0] held [0:K-1];
    genvar g;
    generate
        for (g = 0; g < K; g = g + 1) begin : lane
            reg signed [63:0] acc;
            wire signed [31:0] c = centroids[at[DW-1:0]][g*32 +: 32];
            // Inside the clocked block a simulator computes the product once a cycle.
            always @(`EDGE clk) begin
                if (rst) acc <= 64'sd0;
                else if (step) begin
                    if (last) begin
                        held[g] <= element ? acc + x * c : acc;
                        acc <= 64'sd0;
                    end else if (element) acc <= acc + x * c;
                end
            end
        end
    endgenerate
    reg held_valid;

    reg signed [63:0] best;
    reg [KW-1:0] nearest;
    wire signed [63:0] challenger = held[at[KW-1:0]];
    wire better = candidate && (first || challenger > best);
    wire [KW-1:0] nearest_now = better ? at[KW-1:0] : nearest;

    // The last three vectors, by turns.
    reg [1:0] turn;
    reg signed [31:0] v0 [0:D-1];
    reg signed [31:0] v1 [0:D-1];
    reg signed [31:0] v2 [0:D-1];
    wire signed [31:0] oldest = turn == 2'd0 ? v1[at[DW-1:0]]
                              : turn == 2'd1 ? v2[at[DW-1:0]]
                                             : v0[at[DW-1:0]];

    // Third stage: the sums of the cluster.
    reg [KW-1:0] cluster;
    reg cluster_valid;
    reg signed [63:0] sums [0:K*D-1];
    reg [63:0] counts [0:K-1];
    assign drain_sum = sums[{drain_k, drain_d}];
    assign drain_count = counts[drain_k];

    always @(`EDGE clk) begin
        out_valid <= 1'b0;
        if (rst) begin
            turn <= 2'd0;
            held_valid <= 1'b0;
            cluster_valid <= 1'b0;
        end else if (step) begin
            if (element) begin
                if (turn == 2'd0) v0[at[DW-1:0]] <= x;
                if (turn == 2'd1) v1[at[DW-1:0]] <= x;
                if (turn == 2'd2) v2[at[DW-1:0]] <= x;
            end
            if (better) begin
                best <= challenger;
                nearest <= at[KW-1:0];
            end
            if (cluster_valid && element)
                sums[{cluster, at[DW-1:0]}] <= sums[{cluster, at[DW-1:0]}]
                                             + {{32{oldest[31]}}, oldest};
            if (cluster_valid && first)
                counts[cluster] <= counts[cluster] + 64'd1;
            if (last) begin
                turn <= turn == 2'd2 ? 2'd0 : turn + 2'd1;
                held_valid <= valid;
                cluster_valid <= held_valid && combine;
                cluster <= nearest_now;
                out_valid <= held_valid;
                out_cluster <= nearest_now;
            end
        end else if (drain) begin
            sums[{drain_k, drain_d}] <= 64'sd0;
            if (drain_d == {DW{1'b0}}) counts[drain_k] <= 64'd0;
        end
    end
endmodule
