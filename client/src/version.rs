//! What `--version` says: of which commit the file is, and what it needs.

use std::path::Path;

use staging::elf::Elf;

/// The commit that it was built from.
const COMMIT: &str = env!("GERBIL_COMMIT");
/// The lines of Hadoop whose daemons it is tried with.
const HADOOP: &str = "2.10, 3.3, 3.4, 3.5";

/// The text, behind the `name` of the command and the number of its version.
pub(crate) fn text(name: &str) -> String {
    let own = std::env::current_exe();
    let glibc = own.ok().and_then(|own| glibc(&own));
    let glibc = glibc.unwrap_or_else(|| "no particular one".to_owned());
    format!(
        "{}\ncommit  {COMMIT}\nglibc   {glibc}\nHadoop  {HADOOP}\n",
        name.trim_end()
    )
}

/// The oldest C library with which a program starts, here and on the nodes.
fn glibc(own: &Path) -> Option<String> {
    let elf = Elf::read(own).ok()??;
    elf.glibc
        .map(|oldest| format!("{oldest} or newer, here and on the nodes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_c_library_and_lines_of_hadoop_are_named() {
        let text = text("gerbil 0.1.0\n");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[0]), (4, "gerbil 0.1.0"));
        assert!(
            lines[2].ends_with("or newer, here and on the nodes"),
            "{text}"
        );
        // Those that README says.
        let readme = include_str!("../../README.md").replace('\n', " ");
        let tried = HADOOP.replace(", 3.5", " and 3.5");
        assert!(
            readme.contains(&format!("ResourceManagers of Hadoop {tried} ")),
            "{tried}"
        );
    }
}
