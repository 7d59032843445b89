//! A figure of a paper: tables, drawings of them, and what the paper claims of it.

use anyhow::{Context as _, Result};
use serde::Serialize;

use crate::Keys;
use crate::interval::MeanWithin;

/// Figures by what they are called on the command line, and what makes each of a world.
#[derive(Debug)]
pub struct Figures<World: 'static>(pub(crate) &'static [NamedFigure<World>]);

type NamedFigure<World> = (&'static str, fn(&World) -> Result<PaperFigure>);

impl<World> Figures<World> {
    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(name, _)| *name)
    }

    /// The names, for people: `fig4, fig7 or all`.
    #[must_use]
    pub fn listed(&self) -> String {
        let names: Vec<&str> = self.names().collect();
        format!("{} or all", names.join(", "))
    }

    /// The figure of this name, or with `all` each of them.
    ///
    /// # Errors
    ///
    /// There is no such figure, or a run does not come to its end.
    pub fn make(&self, name: &str, world: &World) -> Result<Vec<PaperFigure>> {
        if name == "all" {
            return self.0.iter().map(|(_, make)| make(world)).collect();
        }
        let named = self.0.iter().find(|(known, _)| *known == name);
        let (_, make) =
            named.with_context(|| format!("{name:?} is no figure; there is {}", self.listed()))?;
        Ok(vec![make(world)?])
    }
}

/// What the figures of a paper are made of, as the command line sets it.
pub trait FigureWorld: Default + 'static {
    /// The command: `hpe`.
    const NAME: &'static str;
    /// What [`set`](Self::set) takes.
    const KEYS: Keys;
    /// The figures.
    const FIGURES: Figures<Self>;

    /// Another setting, `KEY=VALUE`.
    ///
    /// # Errors
    ///
    /// There is no such key, or the value makes no sense for it.
    fn set(&mut self, text: &str) -> Result<()>;

    /// Other numbers for a job, `NAME:KEY=VALUE`.
    ///
    /// # Errors
    ///
    /// The figures have no such job, or the value makes no sense for it.
    fn set_job(&mut self, text: &str) -> Result<()> {
        anyhow::bail!(
            "--job {text}: the jobs of gerbil-sim {} are set with -D",
            Self::NAME
        )
    }
}

/// What a figure shows.
#[derive(Clone, Debug, Serialize)]
pub struct PaperFigure {
    /// `fig7`.
    pub name: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// What has to be known to read it.
    pub caption: Vec<String>,
    /// Its numbers.
    pub tables: Vec<FigureTable>,
    /// What the paper says of it.
    pub claims: Vec<Claim>,
    /// Its pictures.
    #[serde(skip)]
    pub drawings: Vec<Drawing>,
}

/// Numbers of one unit.
#[derive(Clone, Debug, Serialize)]
pub struct FigureTable {
    /// What they are.
    pub title: String,
    /// Of all of them.
    pub unit: &'static str,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// A series each.
    pub rows: Vec<FigureRow>,
}

/// A series.
#[derive(Clone, Debug, Serialize)]
pub struct FigureRow {
    /// Cluster, version, policy.
    pub name: String,
    /// One a column.
    pub values: Vec<f64>,
    /// What each may be off by, in as many columns, where that is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<f64>,
    /// Columns in which no other row is better.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub best: Vec<usize>,
}

/// Something that the paper says.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// The claim, in words.
    pub text: String,
    /// The paper's number.
    pub paper: String,
    /// What came out here, in the same form.
    pub ours: String,
    /// Whether it is so here.
    pub holds: bool,
}

/// A picture.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// `fig4a`.
    pub name: String,
    /// The picture as SVG.
    pub svg: String,
}

impl FigureRow {
    pub(crate) fn new(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self {
            name: name.into(),
            values,
            within: Vec::new(),
            best: Vec::new(),
        }
    }

    /// Means, each with what it may be off by where that is known.
    pub(crate) fn of_means(name: impl Into<String>, means: &[MeanWithin]) -> Self {
        let known = means.iter().all(|of| of.within.is_finite());
        let within = means.iter().filter(|_| known).map(|of| of.within);
        Self {
            within: within.collect(),
            ..Self::new(name, means.iter().map(|of| of.mean).collect())
        }
    }

    fn markdown(&self) -> String {
        let cells = self.values.iter().enumerate().map(|(column, value)| {
            let within = self.within.get(column);
            let within = within.map_or_else(String::new, |within| format!(" ± {within:.1}"));
            let cell = format!("{value:.1}{within}");
            match self.best.contains(&column) {
                true => format!("**{cell}**"),
                false => cell,
            }
        });
        let cells: Vec<String> = cells.collect();
        format!("| {} | {} |\n", self.name, cells.join(" | "))
    }
}

impl Claim {
    pub(crate) fn new(text: &str, paper: &str, ours: String, holds: bool) -> Self {
        Self {
            text: text.to_owned(),
            paper: paper.to_owned(),
            ours,
            holds,
        }
    }
}

impl PaperFigure {
    /// As a section of a page.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!("## {}: {}\n", self.name, self.title);
        for line in &self.caption {
            text.push_str(&format!("\n{line}\n"));
        }
        for table in &self.tables {
            text.push_str(&table.markdown());
        }
        if !self.claims.is_empty() {
            text.push_str("\n| claim | paper | here | holds |\n|---|---|---|---|\n");
        }
        for claim in &self.claims {
            let Claim {
                text: said,
                paper,
                ours,
                holds,
            } = claim;
            text.push_str(&format!("| {said} | {paper} | {ours} | {holds} |\n"));
        }
        for drawing in &self.drawings {
            text.push_str(&format!("\n![{0}]({0}.svg)\n", drawing.name));
        }
        text
    }
}

impl FigureTable {
    /// Marks the least of each column.
    pub(crate) fn with_least_marked(mut self) -> Self {
        for column in 0..self.columns.len() {
            let at = |row: &FigureRow| row.values.get(column).copied();
            let least = self
                .rows
                .iter()
                .filter_map(at)
                .fold(f64::INFINITY, f64::min);
            for row in &mut self.rows {
                if at(row).is_some_and(|value| value <= least) {
                    row.best.push(column);
                }
            }
        }
        self
    }

    fn markdown(&self) -> String {
        let columns = self.columns.join(" | ");
        let dashes = "---|".repeat(self.columns.len());
        let mut text = format!(
            "\n{}, {}:\n\n| | {columns} |\n|---|{dashes}\n",
            self.title, self.unit
        );
        for row in &self.rows {
            text.push_str(&row.markdown());
        }
        text
    }
}
