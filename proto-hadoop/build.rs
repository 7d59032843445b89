//! Compiles `proto/*.proto` with protox, so that no protoc is needed on the machine.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let roots = [
        "rpc.proto",
        "master.proto",
        "container.proto",
        "token.proto",
        "tracker.proto",
        "namenode.proto",
    ];
    let descriptors = protox::compile(roots, ["proto"])?;
    prost_build::Config::new()
        .bytes(["."])
        .compile_fds(descriptors)?;
    Ok(())
}
