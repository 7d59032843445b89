//! Inside one container: start ranks, serve PMI, forward output and signals, report each end.
