//! What the applications read, and how it is made.

/// Bytes of a file that is made, at most: less than a split of 16 MiB.
const FILE: u64 = 16_000_000;
/// Of `tera`'s rows.
const ROW: u64 = 100;
/// SequenceCount leaves some times what it reads; of so much less text its output is about as long as other input.
const FOLD: u64 = 5;

/// What applications read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Data {
    Rows,
    Text,
    /// What SequenceCount reads for [`Data::Sequences`].
    Less,
    Sequences,
    Lists,
    Edges,
    Movies,
    Points,
    /// One small file of them, of which the first are centres.
    Centres,
}

/// How a folder of input is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Making {
    pub(crate) program: &'static str,
    pub(crate) words: Vec<String>,
}

impl Data {
    const fn word(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Text | Self::Less => "text",
            Self::Sequences => "sequences",
            Self::Lists => "lists",
            Self::Edges => "edges",
            Self::Movies => "movies",
            Self::Points | Self::Centres => "points",
        }
    }

    /// What is made before.
    pub(crate) const fn needs(self) -> &'static [Self] {
        match self {
            Self::Sequences => &[Self::Less],
            Self::Points => &[Self::Centres],
            _ => &[],
        }
    }

    /// In HDFS.
    pub(crate) fn folder(self) -> String {
        let part = match self {
            Self::Less => "-less",
            Self::Centres => "-centres",
            _ => "",
        };
        format!("/in/{}{part}", self.word())
    }

    /// By which so many megabytes of it are made.
    pub(crate) fn making(self, megabytes: u64, seed: u64) -> Making {
        let megabytes = match self {
            Self::Less | Self::Sequences => megabytes.div_ceil(FOLD),
            Self::Centres => 1,
            _ => megabytes,
        };
        let bytes = megabytes.saturating_mul(1_000_000);
        let files = bytes.div_ceil(FILE);
        let folder = self.folder();
        let (program, words) = match self {
            Self::Rows => {
                let rows = bytes / ROW;
                let line = format!("-D mapreduce.job.maps={files} --job teragen {rows} {folder}");
                ("tera", line)
            }
            Self::Sequences => {
                // Files that are no longer than others.
                let reduces = files * FOLD;
                let line = format!(
                    "-D mapreduce.job.reduces={reduces} --application sequencecount {} {folder}",
                    Self::Less.folder()
                );
                ("dyscale", line)
            }
            _ => {
                let line = format!(
                    "--make {} --mb {megabytes} --seed {seed} {files} {folder}",
                    self.word()
                );
                ("dyscale", line)
            }
        };
        Making {
            program,
            words: words.split(' ').map(ToOwned::to_owned).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::suite::SPLIT;
    use super::*;

    #[test]
    fn as_many_bytes_are_made_as_asked_for_in_files_of_a_split() {
        let words = |data: Data| data.making(512, 9).words.join(" ");
        assert_eq!(
            words(Data::Movies),
            "--make movies --mb 512 --seed 9 32 /in/movies"
        );
        assert_eq!(
            words(Data::Rows),
            "-D mapreduce.job.maps=32 --job teragen 5120000 /in/rows"
        );
        assert_eq!(
            words(Data::Less),
            "--make text --mb 103 --seed 9 7 /in/text-less"
        );
        assert_eq!(
            words(Data::Sequences),
            "-D mapreduce.job.reduces=35 --application sequencecount /in/text-less /in/sequences"
        );
        let split: u64 = SPLIT.parse().unwrap();
        assert!(FILE < split);
    }
}
