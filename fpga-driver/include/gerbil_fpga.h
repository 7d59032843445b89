/* A lease on an accelerator, its packets and results: the C face of the fpga-driver client.
 *
 * Link with libfpga_driver.a.  Functions return 0, or -1 with a sentence in gerbil_fpga_error().
 * A handle is used by one thread at a time.
 */
#ifndef GERBIL_FPGA_H
#define GERBIL_FPGA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gerbil_fpga gerbil_fpga;

/* What the header says of a packet's data (fpga-driver/src/packet.rs draws it). */
typedef struct {
    uint64_t length; /* bytes of the block that are data */
    uint64_t model;
    uint32_t centroids, centroid_offset, pairs, pair_offset;
    uint16_t function, dimension, flags;
    uint8_t bytes_per_dimension, centroid_type, key_type, value_type;
} gerbil_fpga_layout;

/* The last failure of this thread; never null. */
const char *gerbil_fpga_error(void);

/* A lease for `function` ("kmeans-map") at `socket`, or at the usual place where it is null.
 * Waits in line for wait_ms where none is free; 0: does not. */
gerbil_fpga *gerbil_fpga_lease(const char *socket, const char *function, const char *holder,
                               uint32_t wait_ms);
/* Takes over a lease whose connected socket was inherited; the descriptor is the handle's from then on. */
gerbil_fpga *gerbil_fpga_inherit(int socket);
void gerbil_fpga_close(gerbil_fpga *);

/* The next block to fill in place, of *size bytes; null when none came free in time. */
void *gerbil_fpga_block(gerbil_fpga *, uint32_t timeout_ms, size_t *size);
/* Queues what the block holds; its number is in *sequence. */
int gerbil_fpga_send(gerbil_fpga *, const gerbil_fpga_layout *, uint64_t *sequence);

/* The next result, in place until the next call for one; null when none came in time.  *status is 0
 * for a result, else 1 bad packet, 2 bad data, 3 model not loaded, 4 lost, 5 too
 * much work for one packet; gerbil_fpga_error() says it in a sentence. */
const void *gerbil_fpga_result(gerbil_fpga *, uint32_t timeout_ms, size_t *length, uint64_t *sequence,
                               uint32_t *status);

#ifdef __cplusplus
}
#endif
#endif
