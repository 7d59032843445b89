//! The reference page OPTIONS.md.

use super::LAUNCHERS;
use super::meaning::Meaning::{
    self, File, Is, LabelOrList, Means, NoEffect, Ours, ProgramOrManager, Refused, Same,
};

/// The reference page.
pub(crate) fn page() -> String {
    let mut page = String::from(
        "# Options of other launchers\n\n\
         What `gerbil-run` does with the options of Hydra's `mpiexec`, and with the common ones of Open \
         MPI's `mpirun` and of `srun`. Every option may be written with one dash or two. None is ignored \
         without a word: one that is not in these tables and not in `gerbil-run --help` is refused.\n",
    );
    for launcher in &LAUNCHERS {
        page.push_str(&format!(
            "\n## {}\n\n| option | here |\n|---|---|\n",
            launcher.name
        ));
        for row in launcher.rows {
            let dashes = match row.word.len() {
                1 => "-",
                _ => launcher.dashes,
            };
            let here = here(row.word, &row.meaning);
            page.push_str(&format!("| `{dashes}{}` | {here} |\n", row.word));
        }
    }
    page.push_str(ENVIRONMENT);
    page
}

/// What becomes of the user's environment and of the program's file: [`crate::environment`] and `staging::in_place`.
const ENVIRONMENT: &str = "
## The environment, and the file that runs

| | with `--local`, in a session with `--local` too | on a cluster |
|---|---|---|
| variables that programs are told what to do by: `OMP_NUM_THREADS`, `UCX_…`, `MODULEPATH`, your own | travel | travel |
| functions that a shell has exported (`BASH_FUNC_name%%`), such as `module` | travel | travel |
| `LD_LIBRARY_PATH`, `LD_PRELOAD`, `CLASSPATH`, `TMPDIR`, `TMP`, `TEMP` | travel | stay here, which is said in one line; the libraries that the program is linked to come along without them |
| what each machine, each login and each Hadoop client has of its own: `PATH`, `HOME`, `USER`, `SHELL`, `TERM`, `DISPLAY`, `TZ`, `JAVA_HOME`, `KRB5CCNAME`, and all that begins with `BASH_`, `CARGO`, `HADOOP_`, `RUST`, `SSH_`, `SUDO_`, `SYSTEMD_`, `XDG_`, `YARN_` | travel | stay here; the nodes have their own |
| those by which a launcher speaks to its processes: `PMI_…`, `PMIX_…`, `HYDRA_…`, `GERBIL_…`, `OMPI_COMM_WORLD_…`, `RANK`, `LOCAL_RANK`, `WORLD_SIZE`, `LOCAL_WORLD_SIZE`, `MASTER_ADDR`, `MASTER_PORT`, and `PWD`, `OLDPWD` | stay here | stay here |
| what is no UTF-8 | stays here, which is said | stays here, which is said |

`-x NAME` takes any of them along, `-envnone` none, `-envlist` those that it names. Where `-yield` wants it a library of \
gerbil's own comes before yours in `LD_PRELOAD`.

With `--local` the program runs where it lies. On a cluster a copy of it is brought to the nodes, which finds nothing of \
what lies beside the program. So the nodes run their own file where all of them have the very same one (its SHA-256), which no other user may replace, at \
the same path: with `--in-place` always, and without being asked for interpreters (`python3`, `Rscript`, `java`, …) and \
for what lies outside of your home folder, such as `/opt`, `/usr` or an NFS of modules. It is looked for before the first \
process starts. Where one node has another file, the copy runs on all, and that node is named. `--in-place=false` always \
runs the copy. A tree of your own that can be moved comes along whole: `tar cf tree.tar -C tree .`, then \
`gerbil-run --archives tree.tar#tree -n 4 tree/bin/program`.
";

fn here(word: &str, meaning: &Meaning) -> String {
    match meaning {
        Same => "the same".to_owned(),
        Ours(what) => format!("means something else: {what}"),
        Is(other) => format!("the same as `--{other}`"),
        Means(words) => format!("the same as `{}`", words.replacen('=', " ", 1)),
        NoEffect { because, .. } => format!("accepted with a warning: {because}"),
        Refused(instead) => {
            let own = format!("{word}: ");
            let plain = instead.trim_start_matches('-');
            format!("refused: {}", plain.strip_prefix(&own).unwrap_or(instead))
        }
        ProgramOrManager => "`--mpi=pmix` is the same as `--pm pmix`, `--mpi=pmi2` as `--pm pmi`, `--mpi=none` as `--pm \
             auto`; any other value names the program"
            .into(),
        LabelOrList => "the same; with the name of a list of jobs behind it, that list".into(),
        File => "the same: a program a line, nothing behind it".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With GERBIL_UPDATE=1 the page is written anew.
    #[test]
    fn the_page_is_what_the_rows_say() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/OPTIONS.md");
        if std::env::var_os("GERBIL_UPDATE").is_some() {
            std::fs::write(path, page()).unwrap();
        }
        let there = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(
            there,
            page(),
            "GERBIL_UPDATE=1 cargo test -p client writes it anew"
        );
    }
}
