//! Hydra's patterns for labels and file names: `%r` the rank, `%h` its host, `%p` the number of its node
//! in the job, `%g` the number of its process group, `%%` a percent sign.

use std::fmt::Write as _;

use terminal::Foreign;

/// A text with places for what differs between ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<PatternPiece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternPiece {
    Text(String),
    Rank,
    Host,
    Node,
}

/// What a pattern is about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its rank.
    pub rank: u32,
    /// As YARN names it.
    pub host: &'a str,
    /// The node's place among the job's nodes, from 0.
    pub node: u32,
}

/// The number of a job's one process group.
const GROUP: char = '0';

impl Pattern {
    /// # Errors
    /// One sentence: a specifier that is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                plain.push(letter);
                continue;
            }
            let piece = match letters.next() {
                Some('%') => {
                    plain.push('%');
                    continue;
                }
                Some('g') => {
                    plain.push(GROUP);
                    continue;
                }
                Some('r') => PatternPiece::Rank,
                Some('h') => PatternPiece::Host,
                Some('p') => PatternPiece::Node,
                Some(other) => {
                    return Err(format!(
                        "%{other} means nothing; %r, %h, %p, %g and %% are possible"
                    ));
                }
                None => return Err("nothing stands behind the last %; %% is a percent sign".into()),
            };
            if !plain.is_empty() {
                pieces.push(PatternPiece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(piece);
        }
        if !plain.is_empty() {
            pieces.push(PatternPiece::Text(plain));
        }
        match pieces.is_empty() {
            true => Err("a pattern wants a text".into()),
            false => Ok(Self(pieces)),
        }
    }

    /// `[%r] `, the label of Hydra's `-prepend-rank`.
    pub fn label() -> Self {
        let text = |text: &str| PatternPiece::Text(text.to_owned());
        Self(vec![text("["), PatternPiece::Rank, text("] ")])
    }

    /// The text for one rank.
    pub fn of(&self, subject: Subject<'_>) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                PatternPiece::Text(plain) => text.push_str(plain),
                PatternPiece::Host => text.push_str(&Foreign::name(subject.host).to_string()),
                PatternPiece::Rank | PatternPiece::Node => {
                    let number = match piece {
                        PatternPiece::Node => subject.node,
                        _ => subject.rank,
                    };
                    // A text takes everything.
                    let _written = write!(text, "{number}").is_ok();
                }
            }
        }
        text
    }

    /// What stands before the first place.
    pub fn beginning(&self) -> &str {
        match self.0.first() {
            Some(PatternPiece::Text(text)) => text,
            Some(_) | None => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_filled() {
        let subject = Subject {
            rank: 12,
            host: "node7",
            node: 3,
        };
        let filled = |text: &str| Pattern::parse(text).unwrap().of(subject);
        assert_eq!(filled("out/%h/%r.%p-%g"), "out/node7/12.3-0");
        assert_eq!(filled("100%% %r"), "100% 12");
        assert_eq!(Pattern::label().of(subject), "[12] ");
        assert_eq!(Pattern::parse("a/%g/b.%r").unwrap().beginning(), "a/0/b.");
        assert_eq!(Pattern::parse("%r").unwrap().beginning(), "");
        for (bad, word) in [("x%", "last %"), ("%t", "%t means nothing"), ("", "wants")] {
            assert!(Pattern::parse(bad).unwrap_err().contains(word), "{bad}");
        }
    }
}
