//! Names in a container's working directory.

use job::role::BINARY_LINK;

use super::LIBRARY_LINK;

/// Names that YARN itself makes there.
const YARN: [&str; 6] = [
    "container_tokens",
    "default_container_executor.sh",
    "default_container_executor_session.sh",
    "job.jar",
    "launch_container.sh",
    "tmp",
];
/// Longest name; file systems take 255 bytes.
const LENGTH_MAX: usize = 200;

/// Why a file that is brought along cannot have a name in a container; `None`: it can.
///
/// NodeManagers make the links by a shell script in which names stand between double quotes, and take each for a path of
/// Hadoop's, where a colon ends a scheme.
#[must_use]
pub fn refusal(name: &str) -> Option<&'static str> {
    let odd = |letter: char| matches!(letter, '"' | '$' | '`' | '\\' | ':' | '/');
    Some(match name {
        "" | "." | ".." => "it is no name",
        "*" => "YARN takes it for all files of a folder",
        _ if name.len() > LENGTH_MAX => "it has more than 200 bytes",
        _ if name.starts_with('-') => "it begins with a dash, as an option does",
        _ if name.contains(odd) => "YARN cannot make a link with \" $ ` \\ : or / in it",
        _ if name.contains(char::is_control) => {
            "YARN cannot make a link with a line's end or a tab in it"
        }
        BINARY_LINK | LIBRARY_LINK => "gerbil has a file of that name there itself",
        _ if YARN.contains(&name) || name.starts_with(".gerbil") || is_checksum(name) => {
            "YARN or gerbil has a file of that name there itself"
        }
        _ => return None,
    })
}

/// Hadoop writes one beside each of the files that it makes.
fn is_checksum(name: &str) -> bool {
    let of = name
        .strip_prefix('.')
        .and_then(|rest| rest.strip_suffix(".crc"));
    of.is_some_and(|of| YARN.contains(&of))
}

/// The program's link: its file name, which programs show in their messages. Another where that name
/// is taken, or where it would not survive the shell script that makes the links.
#[must_use]
pub fn program_link(file_name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    let fits = file_name.len() <= LENGTH_MAX
        && file_name.bytes().all(plain)
        && file_name
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_alphanumeric());
    if !fits {
        return "program".into();
    }
    if file_name == BINARY_LINK || file_name == LIBRARY_LINK || YARN.contains(&file_name) {
        return format!("program-{file_name}");
    }
    file_name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_a_link_can_have_is_taken() {
        for name in [
            "a b", "é", "日本", "q'u", "b{r", "st*r", "am&p", "se;m", "br[a", "qu?s", "pc%t",
            ".hid", "s,t.txt", "ha#sh", "e+f.txt", "a!b", "(x)", "~", "<>|",
        ] {
            assert_eq!(refusal(name), None, "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            "*",
            "-n",
            "d$x",
            "co:lon",
            "b`q",
            "back\\s",
            "q\"q",
            "a/b",
            "a\nb",
            "tmp",
            "gerbil-run",
            "gerbil-lib",
            ".gerbil-yield.so",
            ".launch_container.sh.crc",
            &"x".repeat(201),
        ] {
            assert!(refusal(name).is_some(), "{name:?}");
        }
    }

    #[test]
    fn a_name_is_kept_unless_it_is_taken_or_unsafe() {
        assert_eq!(program_link("cpi"), "cpi");
        assert_eq!(program_link("xhpl-2.3_gcc+mkl"), "xhpl-2.3_gcc+mkl");
        assert_eq!(program_link("gerbil-run"), "program-gerbil-run");
        assert_eq!(program_link("gerbil-lib"), "program-gerbil-lib");
        assert_eq!(program_link("tmp"), "program-tmp");
        for unsafe_name in ["a b", "$(reboot)", "-n", ".hidden", "", "ä", "a\"b"] {
            assert_eq!(program_link(unsafe_name), "program", "{unsafe_name:?}");
        }
    }
}
