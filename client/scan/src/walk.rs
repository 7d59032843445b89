//! From a program to the libraries and scripts that are shipped with it, and what all of them tell.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use policy::elements::ElementNeed;

use crate::finding::{Confidence, Finding, ProgramStage};
use crate::label::{Declared, Label, NeedsLine};
use crate::script::{Language, language, shell};
use crate::strings::strings;
use crate::tables::Element;
use crate::{elf, jar, python};

/// For a whole scan.
pub const TIME: Duration = Duration::from_millis(800);
/// Files that are looked at.
const FILES_MAX: usize = 256;
/// Most bytes of a script.
const SCRIPT_MAX: u64 = 1 << 20;
/// Pieces of evidence that are told of one element.
const TOLD: usize = 6;

/// What is looked at.
#[derive(Clone, Debug, Default)]
pub struct ScanRequest {
    /// The program.
    pub program: PathBuf,
    /// Files that travel with it: libraries, scripts.
    pub shipped: Vec<PathBuf>,
    /// Folders that the loader looks into, after those of the program itself: what `LD_LIBRARY_PATH` names.
    pub search: Vec<PathBuf>,
    /// Files that are evidence of nothing: those of the system that runs the program.
    pub own: Vec<PathBuf>,
}

impl ScanRequest {
    /// `program` alone, as this process would start it; its own file is evidence of nothing.
    #[must_use]
    pub fn here(program: PathBuf) -> Self {
        let search = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        Self {
            program,
            shipped: Vec::new(),
            // An empty entry is the current folder, which no task has.
            search: std::env::split_paths(&search)
                .filter(|folder| folder.is_absolute())
                .collect(),
            own: std::env::current_exe().ok().into_iter().collect(),
        }
    }
}

/// What was found in all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detected {
    /// What the program declares.
    pub needs: Vec<NeedsLine>,
    /// What it and its libraries tell, the surest first.
    pub elements: BTreeMap<Element, Vec<(Confidence, String)>>,
    /// Why the program could not be seen into; empty: it could.
    pub unseen: String,
}

impl Detected {
    fn add(&mut self, element: Element, confidence: Confidence, words: String) {
        let told = self.elements.entry(element).or_default();
        if !told.iter().any(|(_, known)| *known == words) {
            told.push((confidence, words));
            sort::by_key(told, |(confidence, _)| std::cmp::Reverse(*confidence));
            told.truncate(TOLD);
        }
    }

    fn is_sure(&self) -> bool {
        let mut told = self.elements.values().flatten();
        told.any(|(confidence, _)| *confidence == Confidence::Sure)
    }

    /// What the executable itself declares for a stage: each of its types that has it. A label is told as it is
    /// written where it is a cluster's.
    #[must_use]
    pub fn declared(&self, stage: ProgramStage) -> Vec<Finding> {
        let of = |line: &NeedsLine| {
            let as_written = || {
                let need = line.need.parse();
                Label::Needs(need.unwrap_or_else(|_| ElementNeed::one(&*line.need)))
            };
            Finding::declared(&Declared {
                stage,
                label: Label::known_everywhere(&line.need).unwrap_or_else(as_written),
                by: format!("section gerbil_needs, type {}", line.of),
            })
        };
        let lines = self.needs.iter().filter(|line| line.stage == stage);
        lines.map(of).collect()
    }

    /// What a stage needs that declares nothing: of several elements the surest.
    #[must_use]
    pub fn finding(&self, stage: ProgramStage) -> Finding {
        let surest = |(_, told): &(&Element, &Vec<(Confidence, String)>)| {
            let mut told = told.iter().map(|(confidence, _)| *confidence);
            told.next().unwrap_or(Confidence::None)
        };
        let mut elements: Vec<_> = self.elements.iter().collect();
        sort::by_key(&mut elements, |of| std::cmp::Reverse(surest(of)));
        match elements.first() {
            Some(best @ (element, told)) => Finding {
                stage,
                need: Some(element.to_string()),
                level: 2,
                evidence: told.iter().map(|(_, words)| words.clone()).collect(),
                confidence: surest(best),
            },
            None => Finding {
                stage,
                need: None,
                level: 2,
                evidence: Some(self.unseen.clone())
                    .into_iter()
                    .filter(|unseen| !unseen.is_empty())
                    .collect(),
                confidence: Confidence::None,
            },
        }
    }
}

/// Looks at a program, and at what is shipped with it as far as it is used.
#[must_use]
pub fn detect(request: &ScanRequest) -> Detected {
    let mut walk = FolderWalk {
        request,
        by: Instant::now() + TIME,
        seen: BTreeSet::new(),
        open: VecDeque::new(),
        found: Detected::default(),
    };
    for own in &request.own {
        if let Ok(there) = std::fs::metadata(own) {
            walk.seen.insert((there.dev(), there.ino()));
        }
    }
    walk.found.unseen = walk.look(&request.program, true).err().unwrap_or_default();
    while let Some(next) = walk.open.pop_front() {
        if Instant::now() >= walk.by || walk.seen.len() > FILES_MAX + request.own.len() {
            break;
        }
        // What is shipped and cannot be read fails elsewhere.
        let _unseen = walk.look(&next, false).is_err();
    }
    walk.found
}

struct FolderWalk<'a> {
    request: &'a ScanRequest,
    by: Instant,
    /// Files by device and number.
    seen: BTreeSet<(u64, u64)>,
    open: VecDeque<PathBuf>,
    found: Detected,
}

impl FolderWalk<'_> {
    /// Looks at one file.
    fn look(&mut self, path: &Path, is_program: bool) -> Result<(), String> {
        let there = std::fs::metadata(path).map_err(|error| error.to_string())?;
        if !there.is_file() {
            return Err("it is no regular file".to_owned());
        }
        if !self.seen.insert((there.dev(), there.ino())) {
            return match is_program {
                true => Err("it is gerbil's own file".to_owned()),
                false => Ok(()),
            };
        }
        let mut file = File::open(path).map_err(|error| error.to_string())?;
        let mut magic = Vec::new();
        let read = file.by_ref().take(4).read_to_end(&mut magic);
        read.map_err(|error| error.to_string())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let at = match is_program {
            true => String::new(),
            false => format!("{name}: "),
        };
        match magic.as_slice() {
            b"\x7fELF" => self.elf(path, &file, there.len(), &at),
            b"PK\x03\x04" => {
                let found = jar::evidence(file, self.by)?;
                self.likely(found, &at);
                Ok(())
            }
            b"\xCA\xFE\xBA\xBE" => {
                let mut class = magic.clone();
                let rest = file.take(SCRIPT_MAX).read_to_end(&mut class);
                rest.map_err(|error| error.to_string())?;
                let found = jar::of_class(&class).into_iter();
                let found = found.map(|(element, known)| (element, format!("names {known}")));
                self.likely(found.collect(), &at);
                Ok(())
            }
            [b'#', b'!', ..] => self.script(path, file, magic, &at),
            _ if name.ends_with(".py") => self.script(path, file, magic, &at),
            _ => Ok(()),
        }
    }

    fn likely(&mut self, found: Vec<(Element, String)>, at: &str) {
        for (element, words) in found {
            self.found
                .add(element, Confidence::Likely, format!("{at}{words}"));
        }
    }

    fn elf(&mut self, path: &Path, file: &File, length: u64, at: &str) -> Result<(), String> {
        let tables = file.try_clone().map_err(|error| error.to_string())?;
        let elf = elf::read(tables, length);
        let elf = elf.map_err(|what| format!("it is a damaged ELF file ({what})"))?;
        if at.is_empty() {
            self.found.needs.clone_from(&elf.needs);
        }
        for (element, words) in elf.evidence {
            self.found
                .add(element, Confidence::Sure, format!("{at}{words}"));
        }
        if !self.found.is_sure() {
            for (text, element) in strings(file, &elf.parts, self.by) {
                let words = format!("{at}string {text}");
                self.found.add(element, Confidence::Likely, words);
            }
        }
        let origin = path.parent().unwrap_or(Path::new("/"));
        for library in &elf.libraries {
            let of_folder = |folder: &String| {
                let origin = origin.to_string_lossy();
                let folder = folder.replace("${ORIGIN}", &origin);
                let path = PathBuf::from(folder.replace("$ORIGIN", &origin)).join(library);
                (path.is_absolute() && path.is_file()).then_some(path)
            };
            let named = self.shipped(library);
            let named = named.or_else(|| elf.folders.iter().find_map(of_folder));
            let named = named.or_else(|| {
                let mut search = self
                    .request
                    .search
                    .iter()
                    .map(|folder| folder.join(library));
                search.find(|path| path.is_file())
            });
            self.open.extend(named);
        }
        Ok(())
    }

    fn script(&mut self, path: &Path, file: File, magic: Vec<u8>, at: &str) -> Result<(), String> {
        let mut bytes = magic;
        let rest = file.take(SCRIPT_MAX).read_to_end(&mut bytes);
        rest.map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&bytes);
        let is_python = path.extension().is_some_and(|ending| ending == "py");
        match language(&text) {
            Some(Language::Python) => {}
            None if is_python => {}
            Some(Language::Shell) => {
                let (found, named) = shell(&text);
                self.likely(found, at);
                for word in named {
                    let name = word.rsplit('/').next().unwrap_or(&word);
                    let shipped = self.shipped(name);
                    self.open.extend(shipped);
                }
                return Ok(());
            }
            Some(Language::Other) | None => return Ok(()),
        }
        let (found, modules) = python::evidence(&text);
        self.likely(found, at);
        for module in modules {
            let first = module.split('.').next().unwrap_or(&module);
            let shipped = self.shipped(&format!("{first}.py"));
            self.open.extend(shipped);
        }
        Ok(())
    }

    /// What travels with the program under this name.
    fn shipped(&self, name: &str) -> Option<PathBuf> {
        let mut shipped = self.request.shipped.iter();
        shipped
            .find(|path| path.file_name().is_some_and(|file| file == name))
            .cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn of(program: &Path, shipped: &[PathBuf]) -> Finding {
        let request = ScanRequest {
            program: program.to_owned(),
            shipped: shipped.to_vec(),
            ..ScanRequest::default()
        };
        detect(&request).finding(ProgramStage::Map)
    }

    #[test]
    fn libraries_are_found_where_the_loader_looks() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let build = |source: &str, out: &Path, options: &[&std::ffi::OsStr]| {
            let file = at("source.c");
            fs::write(&file, source).unwrap();
            let built = std::process::Command::new("cc")
                .arg(&file)
                .arg("-o")
                .arg(out)
                .args(options)
                .status()
                .unwrap();
            assert!(built.success());
        };
        fs::create_dir(at("libraries")).unwrap();
        let library = at("libraries/libdistances.so");
        let kernel = "int cuLaunchKernel(void); int distances(void) { return cuLaunchKernel(); }";
        build(
            kernel,
            &library,
            &[
                "-shared".as_ref(),
                "-fPIC".as_ref(),
                "-Wl,-soname,libdistances.so".as_ref(),
            ],
        );
        let main = "int distances(void); int main(void) { return distances(); }";
        let unresolved = "-Wl,--unresolved-symbols=ignore-all";
        build(
            main,
            &at("program"),
            &[library.as_ref(), unresolved.as_ref()],
        );
        assert_eq!(of(&at("program"), &[]).need, None);
        let request = ScanRequest {
            program: at("program"),
            search: vec![at("nowhere"), at("libraries")],
            ..ScanRequest::default()
        };
        let found = detect(&request).finding(ProgramStage::Map).to_string();
        assert!(
            found.starts_with("map needs gpu (sure: libdistances.so: "),
            "{found}"
        );
        let shipped = of(&at("program"), &[library]).to_string();
        assert_eq!(shipped, found);
    }

    #[test]
    fn what_cannot_be_seen_into_is_likely_none_and_said_why() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink(at("b"), at("a")).unwrap();
        symlink(at("a"), at("b")).unwrap();
        fs::write(at("cut"), b"\x7fELF\x02\x01").unwrap();
        let own = std::env::current_exe().unwrap();
        let bytes = fs::read(&own).unwrap();
        for cut in [16, 63, 64, 4096, bytes.len() / 2] {
            fs::write(at("half"), &bytes[..cut]).unwrap();
            assert_eq!(of(&at("half"), &[]).need, None, "{cut}");
        }
        let huge = File::create(at("huge")).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&huge, &bytes[..4096], 0).unwrap();
        huge.set_len(2 << 30).unwrap();
        fs::write(at("jar"), b"PK\x03\x04 and nothing of a jar").unwrap();
        for (name, words) in [
            ("a", "symbolic links"),
            ("cut", "damaged ELF"),
            ("huge", ""),
            ("none", "No such file"),
            (".", "no regular file"),
            ("jar", ""),
        ] {
            let began = Instant::now();
            let found = of(&at(name), &[]);
            assert!(began.elapsed() < Duration::from_secs(1), "{name}");
            assert_eq!(
                (found.need.clone(), found.confidence),
                (None, Confidence::None)
            );
            assert!(found.to_string().contains(words), "{found}");
        }
        let request = ScanRequest {
            program: own.clone(),
            own: vec![own],
            ..ScanRequest::default()
        };
        let found = detect(&request).finding(ProgramStage::Map).to_string();
        assert_eq!(
            found,
            "map needs no device (likely none: it is gerbil's own file)"
        );
    }

    #[test]
    fn what_is_shipped_is_followed_as_far_as_it_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let run = write("run", "#!/bin/sh\nexec python3 ./map.py\n");
        let shipped = [
            write("map.py", "import helper\n"),
            write("helper.py", "import map, cupy\n"),
        ];
        let other = [write("other.py", "import cupy\n")];
        assert_eq!(of(&run, &[]).need, None);
        assert_eq!(of(&run, &other).need, None);
        assert_eq!(
            of(&run, &shipped).to_string(),
            "map needs gpu (likely: helper.py: line 1 imports cupy)"
        );
    }
}
