//! PMI-1 wire text, key-value space, barriers and process mapping; no sockets.
