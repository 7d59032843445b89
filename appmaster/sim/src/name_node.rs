//! A file system that answers as a NameNode does, for the proof of `policy::commit`.
//!
//! Its answers are compared with those of a real NameNode, and of a folder of this machine, by a test on
//! Hadoop's daemons: what is proved with it holds there. Not compared: renaming a folder to below itself, which
//! no committer does.

use std::collections::BTreeMap;

use policy::commit::{CallAnswer, Op};

/// Paths as those of [`Op`]; a folder holds `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameNode {
    /// What there is, each with the content of a file.
    pub paths: BTreeMap<String, Option<String>>,
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

impl NameNode {
    /// One with these paths.
    #[must_use]
    pub fn with(paths: &[(&str, Option<&str>)]) -> Self {
        let paths = paths.iter();
        let paths = paths.map(|(path, content)| ((*path).to_owned(), content.map(str::to_owned)));
        Self {
            paths: paths.collect(),
        }
    }

    /// What a committer would read at `path`: what a file holds, or the name of what is in a folder.
    #[must_use]
    pub fn says(&self, path: &str) -> Option<String> {
        match self.paths.get(path)? {
            Some(content) => Some(content.clone()),
            None => match self.names(path).as_slice() {
                [] => Some(String::new()),
                [name] => Some(name.clone()),
                _ => None,
            },
        }
    }

    /// What the file `path` holds.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&str> {
        self.paths.get(path)?.as_deref()
    }

    /// Whether there is something at `path`.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.paths.contains_key(path)
    }

    fn has_parent(&self, path: &str) -> bool {
        parent(path).is_none_or(|parent| self.paths.get(parent) == Some(&None))
    }

    fn below(&self, folder: &str) -> Vec<String> {
        let prefix = format!("{folder}/");
        self.paths
            .keys()
            .filter(|path| path.starts_with(&prefix))
            .cloned()
            .collect()
    }

    /// The names of what is in a folder, in order.
    #[must_use]
    pub fn names(&self, folder: &str) -> Vec<String> {
        let direct = self.below(folder).into_iter().filter_map(|path| {
            let name = path.get(folder.len() + 1..)?;
            (!name.contains('/')).then(|| name.to_owned())
        });
        direct.collect()
    }

    /// Carries a call out.
    pub fn carry_out(&mut self, op: &Op) -> CallAnswer {
        match op {
            Op::MakeFolder(path) => self.make(path, None),
            Op::MakeFolders(path) => self.make_folders(path),
            Op::Create(path, content) => self.make(path, Some(content.clone())),
            Op::Rename(from, to) => self.rename(from, to),
            Op::Look(path) if self.has(path) => CallAnswer::Done,
            Op::Look(_) => CallAnswer::NotThere,
            Op::Read(path) => self
                .says(path)
                .map_or(CallAnswer::NotThere, CallAnswer::Content),
            Op::List(path) => {
                if self.paths.get(path) != Some(&None) {
                    return CallAnswer::NotThere;
                }
                CallAnswer::Names(self.names(path))
            }
            Op::DeleteAll(path) => {
                self.below(path).iter().for_each(|path| {
                    self.paths.remove(path);
                });
                if self.paths.remove(path).is_some() {
                    CallAnswer::Done
                } else {
                    CallAnswer::NotThere
                }
            }
            Op::DeleteEmpty(path) => {
                if !self.below(path).is_empty() {
                    return CallAnswer::Exists;
                }
                if self.paths.remove(path).is_some() {
                    CallAnswer::Done
                } else {
                    CallAnswer::NotThere
                }
            }
        }
    }

    fn make_folders(&mut self, path: &str) -> CallAnswer {
        let above = path
            .match_indices('/')
            .filter_map(|(end, _)| path.get(..end));
        let all: Vec<&str> = above.chain([path]).collect();
        match all
            .iter()
            .find(|folder| self.paths.get(**folder).is_some_and(Option::is_some))
        {
            Some(file) if *file == path => CallAnswer::Exists,
            Some(_) => CallAnswer::NotThere,
            None => {
                for folder in all {
                    self.paths.insert(folder.to_owned(), None);
                }
                CallAnswer::Done
            }
        }
    }

    fn make(&mut self, path: &str, content: Option<String>) -> CallAnswer {
        match (self.paths.get(path), &content) {
            // mkdirs of a folder that is there succeeds.
            (Some(None), None) => return CallAnswer::Done,
            (Some(_), _) => return CallAnswer::Exists,
            (None, _) => {}
        }
        if !self.has_parent(path) {
            return CallAnswer::NotThere;
        }
        self.paths.insert(path.to_owned(), content);
        CallAnswer::Done
    }

    fn rename(&mut self, from: &str, to: &str) -> CallAnswer {
        if !self.paths.contains_key(from) || !self.has_parent(to) {
            return CallAnswer::NotThere;
        }
        if self.paths.contains_key(to) {
            return CallAnswer::Exists;
        }
        for path in self.below(from).into_iter().chain([from.to_owned()]) {
            let content = self.paths.remove(&path).flatten();
            self.paths
                .insert(format!("{to}{}", &path[from.len()..]), content);
        }
        CallAnswer::Done
    }
}
