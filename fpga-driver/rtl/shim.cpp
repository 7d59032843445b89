// What feeds the simulated cores: the data mover of a card, in C++ for speed.  Counts every cycle.
#include <cstdint>
#include <cstring>
#include "Vkmeans_map.h"
#include "Vkmeans_reduce.h"
#include "Vbayes_map.h"
#include "verilated.h"

double sc_time_stamp() { return 0; }

namespace {
template <class Core> uint64_t tick(Core *core) {
    core->clk = !core->clk; // edge.vh
    core->eval();
    return 1;
}
uint32_t word(const uint8_t *at) {
    uint32_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
}
uint64_t longword(const uint8_t *at) {
    uint64_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
}
} // namespace

extern "C" {

struct Cores {
    VerilatedContext *context;
    Vkmeans_map *map;
    Vkmeans_reduce *reduce;
    Vbayes_map *bayes;
};

Cores *cores_new() {
    auto *context = new VerilatedContext;
    auto *cores = new Cores{context, new Vkmeans_map(context), new Vkmeans_reduce(context),
                            new Vbayes_map(context)};
    // The first evaluation takes the clock as it is: no edge is seen in it.
    cores->map->eval();
    cores->reduce->eval();
    cores->bayes->eval();
    cores->map->rst = 1;
    tick(cores->map);
    cores->map->rst = 0;
    return cores;
}

void cores_delete(Cores *cores) {
    cores->map->final();
    cores->reduce->final();
    cores->bayes->final();
    delete cores->map;
    delete cores->reduce;
    delete cores->bayes;
    delete cores->context;
    delete cores;
}

// Vectors lie `stride` bytes apart.  `clusters`, n of them, or `sums`, k × (count, d sums), are written,
// whichever is not null.  Gives the cycles.
uint64_t cores_kmeans_map(Cores *cores, uint32_t k, uint32_t d, const uint8_t *centroids,
                          const uint8_t *vectors, uint64_t stride, uint64_t n, uint32_t *clusters,
                          uint64_t *sums) {
    auto *core = cores->map;
    uint64_t cycles = 0;
    core->dimension = d;
    core->k = k;
    core->combine = sums != nullptr;
    core->load = 1;
    for (uint32_t i = 0; i < k; i++)
        for (uint32_t j = 0; j < d; j++) {
            core->load_k = i;
            core->load_d = j;
            core->x = word(centroids + 4 * (uint64_t(i) * d + j));
            cycles += tick(core);
        }
    core->load = 0;
    uint32_t beat = d > k ? d : k;
    core->step = 1;
    uint64_t out = 0;
    for (uint64_t i = 0; i < n + 2; i++) {
        core->valid = i < n;
        const uint8_t *vector = vectors + i * stride;
        for (uint32_t at = 0; at < beat; at++) {
            core->at = at;
            core->first = at == 0;
            core->last = at + 1 == beat;
            core->x = i < n && at < d ? word(vector + 4 * uint64_t(at)) : 0;
            cycles += tick(core);
        }
        if (core->out_valid) {
            if (clusters && out < n) clusters[out] = core->out_cluster;
            out++;
        }
    }
    core->step = 0;
    core->valid = 0;
    if (!sums) return cycles;
    core->drain = 1;
    for (uint32_t i = 0; i < k; i++)
        for (uint32_t j = 0; j < d; j++) {
            core->drain_k = i;
            core->drain_d = j;
            core->eval();
            if (j == 0) sums[uint64_t(i) * (d + 1)] = core->drain_count;
            sums[uint64_t(i) * (d + 1) + 1 + j] = core->drain_sum;
            cycles += tick(core);
        }
    core->drain = 0;
    // A count leaves in a cycle of its own.
    return cycles + k;
}

// `pairs` lie `stride` bytes apart: key (of `key` bytes), count, d sums.  Gives the cycles, or 0 where a
// cluster does not exist.
uint64_t cores_kmeans_reduce(Cores *cores, uint32_t k, uint32_t d, const uint8_t *pairs, uint32_t key,
                             uint64_t stride, uint64_t n, uint64_t *sums) {
    auto *core = cores->reduce;
    uint64_t cycles = 0;
    bool good = true;
    core->valid = 1;
    core->drain = 0;
    for (uint64_t i = 0; i < n && good; i++) {
        const uint8_t *pair = pairs + i * stride;
        uint64_t cluster = key == 8 ? longword(pair) : word(pair);
        good = cluster < k;
        core->cluster = cluster;
        for (uint32_t at = 0; at <= d && good; at++) {
            core->at = at;
            core->x = longword(pair + key + 8 * uint64_t(at));
            cycles += tick(core);
        }
    }
    core->valid = 0;
    core->drain = 1;
    for (uint32_t i = 0; i < k; i++)
        for (uint32_t at = 0; at <= d; at++) {
            core->cluster = i;
            core->at = at;
            core->eval();
            sums[uint64_t(i) * (d + 1) + at] = core->sum;
            cycles += tick(core);
        }
    core->drain = 0;
    return good ? cycles : 0;
}

// `logs` has (terms + 1) × classes words.  Gives the cycles.
uint64_t cores_bayes_load(Cores *cores, uint32_t classes, uint32_t rows, const uint8_t *logs) {
    auto *core = cores->bayes;
    uint64_t cycles = 0;
    core->classes = classes;
    core->start = core->term = core->compare = 0;
    core->load = 1;
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t c = 0; c < classes; c++) {
            core->row = row;
            core->load_class = c;
            core->x = word(logs + 4 * (uint64_t(row) * classes + c));
            cycles += tick(core);
        }
    core->load = 0;
    return cycles;
}

// The class of one document, whose terms the caller has checked.  Adds to the cycles.
uint32_t cores_bayes_map(Cores *cores, uint32_t classes, const uint8_t *terms, uint64_t n,
                         uint64_t *cycles) {
    auto *core = cores->bayes;
    core->row = 0;
    core->start = 1;
    *cycles += tick(core);
    core->start = 0;
    core->term = 1;
    for (uint64_t i = 0; i < n; i++) {
        core->row = word(terms + 4 * i) + 1;
        *cycles += tick(core);
    }
    core->term = 0;
    core->compare = 1;
    for (uint32_t c = 0; c < classes; c++) {
        core->at = c;
        *cycles += tick(core);
    }
    core->compare = 0;
    return core->likeliest;
}
}
