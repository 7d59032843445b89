//! A file system that answers as a NameNode does.

use std::collections::BTreeMap;

use crate::commit::{Answer, Op};

/// Paths below the folder that the output folder is in; a folder holds `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NameNode {
    pub(super) paths: BTreeMap<String, Option<String>>,
}

fn absolute(path: &str) -> String {
    if path.is_empty() {
        "out".to_owned()
    } else {
        format!("out/{path}")
    }
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

impl NameNode {
    pub(super) fn with(paths: &[(&str, Option<&str>)]) -> Self {
        let mut name_node = Self::default();
        name_node.paths.insert("out".to_owned(), None);
        for (path, content) in paths {
            name_node
                .paths
                .insert(absolute(path), content.map(str::to_owned));
        }
        name_node
    }

    pub(super) fn file(&self, path: &str) -> Option<&str> {
        self.paths.get(&absolute(path))?.as_deref()
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.paths.contains_key(&absolute(path))
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

    pub(super) fn carry_out(&mut self, op: &Op) -> Answer {
        match op {
            Op::MakeFolder(path) => self.make(&absolute(path), None),
            Op::Create(path, content) => self.make(&absolute(path), Some(content.clone())),
            Op::Rename(from, to) => self.rename(&absolute(from), &absolute(to)),
            Op::Read(path) => match self.paths.get(&absolute(path)) {
                Some(Some(content)) => Answer::Content(content.clone()),
                _ => Answer::NotThere,
            },
            Op::List(path) => {
                let folder = absolute(path);
                if self.paths.get(&folder) != Some(&None) {
                    return Answer::NotThere;
                }
                let direct = self.below(&folder).into_iter().filter_map(|path| {
                    let name = path.get(folder.len() + 1..)?;
                    (!name.contains('/')).then(|| name.to_owned())
                });
                Answer::Names(direct.collect())
            }
            Op::DeleteAll(path) => {
                let path = absolute(path);
                self.below(&path).iter().for_each(|path| {
                    self.paths.remove(path);
                });
                if self.paths.remove(&path).is_some() {
                    Answer::Done
                } else {
                    Answer::NotThere
                }
            }
            Op::DeleteEmpty(path) => {
                let path = absolute(path);
                if !self.below(&path).is_empty() {
                    return Answer::Exists;
                }
                if self.paths.remove(&path).is_some() {
                    Answer::Done
                } else {
                    Answer::NotThere
                }
            }
        }
    }

    fn make(&mut self, path: &str, content: Option<String>) -> Answer {
        if self.paths.contains_key(path) {
            return Answer::Exists;
        }
        if !self.has_parent(path) {
            return Answer::NotThere;
        }
        self.paths.insert(path.to_owned(), content);
        Answer::Done
    }

    fn rename(&mut self, from: &str, to: &str) -> Answer {
        if !self.paths.contains_key(from) || !self.has_parent(to) {
            return Answer::NotThere;
        }
        if self.paths.contains_key(to) {
            return Answer::Exists;
        }
        for path in self.below(from).into_iter().chain([from.to_owned()]) {
            let content = self.paths.remove(&path).flatten();
            self.paths
                .insert(format!("{to}{}", &path[from.len()..]), content);
        }
        Answer::Done
    }
}
