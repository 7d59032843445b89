//! Hadoop's token and secret files (HDTS): a pure codec.
