//! Which attempts' files become output where those of some first ones do not.

use super::layout::{AttemptName, is_without_stage};

/// Most bytes of a name: HDFS and the file systems of Linux give 255.
const NAME: usize = 240;

/// The attempts whose results count though they are not the first at their tasks, and the files of each. Of all other
/// tasks those of the first attempt do.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Manifest(pub Vec<(AttemptName, Vec<String>)>);

impl Manifest {
    /// Tasks of whose first attempts no file becomes output, in order.
    pub(super) fn tasks(&self) -> Vec<(bool, u32)> {
        let mut tasks: Vec<(bool, u32)> = self.0.iter().map(|(attempt, _)| attempt.at()).collect();
        tasks.sort_unstable();
        tasks
    }

    /// Whether the map of this number is among those tasks, in a job whose maps write the output under names without a
    /// stage: then the other attempts at it do, too.
    pub(super) fn maps_write_output(&self, task: u32) -> bool {
        self.0.iter().any(|(attempt, names)| {
            attempt.at() == (true, task) && names.iter().any(|name| is_without_stage(name))
        })
    }

    /// Their files, each with the attempt that has written it.
    pub(super) fn files(&self) -> Vec<(AttemptName, String)> {
        let all = self.0.iter();
        let all =
            all.flat_map(|(attempt, names)| names.iter().map(|name| (*attempt, name.clone())));
        all.collect()
    }

    /// A line a file, or an attempt without any, behind a first one that says what it is. Names of files hold no line
    /// ends.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = "commit\n".to_owned();
        for (attempt, names) in &self.0 {
            let short = attempt.short();
            if names.is_empty() {
                text += &format!("{short}\n");
            }
            for name in names {
                let name = if *name == attempt.usual() { "" } else { name };
                text += &format!("{short}/{name}\n");
            }
        }
        text
    }

    /// Its text as the name of a folder, if it is short enough for one and holds nothing that a name may not.
    pub(super) fn to_name(&self) -> Option<String> {
        let text = self.to_text();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./\n".contains(&byte);
        let fits = text.len() <= NAME && text.bytes().all(plain);
        fits.then(|| text.replace('/', "+").replace('\n', ","))
    }

    /// Back from its text, or from that as a name.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let as_text = match text.contains('\n') {
            true => text.to_owned(),
            false => text.replace('+', "/").replace(',', "\n"),
        };
        let mut lines = as_text.lines();
        if lines.next() != Some("commit") {
            return None;
        }
        let mut all: Vec<(AttemptName, Vec<String>)> = Vec::new();
        for line in lines {
            let (attempt, name) = match line.split_once('/') {
                Some((attempt, name)) => (attempt, Some(name)),
                None => (line, None),
            };
            let attempt = AttemptName::from_short(attempt)?;
            let name = match name {
                None => None,
                Some("") => Some(attempt.usual()),
                Some(name) if attempt.may_write(name) => Some(name.to_owned()),
                Some(_) => return None,
            };
            match all.last_mut() {
                Some((of, names)) if *of == attempt => names.extend(name),
                _ => all.push((attempt, name.into_iter().collect())),
            }
        }
        Some(Self(all))
    }
}
