// Naive Bayes: one term a cycle, C classes at a time; then C cycles for the likeliest (ties to the
// lowest).  The table lies in C memories, one a class; row 0 is the classes' own probability.
`include "edge.vh"
module bayes_map #(
    parameter C = 16,          // classes, at most
    parameter T = 16384,       // rows of the table, at most
    parameter CW = 4,
    parameter TW = 14
) (
    input  wire               clk,
    input  wire [15:0]        classes,
    input  wire               load,
    input  wire [CW-1:0]      load_class,
    input  wire signed [31:0] x,
    input  wire [TW-1:0]      row,
    // A document: `start` with row 0, `term` with each row, `compare` once for each class.
    input  wire               start,
    input  wire               term,
    input  wire               compare,
    input  wire [CW-1:0]      at,
    output reg  [CW-1:0]      likeliest
);
    reg signed [63:0] score [0:C-1];
    genvar g;
    generate
        for (g = 0; g < C; g = g + 1) begin : lane
            reg signed [31:0] logs [0:T-1];
            wire signed [31:0] found = logs[row];
            always @(`EDGE clk) begin
                if (load && load_class == g) logs[row] <= x;
                if (start) score[g] <= {{32{found[31]}}, found};
                else if (term) score[g] <= score[g] + {{32{found[31]}}, found};
            end
        end
    endgenerate

    reg signed [63:0] best;
    wire [15:0] number = {{(16-CW){1'b0}}, at};
    wire better = number < classes && (at == {CW{1'b0}} || score[at] > best);
    always @(`EDGE clk) begin
        if (compare && better) begin
            best <= score[at];
            likeliest <= at;
        end
    end
endmodule
