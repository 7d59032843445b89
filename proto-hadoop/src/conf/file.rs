//! One settings file, and those it includes.
//!
//! ```xml
//! <configuration>
//!   <property><name>key</name><value>text</value><final>true</final></property>
//!   <property name="key" value="text" final="true"/>
//!   <xi:include href="more.xml"><xi:fallback>…</xi:fallback></xi:include>
//! </configuration>
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use roxmltree::{Document, Node, ParsingOptions};

use super::{ConfError, deprecated, encoding};

/// Settings are text written by people and tools; this is far above any real file.
const SIZE_LIMIT: u64 = 16 << 20;

/// Includes within includes. Hadoop has no limit; a circle would never end.
const DEPTH_LIMIT: usize = 16;

/// Elements nested in one another in one file.
const NESTING_LIMIT: usize = 64;

/// Raw values, the later of two winning unless the earlier one is final.
#[derive(Debug, Clone, Default)]
pub(crate) struct Properties {
    pub(crate) values: BTreeMap<String, String>,
    finals: BTreeSet<String>,
    /// Files read, in order, included ones after those that include them.
    pub(crate) files: Vec<PathBuf>,
}

impl Properties {
    /// Reads `path` into what is there already. A missing file is the caller's error.
    pub(crate) fn read(&mut self, path: &Path) -> Result<(), ConfError> {
        let text = load(path)?;
        self.read_text(path, &text, 0)
    }

    pub(crate) fn read_text(
        &mut self,
        path: &Path,
        text: &str,
        depth: usize,
    ) -> Result<(), ConfError> {
        // Files written by hand begin with blank lines or a byte order mark, which XML refuses.
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let options = ParsingOptions {
            allow_dtd: true,
            ..ParsingOptions::default()
        };
        let document =
            Document::parse_with_options(text, options).map_err(|source| ConfError::Xml {
                path: path.to_owned(),
                source: Box::new(source),
            })?;
        let root = document.root_element();
        if root.tag_name().name() != "configuration" {
            return Err(ConfError::NotConfiguration {
                path: path.to_owned(),
                element: root.tag_name().name().to_owned(),
            });
        }
        self.files.push(path.to_owned());
        self.elements(path, root, depth, 0)
    }

    fn elements(
        &mut self,
        path: &Path,
        parent: Node<'_, '_>,
        depth: usize,
        nesting: usize,
    ) -> Result<(), ConfError> {
        if nesting > NESTING_LIMIT {
            return Ok(());
        }
        for element in parent.children().filter(Node::is_element) {
            match element.tag_name().name() {
                "property" => self.property(element),
                "configuration" => self.elements(path, element, depth, nesting + 1)?,
                "include" => self.include(path, element, depth, nesting)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn property(&mut self, property: Node<'_, '_>) {
        let child = |name: &str| {
            let found = property.children().find(|child| child.has_tag_name(name))?;
            Some(
                found
                    .descendants()
                    .filter_map(|node| node.is_text().then(|| node.text()).flatten())
                    .collect::<String>(),
            )
        };
        let part = |name: &str| child(name).or_else(|| property.attribute(name).map(str::to_owned));
        let Some(name) = part("name") else {
            return;
        };
        let name = deprecated::current(name.trim()).to_owned();
        let is_final = part("final").is_some_and(|text| text.trim() == "true");
        // A property without a value sets nothing, but may be final.
        if let Some(value) = part("value")
            && !self.finals.contains(&name)
        {
            self.values.insert(name.clone(), value);
        }
        if is_final {
            self.finals.insert(name);
        }
    }

    fn include(
        &mut self,
        path: &Path,
        include: Node<'_, '_>,
        depth: usize,
        nesting: usize,
    ) -> Result<(), ConfError> {
        let href = include.attribute("href").unwrap_or_default();
        let refuse = |problem| ConfError::Include {
            path: path.to_owned(),
            href: href.to_owned(),
            problem,
        };
        if depth >= DEPTH_LIMIT {
            return Err(refuse("files include each other in a circle, or too deep"));
        }
        let local = href
            .strip_prefix("file://")
            .or_else(|| href.strip_prefix("file:"));
        let local = local.unwrap_or(href);
        if local.is_empty() {
            return Err(refuse("it names no file"));
        }
        if local.contains("://") {
            return Err(refuse("only files are included"));
        }
        let target = path.parent().unwrap_or(Path::new("")).join(local);
        match load(&target) {
            Ok(text) => self.read_text(&target, &text, depth + 1),
            Err(error) => {
                let fallback = include
                    .children()
                    .find(|child| child.tag_name().name() == "fallback");
                match fallback {
                    Some(fallback) => self.elements(path, fallback, depth, nesting + 1),
                    None => Err(error),
                }
            }
        }
    }
}

/// The text of a file, if it is not beyond all measure.
fn load(path: &Path) -> Result<String, ConfError> {
    let read = |source: io::Error| ConfError::Read {
        path: path.to_owned(),
        source,
    };
    let file = fs::File::open(path).map_err(read)?;
    let mut bytes = Vec::new();
    let size = file
        .take(SIZE_LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(read)?;
    if size as u64 > SIZE_LIMIT {
        let size = fs::metadata(path).map_err(read)?.len();
        return Err(ConfError::TooLarge {
            path: path.to_owned(),
            size,
            limit: SIZE_LIMIT,
        });
    }
    encoding::decode(bytes).map_err(|encoding| ConfError::Encoding {
        path: path.to_owned(),
        encoding,
    })
}
