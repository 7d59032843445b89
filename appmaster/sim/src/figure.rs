//! A figure of a paper: tables, drawings of them, and what the paper claims of it.

use serde::Serialize;

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
        let name = name.into();
        Self { name, values }
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
    fn markdown(&self) -> String {
        let columns = self.columns.join(" | ");
        let dashes = "---|".repeat(self.columns.len());
        let mut text = format!(
            "\n{}, {}:\n\n| | {columns} |\n|---|{dashes}\n",
            self.title, self.unit
        );
        for row in &self.rows {
            let values = row.values.iter().map(|value| format!("{value:.1}"));
            let values: Vec<String> = values.collect();
            text.push_str(&format!("| {} | {} |\n", row.name, values.join(" | ")));
        }
        text
    }
}
