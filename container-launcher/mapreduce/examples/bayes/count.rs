//! Maps that count: documents of each class, and how often each term is in them.

use fpga_driver::bayes;
use gerbil_mapreduce::prelude::*;

use super::document::{self, Kinds};

/// Counts of a split, in the shape of the table: a row of classes for the documents, and one for each term.
#[derive(Default)]
pub struct Counts {
    kinds: Kinds,
    classes: usize,
    counts: Vec<u64>,
    terms: Vec<u32>,
}

impl Mapper for Counts {
    type Input = TextLines;
    /// The cell of the table.
    type Key = u64;
    type Value = u64;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        let (classes, terms) = (context.option("classes")?, context.option("terms")?);
        self.kinds = Kinds { classes, terms };
        self.classes = usize::try_from(classes)?;
        self.counts = vec![0; (usize::try_from(terms)? + 1) * self.classes];
        Ok(())
    }

    fn map(&mut self, _: u64, line: &[u8], _: &mut Emit<'_, Self>) -> Result<()> {
        self.terms.clear();
        let read = document::read(line, self.kinds, &mut self.terms);
        let (_, class) = read.map_err(|reason| Error::new(reason.to_string()))?;
        // A document whose class is not known teaches nothing.
        if let Some(class) = class {
            let class = usize::try_from(class)?;
            bayes::count(&mut self.counts, self.classes, class, &self.terms);
        }
        Ok(())
    }

    fn cleanup(&mut self, out: &mut Emit<'_, Self>) -> Result<()> {
        for (cell, count) in (0_u64..).zip(&self.counts) {
            if *count > 0 {
                out.emit(&cell, count)?;
            }
        }
        Ok(())
    }
}
