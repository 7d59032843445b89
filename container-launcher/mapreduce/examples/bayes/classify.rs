//! Maps: the likeliest class of each document.

use std::sync::Arc;

use fpga_driver::bayes::{BayesTable, Classes, Document, DocumentsPacket, LoadPacket};
use gerbil_mapreduce::fpga::Function;
use gerbil_mapreduce::fpga::client::{Layout, SerializePacket, Unfit};
use gerbil_mapreduce::fpga::work::MOST_STEPS;
use gerbil_mapreduce::prelude::*;
use gerbil_mapreduce::{AcceleratedMapper, Table};

use super::document::{self, Kinds};

/// Group of the counters.
const BAYES: &str = "bayes";

/// What all packets of a map name.
struct Model {
    id: u64,
    table: BayesTable,
}

/// What loads it.
struct Load(Arc<Model>);

impl SerializePacket for Load {
    fn serialize(&self, block: &mut [u8]) -> Result<Layout, Unfit> {
        let Model { id, table } = &*self.0;
        LoadPacket { model: *id, table }.serialize(block)
    }
}

/// What goes to a board.
pub struct Packet {
    model: Arc<Model>,
    documents: Vec<Document>,
    /// Of each document, where that is known.
    classes: Vec<Option<u32>>,
    /// Words of four bytes.
    words: usize,
}

impl SerializePacket for Packet {
    fn serialize(&self, block: &mut [u8]) -> Result<Layout, Unfit> {
        let packet = DocumentsPacket {
            model: self.model.id,
            terms: self.model.table.terms(),
            documents: &self.documents,
        };
        packet.serialize(block)
    }
}

impl Packet {
    const fn empty(model: Arc<Model>) -> Self {
        Self {
            model,
            documents: Vec::new(),
            classes: Vec::new(),
            words: 0,
        }
    }
}

/// Sorts the documents of a split.
#[derive(Default)]
pub struct Classify {
    kinds: Kinds,
    /// Words of a packet.
    most: usize,
    next: Option<Packet>,
}

impl Classify {
    fn next(&mut self) -> Result<&mut Packet> {
        let next = self.next.as_mut();
        next.ok_or_else(|| Error::new("a document before setup"))
    }
}

impl AcceleratedMapper for Classify {
    type Input = TextLines;
    /// The document's number.
    type Key = u32;
    /// Its class.
    type Value = u32;
    type Packet = Packet;
    type Answer = Classes;

    const FUNCTION: Function = Function::BayesMap;

    fn setup(&mut self, context: &mut Context, block: usize) -> Result<()> {
        let (classes, logs): (usize, Vec<i32>) = context.params()?;
        let table = BayesTable { classes, logs };
        let needed = table.logs.len() * 4;
        if needed > block || u16::try_from(table.terms()).is_err() {
            let terms = table.terms();
            return Err(Error::new(format!(
                "a table of {classes} classes and {terms} terms is {needed} bytes: a block has {block}, and a packet's \
                 header counts up to {} terms: lower --classes or --terms",
                u16::MAX
            )));
        }
        self.kinds = Kinds {
            classes: u32::try_from(classes)?,
            terms: u32::try_from(table.terms())?,
        };
        let steps = usize::try_from(MOST_STEPS)? / classes.max(1);
        self.most = steps.min(block / 4);
        let id = table.model();
        self.next = Some(Packet::empty(Arc::new(Model { id, table })));
        Ok(())
    }

    fn table(&mut self) -> Result<Option<Table>> {
        let model = Arc::clone(&self.next()?.model);
        Ok(Some(Table::new(Load(model))))
    }

    fn map(&mut self, _: u64, line: &[u8], _: &mut Context) -> Result<Option<Packet>> {
        let mut terms = Vec::new();
        let read = document::read(line, self.kinds, &mut terms);
        let (key, class) = read.map_err(|reason| Error::new(reason.to_string()))?;
        // Its number, and how many terms it has.
        let words = 2 + terms.len();
        let most = self.most;
        if words > most {
            let terms = terms.len();
            let words = format!("{terms} terms are more than the {} of a packet", most - 2);
            return Err(Error::new(words));
        }
        let next = self.next()?;
        let is_full = next.words + words > most;
        let empty = is_full.then(|| Packet::empty(Arc::clone(&next.model)));
        let full = empty.map(|empty| std::mem::replace(next, empty));
        next.words += words;
        next.classes.push(class);
        next.documents.push(Document { key, terms });
        Ok(full)
    }

    fn rest(&mut self) -> Result<Option<Packet>> {
        Ok(self.next.take().filter(|rest| !rest.documents.is_empty()))
    }

    fn on_cpu(&mut self, packet: &Packet) -> Result<Classes> {
        let table = &packet.model.table;
        let classify = |document: &Document| {
            let class = table.classify(&document.terms);
            let class = class.ok_or_else(|| Error::new("a term that there is not"))?;
            Ok((document.key, class))
        };
        let classes: Result<_> = packet.documents.iter().map(classify).collect();
        classes.map(Classes)
    }

    fn answer(
        &mut self,
        packet: &Packet,
        Classes(found): Classes,
        out: &mut Output<'_, u32, u32>,
    ) -> Result<()> {
        if found.len() != packet.documents.len() {
            let (found, sent) = (found.len(), packet.documents.len());
            return Err(Error::new(format!("{found} classes of {sent} documents")));
        }
        for ((key, class), known) in found.iter().zip(&packet.classes) {
            out.emit(key, class)?;
            if let Some(known) = known {
                let counter = match known == class {
                    true => "RIGHT",
                    false => "WRONG",
                };
                out.count(BAYES, counter, 1);
            }
        }
        Ok(())
    }
}
