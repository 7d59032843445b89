//! What there is to know, as text.

use crate::options::{Fate, OPTIONS, Takes};

/// The help.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "Usage: gerbil mr [OPTIONS OF gerbil mr] streaming -input PATH -output PATH -mapper COMMAND [OPTIONS]\n       gerbil mr \
         [OPTIONS OF gerbil mr] jar ANY/hadoop-streaming.jar [THE SAME]\n\nRuns commands as mapper and reducer, as Hadoop \
         Streaming does: a mapper reads lines on its standard input\nand prints a record a line, the key up to the first tab. \
         A reducer reads the records of each key in a row.\ngerbil mr --local streaming runs on this machine alone.\n\nOptions:\n",
    );
    for option in OPTIONS.iter().filter(|option| !is_refused(option.fate)) {
        let word = match option.takes {
            Takes::Nothing => format!("-{}", option.name),
            Takes::One | Takes::Several => format!("-{} {}", option.name, option.shown),
        };
        text.push_str(&format!("  {word:<24} {}\n", option.meaning));
    }
    text.push_str("\nNot taken:\n");
    for option in OPTIONS.iter().filter(|option| is_refused(option.fate)) {
        text.push_str(&format!("  -{:<23} {}\n", option.name, option.meaning));
    }
    text.push_str(SETTINGS);
    text
}

const fn is_refused(fate: Fate) -> bool {
    matches!(fate, Fate::Refused(_))
}

const SETTINGS: &str = "
Settings, for -D, beside those of all jobs (gerbil mr --help):
  stream.map.output.field.separator, stream.reduce.output.field.separator    what ends a field that a command prints [tab]
  stream.num.map.output.key.fields, stream.num.reduce.output.key.fields      fields that make the key [1]
  stream.map.input.field.separator, stream.reduce.input.field.separator      what is written between key and value [tab]
  stream.map.input, stream.map.output, stream.reduce.input, stream.reduce.output
                                       the same as -io of one of them alone: text, rawbytes or typedbytes [text]
  stream.map.input.ignoreKey           whether the mapper is handed no keys [true for TextInputFormat]
  mapreduce.map.output.key.field.separator     what separates the fields of a key [tab]
  mapreduce.partition.keypartitioner.options   with -partitioner KeyFieldBasedPartitioner: the parts of a key that say which
                                               reduce gets it, -k1,2
  mapreduce.partition.keycomparator.options    with mapreduce.job.output.key.comparator.class=KeyFieldBasedComparator: what
                                               keys are compared by, -k2,2nr
  stream.non.zero.exit.is.failure      whether an exit code other than 0 fails the task [true]
  stream.minRecWrittenToEnableSkip_    records after which a command may leave any of its input unread; without it 128 KiB
                                       of it at the most, 0: always
  stream.stderr.reporter.prefix        what begins a line for the framework [reporter:]
  stream.jobconf.truncate.limit        letters of a setting's value that a command's variable has at the most [-1: all]

--skip-bad N leaves out up to N records of each map, and N keys of each reduce, on which the command fails, and names them.

A command says reporter:counter:GROUP,NAME,NUMBER and reporter:status:TEXT on its standard error; what else it says there
is in the log of its task (gerbil logs JOB m3). It finds the settings as variables, dots as underscores, and
mapreduce_map_input_file, mapreduce_task_partition, mapreduce_task_attempt_id, mapreduce_job_id and the like.

  gerbil mr streaming -input books -output counts -mapper 'python3 mapper.py' -reducer 'python3 reducer.py' \\
    -files mapper.py,reducer.py -numReduceTasks 4
";
