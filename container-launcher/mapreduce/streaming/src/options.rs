//! The options of Hadoop Streaming, and of Hadoop before them: what each of them takes, and why some are not taken.

/// How many words behind an option are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    One,
    /// All up to the next option, one at least.
    Several,
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It does what Hadoop does.
    Taken,
    /// The job is the same without it: why.
    Idle(&'static str),
    /// Hadoop has it and we do not: why, and what instead.
    Refused(&'static str),
}

/// An option: its name behind the hyphen, what stands for its words in the help, what it means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamOption {
    pub(crate) name: &'static str,
    pub(crate) takes: Takes,
    pub(crate) shown: &'static str,
    pub(crate) fate: Fate,
    pub(crate) meaning: &'static str,
}

const fn taken(
    name: &'static str,
    takes: Takes,
    shown: &'static str,
    meaning: &'static str,
) -> StreamOption {
    StreamOption {
        name,
        takes,
        shown,
        fate: Fate::Taken,
        meaning,
    }
}

const fn idle(
    name: &'static str,
    takes: Takes,
    shown: &'static str,
    why: &'static str,
) -> StreamOption {
    StreamOption {
        name,
        takes,
        shown,
        fate: Fate::Idle(why),
        meaning: why,
    }
}

const fn refused(name: &'static str, takes: Takes, why: &'static str) -> StreamOption {
    StreamOption {
        name,
        takes,
        shown: "",
        fate: Fate::Refused(why),
        meaning: why,
    }
}

const CONF: &str = "settings come from the folder that HADOOP_CONF_DIR names, and from -D";
const DEBUG: &str = "no script is run for a task that fails: the last lines that its command said stand in the sentence, and \
                     gerbil logs JOB m3 prints all of them";
const ON_HDFS: &str =
    "files of a job are brought from this machine: hdfs dfs -get it here first, then -files";

/// All of them.
pub(crate) const OPTIONS: &[StreamOption] = &[
    taken(
        "input",
        Takes::Several,
        "PATH...",
        "files, folders, lists and patterns to read; it may be given several times",
    ),
    taken(
        "output",
        Takes::One,
        "PATH",
        "the new folder that is written",
    ),
    taken(
        "mapper",
        Takes::One,
        "COMMAND",
        "what each map runs; without it lines go on as they are",
    ),
    taken(
        "reducer",
        Takes::One,
        "COMMAND",
        "what each reduce runs; NONE: there are no reduces; aggregate: keys say how their values are joined, as LongValueSum:words; without it records go on as they are",
    ),
    taken(
        "combiner",
        Takes::One,
        "COMMAND",
        "what each map runs on its sorted records before it hands them on, lines in and out as of a reducer; or aggregate",
    ),
    taken(
        "numReduceTasks",
        Takes::One,
        "N",
        "number of reduces, 1 without; 0: none",
    ),
    taken(
        "files",
        Takes::One,
        "FILE,...",
        "files of this machine that commands find in their working folder; FILE#NAME: under another name",
    ),
    taken(
        "file",
        Takes::Several,
        "FILE...",
        "the same; it may be given several times",
    ),
    taken(
        "archives",
        Takes::One,
        "FILE,...",
        "the same, unpacked into a folder of that name: .tar, .tar.gz, .tgz; with --local also .zip and .jar",
    ),
    taken(
        "cmdenv",
        Takes::One,
        "NAME=VALUE",
        "a variable of the commands",
    ),
    taken(
        "inputformat",
        Takes::One,
        "CLASS",
        "TextInputFormat, KeyValueTextInputFormat, NLineInputFormat, SequenceFileInputFormat or SequenceFileAsTextInputFormat, by short or full name",
    ),
    taken(
        "inputreader",
        Takes::One,
        "READER",
        "StreamXmlRecordReader,begin=MARK,end=MARK: records from mark to mark, with a tab and the end of a line behind each",
    ),
    taken("outputformat", Takes::One, "CLASS", "TextOutputFormat"),
    taken(
        "partitioner",
        Takes::One,
        "CLASS",
        "HashPartitioner or KeyFieldBasedPartitioner, by short or full name",
    ),
    taken(
        "lazyOutput",
        Takes::Nothing,
        "",
        "a task that writes nothing leaves no part file",
    ),
    taken(
        "io",
        Takes::One,
        "FORM",
        "how records are written for commands and printed by them: text (lines), rawbytes or typedbytes",
    ),
    taken(
        "D",
        Takes::One,
        "NAME=VALUE",
        "a setting, by Hadoop's name of today or before",
    ),
    taken("jobconf", Takes::One, "NAME=VALUE", "the same"),
    idle(
        "verbose",
        Takes::Nothing,
        "",
        "there is nothing more to be said",
    ),
    idle("debug", Takes::Nothing, "", "no file is left behind"),
    taken("info", Takes::Nothing, "", "this text"),
    taken("help", Takes::Nothing, "", "this text"),
    refused("cacheFile", Takes::Several, ON_HDFS),
    refused(
        "cacheArchive",
        Takes::Several,
        "archives of a job are brought from this machine: hdfs dfs -get it here first, then -archives",
    ),
    refused(
        "background",
        Takes::Nothing,
        "gerbil mr --detach streaming … leaves the job to the cluster, and gerbil attach shows it again",
    ),
    refused("mapdebug", Takes::One, DEBUG),
    refused("reducedebug", Takes::One, DEBUG),
    refused(
        "libjars",
        Takes::One,
        "gerbil runs no Java: mapper and reducer are commands, and formats those that -info lists",
    ),
    refused("conf", Takes::One, CONF),
    refused("additionalconfspec", Takes::One, CONF),
    refused("fs", Takes::One, CONF),
    refused("dfs", Takes::One, CONF),
    refused(
        "jt",
        Takes::One,
        "the cluster is that of HADOOP_CONF_DIR; gerbil mr --local streaming … runs on this machine alone",
    ),
    refused(
        "tokenCacheFile",
        Takes::One,
        "tokens are those that gerbil gets by itself",
    ),
];

/// Those of gerbil, which have two hyphens and go on to the engine.
pub(crate) const OWN: [(&str, Takes); 6] = [
    ("local", Takes::Nothing),
    ("slots", Takes::One),
    ("quiet", Takes::Nothing),
    ("skip-bad", Takes::One),
    ("report", Takes::One),
    ("recursive", Takes::Nothing),
];

#[cfg(test)]
mod tests {
    use super::OPTIONS;

    #[test]
    fn each_option_of_hadoop_streaming_has_a_fate() {
        // Those of StreamJob and of GenericOptionsParser of Hadoop 3.4.
        let hadoop = "input output mapper combiner reducer file dfs additionalconfspec inputformat outputformat partitioner \
                      numReduceTasks inputreader mapdebug reducedebug jobconf cmdenv cacheFile cacheArchive io background \
                      verbose info debug help lazyOutput D conf fs jt files libjars archives tokenCacheFile";
        let mut all: Vec<&str> = hadoop.split_whitespace().collect();
        let mut known: Vec<&str> = OPTIONS.iter().map(|option| option.name).collect();
        all.sort_unstable();
        known.sort_unstable();
        assert_eq!(known, all);
    }
}
