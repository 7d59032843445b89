//! The reference page OPTIONS.md.

use super::LAUNCHERS;
use super::meaning::Meaning::{self, File, Is, LabelOrList, Means, NoEffect, Ours, Refused, Same};

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
    page
}

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
