//! Where which file of which node comes to lie.

use std::collections::BTreeMap;

use job::StageOut;
use job::wire;
use policy::ContainerId;

use crate::mpi::commit::{PendingFolder, Renames, fixed};

/// Files of all nodes together.
const FILES_MAX: usize = 100_000;

/// What one node has, for each of the results.
#[derive(Debug)]
pub(super) struct Have {
    pub container: ContainerId,
    pub host: String,
    /// Its place among the nodes of the job.
    pub node: usize,
    pub paths: Vec<wire::FoundPath>,
}

/// Where everything comes to lie.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Layout {
    pub copies: BTreeMap<ContainerId, Vec<wire::Copy>>,
    /// For each of the results.
    pub renames: Vec<Renames>,
}

/// `pattern` for one node.
fn expanded(pattern: &str, host: &str, node: usize) -> String {
    let mut path = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('%') {
        path.push_str(before);
        let (known, after) = after.split_at_checked(1).unwrap_or(("", after));
        match known {
            "h" => path.push_str(host),
            "p" => path.push_str(&node.to_string()),
            // Of %%, and of nothing else, for the client knows no other.
            _ => path.push('%'),
        }
        rest = after;
    }
    path.push_str(rest);
    path
}

/// Decides where each file comes to lie: first below the folder of its result, then at its name.
///
/// # Errors
/// A sentence: a result is nowhere, or two nodes have the same file.
pub(super) fn lay_out(outs: &[(StageOut, PendingFolder)], have: &[Have]) -> Result<Layout, String> {
    let mut layout = Layout::default();
    let mut files = 0;
    for (index, (out, own)) in outs.iter().enumerate() {
        let (top, own) = (fixed(&out.path).trim_end_matches('/'), &own.path);
        let url = |path: &str| out.address.url(path);
        let mut renames = Renames::new();
        // Who brings a file, by its final name.
        let mut owners: BTreeMap<String, &str> = BTreeMap::new();
        for node in have {
            let Some(found) = node.paths.get(index).filter(|found| found.exists) else {
                continue;
            };
            let to = expanded(&out.path, &node.host, node.node);
            let from = format!("{own}{}", to.strip_prefix(top).unwrap_or(&to));
            if !found.files.is_empty() {
                renames.insert((from.clone(), to.clone()));
            }
            for file in &found.files {
                let inside = match file.inside.is_empty() {
                    true => String::new(),
                    false => format!("/{}", file.inside),
                };
                let name = format!("{to}{inside}");
                if let Some(other) = owners.insert(name.clone(), &node.host) {
                    return Err(format!(
                        "{other} and {} both have {}{inside}, and both would become \
                         {}; give each node its own with %h or %p in the address, or let ranks that \
                         write it together (MPI-IO) do so in a folder that all nodes see",
                        node.host,
                        out.local,
                        url(&name)
                    ));
                }
                files += 1;
                if files > FILES_MAX {
                    return Err(format!(
                        "the nodes have more than {FILES_MAX} files, which is the most that can \
                         become results; pack them"
                    ));
                }
                let copies = layout.copies.entry(node.container.clone()).or_default();
                copies.push(wire::Copy {
                    local: format!("{}{inside}", out.local),
                    remote: format!("{from}{inside}"),
                    address: u32::try_from(index).unwrap_or(u32::MAX),
                    size: file.size,
                });
            }
        }
        if let Some(sentence) = empty_on_one(out, index, have) {
            return Err(sentence);
        }
        if renames.is_empty() {
            let nodes = have.iter().map(|node| node.host.as_str());
            return Err(format!(
                "no file of {} is in the working directory of any node ({})",
                out.local,
                first(nodes)
            ));
        }
        // Of a file and a folder of the same name, one would lie inside the other.
        let inside_another = owners.keys().find_map(|name| {
            let above = name.match_indices('/').map(|(end, _)| &name[..end]);
            let mut above = above.filter(|folder| owners.contains_key(*folder));
            above.next().map(|file| (name, file.to_owned()))
        });
        if let Some((name, file)) = inside_another {
            return Err(format!(
                "{} of {} would be a file, and a folder for {} of {}",
                url(&file),
                owners.get(&file).copied().unwrap_or_default(),
                url(name),
                owners.get(name).copied().unwrap_or_default()
            ));
        }
        layout.renames.push(renames);
    }
    Ok(layout)
}

/// A file that only one of several nodes has, and without a byte: what ranks write together, each at
/// its place, into a folder that is not one.
fn empty_on_one(out: &StageOut, index: usize, have: &[Have]) -> Option<String> {
    let path = |node: &Have| node.paths.get(index).cloned();
    let mut found = have
        .iter()
        .filter(|node| path(node).is_some_and(|p| p.exists));
    let (only, None) = (found.next()?, found.next()) else {
        return None;
    };
    let path = path(only)?;
    let empty = !path.is_folder && path.files.iter().all(|file| file.size == 0);
    let others = match have.len() {
        0 | 1 => return None,
        2 => "the other node does not have it".to_owned(),
        all => format!("none of the other {} nodes has it", all - 1),
    };
    empty.then(|| {
        format!(
            "{} has 0 bytes on {}, and {others}: if the ranks write it together \
             (MPI-IO), they need a folder that all nodes see, and their container's is each node's own",
            out.local, only.host
        )
    })
}

/// Some of the names.
fn first<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 4;
    let names: Vec<&str> = names.collect();
    match names.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{} and {more} more", names[..SHOWN].join(", ")),
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use storage::Address;

    use super::*;

    #[test]
    fn a_percent_sign_that_is_written_twice_is_one() {
        for (pattern, wanted) in [
            ("/r/%h/%p", "/r/n1/3"),
            ("/r/e%%20f/x%p", "/r/e%20f/x3"),
            ("/r/%%h", "/r/%h"),
            ("/r/plain", "/r/plain"),
        ] {
            assert_eq!(expanded(pattern, "n1", 3), wanted);
        }
    }

    fn out(local: &str, path: &str) -> (StageOut, PendingFolder) {
        let out = StageOut {
            local: local.into(),
            address: Address::Shared,
            path: path.into(),
            option: "--stage-out".into(),
        };
        let attempt = "appattempt_1700000000000_0007_000001".parse().unwrap();
        let own = PendingFolder::of(&out, 0, &attempt);
        (out, own)
    }

    const OWN: &str = ".gerbil-appattempt_1700000000000_0007_000001-0";

    fn have(node: usize, paths: &[&[&str]]) -> Have {
        let path = |files: &&[&str]| wire::FoundPath {
            exists: !files.is_empty(),
            is_folder: files.iter().any(|file| !file.is_empty()),
            files: files
                .iter()
                .map(|inside| wire::FoundFile {
                    inside: (*inside).to_owned(),
                    size: 1,
                })
                .collect(),
        };
        Have {
            container: ContainerId(format!("c{node}")),
            host: format!("h{node}"),
            node,
            paths: paths.iter().map(path).collect(),
        }
    }

    fn remotes(layout: &Layout) -> Vec<String> {
        let copies = layout.copies.values().flatten();
        copies.map(|copy| copy.remote.clone()).collect()
    }

    #[test]
    fn the_folders_of_all_nodes_become_one() {
        let outs = [out("res", "/d/res")];
        let nodes = [
            have(0, &[&["a", "x/b"]]),
            have(1, &[&["c"]]),
            have(2, &[&[]]),
        ];
        let layout = lay_out(&outs, &nodes).unwrap();
        let own = format!("/d/{OWN}/res");
        assert_eq!(
            remotes(&layout),
            ["/a", "/x/b", "/c"].map(|file| format!("{own}{file}"))
        );
        let one = BTreeSet::from([(own.to_owned(), "/d/res".to_owned())]);
        assert_eq!(layout.renames, [one]);
    }

    #[test]
    fn two_nodes_with_one_file_are_both_named() {
        let nodes = [have(0, &[&["a"]]), have(1, &[&["a"]])];
        let refused = lay_out(&[out("res", "/d/res")], &nodes).unwrap_err();
        assert!(refused.contains("h0 and h1 both have res/a"), "{refused}");
        let layout = lay_out(&[out("res", "/d/%h/r%p")], &nodes).unwrap();
        assert_eq!(
            remotes(&layout),
            ["h0/r0/a", "h1/r1/a"].map(|file| format!("/d/{OWN}/{file}"))
        );
        let to: Vec<_> = layout.renames[0]
            .iter()
            .map(|(_, to)| to.as_str())
            .collect();
        assert_eq!(to, ["/d/h0/r0", "/d/h1/r1"]);
    }

    #[test]
    fn a_file_of_one_node_without_a_byte_is_no_result() {
        let mut nodes = [have(0, &[&[""]]), have(1, &[&[]])];
        let outs = [out("mesh.out", "/d/mesh.out")];
        assert!(lay_out(&outs, &nodes).is_ok());
        nodes[0].paths[0].files[0].size = 0;
        let refused = lay_out(&outs, &nodes).unwrap_err();
        let one = "0 bytes on h0, and the other node does not have it: ";
        assert!(refused.contains(one), "{refused}");
        assert!(refused.contains("MPI-IO"), "{refused}");
        let mut three = [have(0, &[&[""]]), have(1, &[&[]]), have(2, &[&[]])];
        three[0].paths[0].files[0].size = 0;
        let refused = lay_out(&outs, &three).unwrap_err();
        assert!(
            refused.contains("none of the other 2 nodes has it"),
            "{refused}"
        );
        // One node alone may mean it, and so may a folder's file.
        assert!(lay_out(&outs, &nodes[..1]).is_ok());
        nodes[0] = have(0, &[&["done"]]);
        nodes[0].paths[0].files[0].size = 0;
        assert!(lay_out(&outs, &nodes).is_ok());
    }

    #[test]
    fn what_is_nowhere_or_in_the_way_is_refused() {
        let none = lay_out(&[out("res", "/res")], &[have(0, &[&[]])]).unwrap_err();
        assert!(
            none.contains("no file of res") && none.contains("h0"),
            "{none}"
        );
        let nodes = [have(0, &[&[""]]), have(1, &[&["a"]])];
        let mixed = lay_out(&[out("res", "/res")], &nodes).unwrap_err();
        assert!(mixed.contains("would be a file"), "{mixed}");
        // One file, of one node, at the top of the file system.
        let layout = lay_out(&[out("f", "/f")], &[have(0, &[&[""]])]).unwrap();
        assert_eq!(remotes(&layout), [format!("/{OWN}/f")]);
    }
}
