//! Which program a spawn means.

use std::path::{Path, PathBuf};

use job::exit::Exit;
use job::wire::{Part, Program, Refusal, Share};

use crate::node_facts;
use crate::surroundings::Surroundings;

/// The program of a part. It is looked for in the folders that the request names, as a path of this
/// node, where it is to start, in the job's working directory, by PATH; and where nothing is
/// found, a program of the same file name as one of the job's own is that one. Environment and
/// libraries are those of the job's own program of that file name, else those of its first, with the
/// variables of the request.
pub(super) fn find(
    part: &Part,
    share: &Share,
    folder: &Path,
    around: &Surroundings,
) -> Result<Program, Refusal> {
    let name = Path::new(&part.program);
    let start = folder.join(&part.folder);
    let named = part.path.split(':').filter(|entry| !entry.is_empty());
    let mut candidates: Vec<PathBuf> = named.map(|entry| start.join(entry).join(name)).collect();
    candidates.extend([start.join(name), folder.join(name)]);
    if name.components().count() == 1 && !part.program.contains('/') {
        let path = around.variable("PATH").unwrap_or_default();
        candidates.extend(std::env::split_paths(path).map(|entry| entry.join(name)));
    }
    let mut own = share.programs.iter();
    let own = own.find(|own| Path::new(&own.file).file_name() == name.file_name());
    candidates.extend(own.map(|own| match own.own_path.as_str() {
        "" => folder.join(&own.file),
        path => PathBuf::from(path),
    }));
    let Some(found) = candidates.iter().find(|candidate| candidate.is_file()) else {
        return Err(Refusal {
            sentence: format!(
                "{}: {} cannot be spawned: it is neither on this node nor staged with the job",
                node_facts::hostname(),
                part.program
            ),
            exit_code: i32::from(Exit::NotFound.code()),
            group: 0,
        });
    };
    let like = own.or_else(|| share.programs.first()).cloned();
    let mut like = like.unwrap_or_default();
    let said = |key: &str| part.environment.iter().any(|pair| pair.key == key);
    like.environment.retain(|pair| !said(&pair.key));
    like.environment.extend(part.environment.iter().cloned());
    Ok(Program {
        processes: u32::try_from(part.ranks.len()).unwrap_or(u32::MAX),
        file: found.to_string_lossy().into_owned(),
        args: part.args.clone(),
        folder: part.folder.clone(),
        own_path: String::new(),
        // Of another program nobody has looked.
        glibc_needed: String::new(),
        glibc_needed_by: String::new(),
        digest: String::new(),
        ..like
    })
}

#[cfg(test)]
mod tests {
    use job::wire::KeyValue;

    use super::*;

    #[test]
    fn a_program_is_found_on_the_node_or_is_the_job_s_own() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::create_dir(folder.join("bin")).unwrap();
        for name in ["solver", "bin/tool"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let named = |file: &str, variable: &str| Program {
            file: file.to_owned(),
            environment: vec![KeyValue {
                key: variable.to_owned(),
                value: String::new(),
            }],
            ..Program::default()
        };
        let share = Share {
            programs: vec![named("first", "ONE"), named("solver", "TWO")],
            ..Share::default()
        };
        let around = Surroundings {
            folder: folder.to_owned(),
            environment: [("PATH".into(), "/nowhere:/bin".into())].into(),
            executable: PathBuf::new(),
        };
        let find_from = |start: &str, program: &str, path: &str| {
            let part = Part {
                program: program.to_owned(),
                path: path.to_owned(),
                folder: start.to_owned(),
                ..Part::default()
            };
            find(&part, &share, &around.folder, &around)
                .map(|found| (found.file, found.environment[0].key.clone()))
                .map_err(|refusal| refusal.exit_code)
        };
        let find = |program: &str, path: &str| find_from("", program, path);
        let at = |name: &str, variable: &str| {
            let path = folder.join(name).to_string_lossy().into_owned();
            Ok((path, variable.to_owned()))
        };
        assert_eq!(find("./solver", ""), at("./solver", "TWO"));
        assert_eq!(find("/home/user/solver", ""), at("solver", "TWO"));
        assert_eq!(find("bin/tool", ""), at("bin/tool", "ONE"));
        assert_eq!(find("tool", "nowhere:bin"), at("bin/tool", "ONE"));
        let sh = find("sh", "").map(|(sh, _)| sh.starts_with('/'));
        assert_eq!(sh, Ok(true));
        assert_eq!(find("./nothing", ""), Err(127));
        // From where it starts, and from the container's folder.
        assert_eq!(find_from("bin", "./tool", ""), at("bin/./tool", "ONE"));
        assert_eq!(find_from("bin", "./solver", ""), at("./solver", "TWO"));
    }
}
