//! Arguments that name files of this machine, which the program will not find on the nodes.

use std::path::Path;

/// What is known of a name in the current folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Here {
    Nothing,
    File,
    Folder,
}

/// What lies in the current folder.
pub(crate) fn look(name: &str) -> Here {
    match std::fs::metadata(name) {
        Ok(there) if there.is_file() => Here::File,
        Ok(there) if there.is_dir() => Here::Folder,
        Ok(_) | Err(_) => Here::Nothing,
    }
}

/// A sentence for each argument of a program that names, by a relative path, what lies here and not in
/// the container, where only the names `brought` are. What stands behind a = is looked at too.
///
/// A folder's name is a word as often as not: it counts where it is written as a path.
pub(crate) fn sentences(
    args: &[String],
    brought: &[String],
    here: impl Fn(&str) -> Here,
) -> Vec<String> {
    let mut said = Vec::new();
    for arg in args {
        let value = arg.split_once('=').map(|(_, value)| value);
        for name in [Some(arg.as_str()), value].into_iter().flatten() {
            let plain = name.trim_start_matches("./");
            let first = plain.split('/').next().unwrap_or_default();
            let leads_out = name.starts_with('/') || first.is_empty() || first == "..";
            let is_there = |link: &String| {
                let rest = plain.strip_prefix(link.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if leads_out || first == "." || brought.iter().any(is_there) {
                continue;
            }
            let sentence = match here(name) {
                Here::File if plain.contains('/') => format!(
                    "{name} is a file here, not on the nodes: bring it with --files {name}, and name it \
                     {} there",
                    last(plain)
                ),
                Here::File => {
                    format!("{name} is a file here, not on the nodes: bring it with --files {name}")
                }
                Here::Folder if name.contains('/') => format!(
                    "{name} is a folder here, not on the nodes: pack it, and bring it with --archives \
                     FILE.tar.gz#{}",
                    last(plain)
                ),
                Here::Folder | Here::Nothing => continue,
            };
            if !said.contains(&sentence) {
                said.push(sentence);
            }
        }
    }
    said
}

fn last(path: &str) -> &str {
    let name = Path::new(path).file_name();
    name.and_then(|name| name.to_str()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_stays_here_is_said_with_the_option_that_brings_it() {
        let here = |name: &str| match name.trim_start_matches("./").trim_end_matches('/') {
            "in.lj" | "data/a.txt" | "deep/in.lj" => Here::File,
            "data" | "test" => Here::Folder,
            _ => Here::Nothing,
        };
        let said = |args: &str, brought: &[&str]| {
            let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
            let brought: Vec<String> = brought.iter().map(ToString::to_string).collect();
            sentences(&args, &brought, here)
        };
        assert_eq!(
            said("-in in.lj", &["lmp"]),
            ["in.lj is a file here, not on the nodes: bring it with --files in.lj"]
        );
        assert_eq!(said("--input=in.lj", &[]).len(), 1);
        assert_eq!(said("./in.lj in.lj", &["in.lj"]), [""; 0]);
        assert!(said("deep/in.lj", &[])[0].ends_with("and name it in.lj there"));
        assert!(said("./data/", &[])[0].contains("--archives FILE.tar.gz#data"));
        // In an archive that is brought, perhaps.
        assert_eq!(said("data/a.txt ./data", &["data"]), [""; 0]);
        for other in ["test", "/in.lj", "../in.lj", "-n", ".", "", "="] {
            assert_eq!(said(other, &[]), [""; 0], "{other}");
        }
    }
}
