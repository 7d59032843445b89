//! Streaming as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    gerbil_streaming::main("--as=streaming")
}
