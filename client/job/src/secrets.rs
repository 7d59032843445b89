//! Where a job's secrets stand in a container's credentials.
//!
//! YARN hands the file to the container alone (mode 0600), keeps it out of `ps` and of the web
//! pages, and renews nothing in it that is not a Hadoop token. On clusters where every user's
//! containers run as one OS user (DefaultContainerExecutor), those users can read each other's
//! files: nothing in a container can prevent that.

/// In the AM's container: the [`crate::Description`], JSON.
pub const DESCRIPTION: &str = "gerbil.description";
/// In a launcher's container: its [`crate::LauncherContext`], JSON.
pub const CONTEXT: &str = "gerbil.context";
/// Certificate of the job's own authority, PEM. In every container.
pub const AUTHORITY: &str = "gerbil.authority";
/// Certificate and key of the process that reads these credentials, PEM.
pub const CERTIFICATE: &str = "gerbil.certificate";
/// See [`CERTIFICATE`].
pub const KEY: &str = "gerbil.key";
/// In the AM's container: certificate and key it hands to its launchers, PEM.
pub const LAUNCHER_CERTIFICATE: &str = "gerbil.launcher.certificate";
/// See [`LAUNCHER_CERTIFICATE`].
pub const LAUNCHER_KEY: &str = "gerbil.launcher.key";
/// In the AM's container: the certificate by which it knows the client, PEM.
pub const CLIENT_CERTIFICATE: &str = "gerbil.client.certificate";

/// The name in the AM's certificate, which launchers and client expect to see. Not a host name:
/// the job's authority signs for this job only, wherever YARN puts the AM.
pub const APPMASTER_NAME: &str = "appmaster.gerbil";

/// The name in the launchers' certificate, which they expect to see of each other where one fetches what
/// maps have left with another.
pub const LAUNCHER_NAME: &str = "launcher.gerbil";

/// The name in the client's certificate, which launchers expect to see where they open a lane.
pub const CLIENT_NAME: &str = "client.gerbil";
