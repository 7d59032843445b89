//! Guards of real Hadoop clusters, and the tests and benchmarks that run on them.
