//! The thirteen applications of DyScale's Table 2.

use anyhow::{Result, bail};

use super::data::Data;

/// Bytes of a split, at most; each file is one.
pub(crate) const SPLIT: &str = "16777216";

/// An application; the order is the paper's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Application {
    pub(crate) name: &'static str,
    /// The example of `gerbil-mapreduce`, and its own options.
    pub(crate) program: &'static str,
    pub(crate) options: &'static str,
    pub(crate) input: Data,
    /// The paper has 28 for seven nodes, 1 or 50: a seventh, for a node.
    pub(crate) reduces: u32,
    /// Jobs that it is made of.
    pub(crate) jobs: u32,
    /// GB of the paper's input, map output and output.
    pub(crate) paper: [f64; 3],
    /// What the paper says of it in words; `None`: nothing.
    pub(crate) said: Option<Said>,
}

/// What the paper calls some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// "Both shuffle-heavy and write-heavy".
    Heavy,
    /// "Shuffle-light and write-light".
    Light,
}

/// All of them.
pub(crate) const SUITE: [Application; 13] = [
    Application {
        program: "tera",
        options: "--job terasort",
        said: Some(Said::Heavy),
        ..of("TeraSort", Data::Rows, [31.0, 31.0, 31.0])
    },
    Application {
        program: "wordcount",
        ..of("WordCount", Data::Text, [50.0, 9.8, 5.6])
    },
    Application {
        program: "grep",
        // One of the rarest words.
        options: "--pattern wccd[0-9a-f]",
        reduces: 1,
        jobs: 2,
        said: Some(Said::Light),
        ..of("Grep", Data::Text, [50.0, 3e-8, 1e-8])
    },
    Application {
        program: "invertedindex",
        ..of("InvertedIndex", Data::Text, [50.0, 10.5, 8.6])
    },
    Application {
        options: "--application rankedinvertedindex",
        said: Some(Said::Heavy),
        ..of("RankedInvertedIndex", Data::Sequences, [46.0, 48.0, 45.0])
    },
    Application {
        options: "--application termvector",
        ..of("TermVector", Data::Text, [50.0, 4.1, 0.002])
    },
    Application {
        options: "--application sequencecount",
        said: Some(Said::Heavy),
        ..of("SequenceCount", Data::Text, [50.0, 45.0, 39.0])
    },
    Application {
        options: "--application selfjoin",
        ..of("SelfJoin", Data::Lists, [28.0, 25.0, 0.15])
    },
    Application {
        options: "--application adjacencylist",
        ..of("AdjacencyList", Data::Edges, [28.0, 11.0, 11.0])
    },
    Application {
        options: "--application histmovies",
        reduces: 1,
        said: Some(Said::Light),
        ..of("HistMovies", Data::Movies, [27.0, 3e-5, 7e-8])
    },
    Application {
        options: "--application histratings",
        reduces: 1,
        said: Some(Said::Light),
        ..of("HistRatings", Data::Movies, [27.0, 2e-5, 6e-8])
    },
    Application {
        options: "--application classification",
        reduces: 7,
        said: Some(Said::Light),
        ..of("Classification", Data::Movies, [27.0, 0.008, 0.006])
    },
    Application {
        program: "kmeans",
        options: "--k 8 --rounds 1",
        // Its own: all centres are one file.
        reduces: 1,
        said: Some(Said::Heavy),
        ..of("KMeans", Data::Points, [27.0, 27.0, 27.0])
    },
];

/// One of the example `dyscale`, with as many reduces as most have.
const fn of(name: &'static str, input: Data, paper: [f64; 3]) -> Application {
    Application {
        name,
        program: "dyscale",
        options: "",
        input,
        reduces: 4,
        jobs: 1,
        paper,
        said: None,
    }
}

/// Those of these names, in the suite's order; all where there is no name.
pub(crate) fn named(names: &[String]) -> Result<Vec<Application>> {
    let is = |one: &Application, name: &str| one.name.eq_ignore_ascii_case(name);
    for name in names {
        if !SUITE.iter().any(|one| is(one, name)) {
            let known: Vec<&str> = SUITE.iter().map(|one| one.name).collect();
            bail!("--only {name}: known are {}", known.join(", "));
        }
    }
    let is_meant = |one: &&Application| names.is_empty() || names.iter().any(|name| is(one, name));
    Ok(SUITE.iter().filter(is_meant).copied().collect())
}

/// What these applications read, each after what it is made of.
pub(crate) fn inputs(of: &[Application]) -> Vec<Data> {
    let mut all = Vec::new();
    for one in of {
        for data in one.input.needs().iter().chain([&one.input]) {
            if !all.contains(data) {
                all.push(*data);
            }
        }
    }
    all
}

impl Application {
    /// Folders that it reads.
    pub(crate) fn operands(&self) -> Vec<String> {
        let first = (self.input == Data::Points).then_some(Data::Centres);
        let all = first.into_iter().chain([self.input]);
        all.map(Data::folder).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applications_are_found_by_name_and_their_input_is_made_in_order() {
        let names = ["kmeans", "RankedInvertedIndex"].map(ToOwned::to_owned);
        let found = named(&names).unwrap();
        let found_names: Vec<&str> = found.iter().map(|one| one.name).collect();
        assert_eq!(found_names, ["RankedInvertedIndex", "KMeans"]);
        assert_eq!(
            inputs(&found),
            [Data::Less, Data::Sequences, Data::Centres, Data::Points]
        );
        assert_eq!(
            found[1].operands(),
            ["/in/points-centres", "/in/points"],
            "the first centres are read first"
        );
        assert_eq!(named(&[]).unwrap().len(), 13);
        let error = named(&["sort".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("TeraSort"), "{error}");
    }
}
