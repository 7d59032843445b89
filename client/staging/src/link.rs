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
