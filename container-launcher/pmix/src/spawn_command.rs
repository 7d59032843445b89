//! What a client wants to be started: `PMIx_Spawn`.

use std::ffi::{CStr, c_char};

use crate::abi::{App, Info};
use crate::logged::{key, text_of};
use crate::names::list;

/// Processes of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpawnCommand {
    /// How many.
    pub processes: u32,
    /// Its name or path.
    pub program: String,
    /// What it is called with, its name excepted.
    pub arguments: Vec<String>,
    /// Variables beside those that it has anyway.
    pub environment: Vec<(String, String)>,
    /// Where it starts; none: the client has not said.
    pub folder: Option<String>,
    /// Hosts on which it may run, with commas between them; none: anywhere.
    pub hosts: Option<String>,
}

/// What the library points to.
///
/// # Safety
///
/// Each of its pointers is null, or to what the standard has there.
#[expect(unsafe_code, reason = "a structure of the library's")]
pub(crate) unsafe fn of(app: &App) -> SpawnCommand {
    // SAFETY: the caller's.
    let (arguments, environment, infos) = unsafe {
        let infos: &[Info] = match app.infos.is_null() {
            true => &[],
            false => std::slice::from_raw_parts(app.infos, app.info_count),
        };
        (list(app.arguments), list(app.environment), infos)
    };
    let named = |name: &[u8]| {
        let mut named = infos.iter().filter(|info| key(info) == name);
        let text = named.next().and_then(text_of)?;
        Some(String::from_utf8_lossy(text).into_owned())
    };
    // SAFETY: the caller's.
    let (program, folder) = unsafe { (text(app.program), text(app.folder)) };
    SpawnCommand {
        processes: u32::try_from(app.processes).unwrap_or_default(),
        program: program.unwrap_or_default(),
        // The first is its name.
        arguments: arguments.into_iter().skip(1).collect(),
        environment: environment
            .into_iter()
            .filter_map(|pair| {
                let (name, value) = pair.split_once('=')?;
                Some((name.to_owned(), value.to_owned()))
            })
            .collect(),
        folder: named(b"pmix.wdir").or(folder),
        hosts: named(b"pmix.host").or_else(|| named(b"pmix.addhost")),
    }
}

/// # Safety
///
/// It is null, or a string that ends with a null.
#[expect(unsafe_code, reason = "a string of the library's")]
unsafe fn text(string: *const c_char) -> Option<String> {
    if string.is_null() {
        return None;
    }
    // SAFETY: the caller's.
    let text = unsafe { CStr::from_ptr(string) };
    Some(text.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::ptr::{null, null_mut};

    use super::*;
    use crate::attribute::Attribute;
    use crate::information::Information;

    #[test]
    #[expect(unsafe_code, reason = "what the library would give")]
    fn a_program_is_read_with_all_that_it_is_started_with() {
        let mut arguments = [
            c"./child".as_ptr().cast_mut(),
            c"one".as_ptr().cast_mut(),
            null_mut(),
        ];
        let mut environment = [
            c"OMPI_PARENT_PORT=a=b".as_ptr().cast_mut(),
            c"nothing".as_ptr().cast_mut(),
            null_mut(),
        ];
        let infos = Information::new(&[Attribute::text("pmix.host", "n1,n2")]).unwrap();
        let whole = App {
            program: c"./child".as_ptr(),
            arguments: arguments.as_mut_ptr(),
            environment: environment.as_mut_ptr(),
            folder: c"/tmp".as_ptr(),
            processes: 3,
            infos: infos.infos().as_ptr(),
            info_count: infos.len(),
        };
        let nothing = App {
            program: null(),
            arguments: null_mut(),
            environment: null_mut(),
            folder: null(),
            processes: -1,
            infos: null(),
            info_count: 0,
        };
        // SAFETY: all that they point to is above.
        let (whole, nothing) = unsafe { (of(&whole), of(&nothing)) };
        let expected = SpawnCommand {
            processes: 3,
            program: "./child".to_owned(),
            arguments: vec!["one".to_owned()],
            environment: vec![("OMPI_PARENT_PORT".to_owned(), "a=b".to_owned())],
            folder: Some("/tmp".to_owned()),
            hosts: Some("n1,n2".to_owned()),
        };
        assert_eq!((whole, nothing), (expected, SpawnCommand::default()));
    }
}
