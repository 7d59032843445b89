//! Compiles the wire schema, and derives from it the build id by which the processes of a job
//! know that they are one build.

use std::collections::hash_map::DefaultHasher;
use std::error::Error;
use std::hash::{Hash, Hasher};

fn main() -> Result<(), Box<dyn Error>> {
    let schema = std::fs::read("proto/gerbil.proto")?;
    let mut hasher = DefaultHasher::new();
    schema.hash(&mut hasher);
    println!("cargo::rerun-if-changed=proto");
    println!("cargo::rustc-env=GERBIL_WIRE={:016x}", hasher.finish());
    let descriptors = protox::compile(["gerbil.proto"], ["proto"])?;
    tonic_prost_build::configure()
        .codec_path("crate::codec::Frugal")
        // What one barrier brings is shared by all launchers' orders; what the ranks print is handed on.
        .bytes(".gerbil.FenceDone.puts")
        .bytes(".gerbil.OutputChunk.data")
        .bytes(".gerbil.InputChunk.data")
        .bytes(".gerbil.PmixAnswer.data")
        .bytes(".gerbil.PmixFence.data")
        .bytes(".gerbil.PmixModexed.data")
        .bytes(".gerbil.ModexAnswer.data")
        .compile_fds(descriptors)?;
    Ok(())
}
