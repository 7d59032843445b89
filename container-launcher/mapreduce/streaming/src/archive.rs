//! Archives that a job on this machine brings along, unpacked as a NodeManager unpacks them: by its own commands.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use gerbil_mapreduce::{Error, ErrorContext as _, Result};

/// Kinds of archives, which their names tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packed {
    Tar,
    Zip,
}

impl Packed {
    /// What a file of this name is; none: it stays as it is.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let ends = |all: &[&str]| all.iter().any(|end| name.ends_with(end));
        match () {
            () if ends(&[".tar", ".tar.gz", ".tgz"]) => Some(Self::Tar),
            () if ends(&[".zip", ".jar"]) => Some(Self::Zip),
            () => None,
        }
    }

    /// Unpacks `archive` into the new `folder`.
    ///
    /// # Errors
    /// No command for it is on this machine, or it is no such archive.
    pub(crate) fn unpack(self, archive: &Path, folder: &Path) -> Result<()> {
        fs::create_dir(folder).context(|| format!("the folder {}", folder.display()))?;
        let commands: &[&[&str]] = match self {
            Self::Tar => &[&["tar", "-xf", "@", "-C", "."]],
            Self::Zip => &[
                &["unzip", "-q", "@"],
                &["python3", "-m", "zipfile", "-e", "@", "."],
            ],
        };
        let mut tried = Vec::new();
        for command in commands {
            let Some((program, words)) = command.split_first() else {
                continue;
            };
            let mut child = Command::new(program);
            for word in words {
                match *word {
                    "@" => child.arg(archive),
                    word => child.arg(word),
                };
            }
            let done = child.current_dir(folder).stdin(Stdio::null()).output();
            let done = match done {
                Ok(done) => done,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    tried.push(*program);
                    continue;
                }
                Err(error) => return Err(error).context(|| (*program).to_owned()),
            };
            if done.status.success() {
                return Ok(());
            }
            let said = String::from_utf8_lossy(&done.stderr);
            return Err(Error::new(format!(
                "{} is not unpacked: {program} {}: {}",
                archive.display(),
                done.status,
                gerbil_task::said::cut(said.trim(), 300)
            )));
        }
        Err(Error::new(format!(
            "{} is not unpacked: {} is not on this machine",
            archive.display(),
            tried.join(" or ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::Packed;

    #[test]
    fn names_tell_archives_apart() {
        for (name, wanted) in [
            ("a/dict.tar.gz", Some(Packed::Tar)),
            ("DICT.TGZ", Some(Packed::Tar)),
            ("x.tar", Some(Packed::Tar)),
            ("x.zip", Some(Packed::Zip)),
            ("x.jar", Some(Packed::Zip)),
            ("x.gz", None),
            ("tar", None),
        ] {
            assert_eq!(Packed::of(name), wanted, "{name}");
        }
    }
}
