//! AdjacencyList: for each vertex those with an edge to it, and those that it has an edge to.
//!
//! A line of the input is an edge: two vertices with a comma between, from and to; the same edge twice is one.

use std::borrow::Cow;

use gerbil_mapreduce::Ready;
use gerbil_mapreduce::prelude::*;

pub(crate) const NAME: &str = "adjacencylist";

/// What the other vertex is.
const FROM: u8 = 0;
const TO: u8 = 1;

pub(crate) fn job() -> Ready<Text, Text> {
    super::application(NAME)
        .map(|| Edges)
        .combine(|| super::Once)
        .group_by_first()
        .reduce(|| Neighbours)
}

struct Edges;

impl Mapper for Edges {
    type Input = TextLines;
    /// A vertex, and which way the edge goes to or from the other one.
    type Key = (Text, (u8, Text));
    type Value = ();

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let Some(comma) = line.iter().rposition(|byte| *byte == b',') else {
            return Err(Error::new("an edge is two vertices with a comma between"));
        };
        let (from, to) = line.split_at(comma);
        let to = to.get(1..).unwrap_or_default();
        out.emit(&(from, (TO, to)), &())?;
        out.emit(&(to, (FROM, from)), &())
    }
}

struct Neighbours;

impl Reducer<(Text, (u8, Text)), ()> for Neighbours {
    type Key = Text;
    type Value = Text;

    fn reduce(
        &mut self,
        (vertex, _): (Cow<'_, [u8]>, (u8, &[u8])),
        edges: &mut Values<'_, (Text, (u8, Text)), ()>,
        out: &mut Output<'_, Text, Text>,
    ) -> Result<()> {
        let mut line = b"from{".to_vec();
        let mut before: Option<(u8, Vec<u8>)> = None;
        while let Some(((_, (way, other)), ())) = edges.next_pair()? {
            let (is_same_way, is_same) = match &before {
                Some((same, last)) => (*same == way, *same == way && last == other),
                None => (way == FROM, false),
            };
            if is_same {
                continue;
            }
            if !is_same_way {
                line.extend_from_slice(b"}:to{");
            } else if before.is_some() {
                line.push(b',');
            }
            line.extend_from_slice(other);
            before = Some((way, other.to_vec()));
        }
        let end: &[u8] = match before {
            Some((TO, _)) => b"}",
            Some(_) | None => b"}:to{}",
        };
        line.extend_from_slice(end);
        out.emit(&vertex, &line)
    }
}
