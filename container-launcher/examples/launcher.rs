//! The launcher's roles in a binary of their own, for the tests of this crate: users get them
//! inside `gerbil-run`.

use std::process::ExitCode;

use job::Role;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let role = args.next().unwrap_or_default();
    match Role::from_argument(&role.to_string_lossy()) {
        Some(Role::ContainerLauncher) => container_launcher::main(),
        Some(Role::Warden) => container_launcher::warden_main(args),
        Some(Role::Topology) => container_launcher::topology_main(args),
        Some(Role::Pmix) => container_launcher::pmix_main(),
        Some(Role::Probe) => container_launcher::probe_main(args),
        Some(Role::Appmaster | Role::LocalCluster | Role::Streaming) | None => {
            ExitCode::from(job::exit::Exit::Usage.code())
        }
    }
}
