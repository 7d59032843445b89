//! `gerbil session key` and `import`: a session is used from another host.

use std::path::Path;

use ::job::exit::Exit;
use session::{Name, SessionsFolder};
use terminal::{Text, print, say};

use crate::failure::Failure;
use crate::usage::UsageError;

/// Prints a session's key, or writes it into a file; the exit code.
pub(super) async fn show(
    folder: &SessionsFolder,
    name: Name,
    output: Option<&Path>,
) -> Result<u8, Failure> {
    let kept = folder.find_session(&name)?;
    if kept.owned.local.is_some() {
        return Err(UsageError::LocalSession { name }.into());
    }
    match output {
        None => print(Text::of(&kept.key())).await?,
        Some(path) => kept.write_key(path)?,
    }
    say(format!(
        "whoever has this key can run programs as {} in session {name}, for as long as it lasts: send it as a \
         password, and on the other host: gerbil session import FILE",
        kept.owned.user
    ));
    Ok(Exit::Success.code())
}

/// Keeps a session by its key; the exit code.
pub(super) fn import(
    folder: &SessionsFolder,
    from: &Path,
    name: Option<Name>,
) -> Result<u8, Failure> {
    let kept = folder.import(from, name)?;
    say(format!(
        "session {0} ({1}) can be used from here: gerbil-run --session {0} PROGRAM",
        kept.name, kept.owned.application
    ));
    Ok(Exit::Success.code())
}
