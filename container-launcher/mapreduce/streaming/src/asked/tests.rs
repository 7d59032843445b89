use std::ffi::OsString;

use super::{Asked, asked};
use crate::here::Here;
use crate::plan::Stage;

/// A machine with a few files, one of them called like a program.
struct Few;

impl Here for Few {
    fn is_file(&self, name: &str) -> bool {
        [
            "mapper.py",
            "./mapper.py",
            "bin/m.sh",
            "count.awk",
            "cut",
            "./cut",
        ]
        .contains(&name)
    }

    fn is_there(&self, name: &str) -> bool {
        name != "nothere.py"
    }

    fn is_in_path(&self, program: &str) -> bool {
        ["cut", "cat", "awk"].contains(&program)
    }
}

fn of(words: &[&str]) -> Result<Asked, String> {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    asked(&words, &Few)
}

fn line(line: &str) -> Result<Asked, String> {
    of(&line.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn an_old_command_line_is_understood() {
    let found = of(&[
        "-D",
        "mapred.reduce.tasks=7",
        "-Dstream.num.map.output.key.fields=2",
        "-files",
        "mapper.py,lib/r.py#reducer.py",
        "-input",
        "a",
        "b,c",
        "-output",
        "out",
        "-input",
        "d",
        "-mapper",
        "python3 mapper.py -v",
        "-reducer",
        "reducer.py",
        "-numReduceTasks",
        "4",
        "-file",
        "x/data.txt",
        "-cmdenv",
        "A=b=c",
        "-inputformat",
        "org.apache.hadoop.mapred.lib.NLineInputFormat",
        "-archives",
        "dict.zip#dict",
        "--local",
    ])
    .unwrap();
    assert_eq!(found.inputs, ["a", "b,c", "d"]);
    assert_eq!(found.output, "out");
    assert_eq!(
        found.plan.map,
        Stage::Command("python3 mapper.py -v".into())
    );
    assert_eq!(found.plan.reduce, Stage::Command("reducer.py".into()));
    assert_eq!(
        found.plan.links,
        ["mapper.py", "reducer.py", "data.txt", "dict"]
    );
    assert_eq!(found.plan.environment, [("A".into(), "b=c".into())]);
    assert!(found.is_local);
    assert_eq!(
        found.options,
        [
            "--local",
            "-D",
            "stream.map.input.format=nline",
            "-D",
            "stream.num.map.output.key.fields=2",
            "-D",
            "mapreduce.job.reduces=4"
        ]
    );
}

#[test]
fn a_program_that_comes_along_is_called_by_its_name() {
    let found = of(&[
        "-input",
        "a",
        "-output",
        "b",
        "-mapper",
        "bin/m.sh x y",
        "-file",
        "bin/m.sh",
        "-reducer",
        "NONE",
    ]);
    let found = found.unwrap();
    assert_eq!(found.plan.map, Stage::Command("m.sh x y".into()));
    assert_eq!(found.options, ["-D", "mapreduce.job.reduces=0"]);
}

#[test]
fn what_cannot_be_is_said_in_a_sentence() {
    for (words, said) in [
        ("-output b -mapper cat", "-input PATH is needed"),
        ("-input a -mapper cat", "-output PATH is needed"),
        (
            "-input a -output b -mapper mapper.py",
            "-mapper: mapper.py is a file here, not on the nodes: -files mapper.py",
        ),
        (
            "-input a -output b -mapper cat -files x/m.sh#/home/m.sh",
            "x/m.sh#/home/m.sh: \"/home/m.sh\" is no name",
        ),
        (
            "-input a -output b -mapper cat -file x#../y",
            "x#../y: \"../y\" is no name",
        ),
        (
            "-input a -output b -mapper cat -archives x.tgz#..",
            "x.tgz#..: \"..\" is no name",
        ),
        (
            "-input a -output b -mapper cat -files x#",
            "x#: \"\" is no name",
        ),
        (
            "-input a -output b -mapper cat -files x/d,y/d",
            "x/d and y/d are both d in the command's working folder",
        ),
        (
            "-input a -output b -mapper ./mapper.py",
            "-mapper: ./mapper.py is a file here, not on the nodes: -files ./mapper.py",
        ),
        (
            "-input a -output b -mapper cat -reducer bin/m.sh",
            "-reducer: bin/m.sh is a file here, not on the nodes: -files bin/m.sh",
        ),
        (
            "-input a -output b -mapper org.acme.Mapper -reducer cat",
            "-mapper org.acme.Mapper is a Java class",
        ),
        (
            "-input a -output b -mapper cat -numReduceTasks many",
            "-numReduceTasks many: a whole number from 0",
        ),
        (
            "-input a -output b -mapper cat -numReduceTasks 4000000000",
            "-numReduceTasks 4000000000: a whole number from 0 to 100000",
        ),
        (
            "-input a -output b -mapper cat -D mapred.reduce.tasks=x",
            "-D mapreduce.job.reduces=x: that is to be a whole number",
        ),
        (
            "-input a -output b -mapper cat -Dstream.num.map.output.key.fields=-1",
            "-D stream.num.map.output.key.fields=-1: that is to be a whole number",
        ),
        (
            "-input a -output b -mapper cat -jobconf stream.non.zero.exit.is.failure=no",
            "-D stream.non.zero.exit.is.failure=no: that is to be true or false",
        ),
        (
            "-input a -output b -mapper ./cut",
            "-mapper: ./cut is a file here, not on the nodes: -files ./cut",
        ),
        (
            "-input a -output b -maper cat",
            "-maper is no option of Hadoop Streaming (is -mapper meant?)",
        ),
        ("-input a -output b cat", "cat belongs to no option"),
        ("-input a -output", "-output needs a value"),
        (
            "-input a -output b -mapdebug x",
            "-mapdebug: no script is run",
        ),
        (
            "-input a -output b -mapper cat -io keyonlytext",
            "-io keyonlytext: lines without values are not read or written here, give text",
        ),
        (
            "-input a -output b -mapper cat -D stream.map.input=bytes",
            "-D stream.map.input=bytes: records go through pipes as text, rawbytes or typedbytes",
        ),
        (
            "-input a -output b -inputformat KeyValueTextInputFormat -io typedbytes",
            "-io typedbytes: a mapper that hands records on as they are has text",
        ),
        (
            "-input a -output b -mapper cat -reducer aggregate -D stream.map.output=rawbytes",
            "-D stream.map.output=rawbytes: aggregate reads text",
        ),
        (
            "-input a -output b -mapper cat -partitioner KeyFieldBasedPartitioner -io RawBytes",
            "-io rawbytes: KeyFieldBasedComparator and KeyFieldBasedPartitioner look at fields",
        ),
        (
            "-input a -output b -mapper cat -combiner cat -D stream.map.output=typedbytes",
            "-D stream.map.output=typedbytes: a combiner prints what stream.reduce.output says, text,",
        ),
        (
            "-input a -output b -mapper cat -D stream.io.identifier.resolver.class=org.x.Y",
            "-D stream.io.identifier.resolver.class=org.x.Y: gerbil runs no Java",
        ),
        (
            "-input a -output b -mapper cat -cmdenv A",
            "-cmdenv A: a variable is NAME=VALUE",
        ),
        (
            "-input a -output b -mapper cat -D x",
            "-D x: a setting is NAME=VALUE",
        ),
        (
            "-input a -output b -mapper cat -files mapper.py,nothere.py",
            "nothere.py: there is no such file on this machine",
        ),
        (
            "-input a -output b -mapper cat -archives file:nothere.tgz -file nothere.py",
            "nothere.py: there is no such file on this machine",
        ),
        (
            "-input a -output b -mapper cat -archives x.zip",
            "-archives x.zip: nodes unpack .tar, .tar.gz and .tgz",
        ),
        (
            "-input a -output b -mapper cat -files hdfs://n/x",
            "hdfs://n/x: files of a job are brought from this machine",
        ),
        (
            "-input a -output b",
            "a mapper that hands records on as they are",
        ),
        (
            "-input a -output b -mapper cat -partitioner my.Partitioner",
            "-partitioner my.Partitioner: gerbil runs no Java",
        ),
        (
            "-input a -output b -mapper cat -D mapreduce.partition.keycomparator.options=-k2,x",
            "-D mapreduce.partition.keycomparator.options=-k2,x: -k2,x: \"x\" is no F[.C][nr]",
        ),
        (
            "-input a -output b -mapper cat -D mapreduce.job.output.key.comparator.class=a.B",
            "knows KeyFieldBasedComparator alone",
        ),
        (
            "-input a -output b -mapper cat -inputformat my.Format",
            "-inputformat my.Format: gerbil runs no Java",
        ),
    ] {
        let words = line(words).map(|found| panic!("{words}: {found:?}"));
        let found = words.unwrap_err();
        assert!(found.contains(said), "{found}");
    }
    let script = of(&["-input", "a", "-output", "b", "-mapper", "awk -f count.awk"]).unwrap_err();
    assert!(script.contains("count.awk is a file here"), "{script}");
}

#[test]
fn a_file_that_is_called_like_a_program_of_the_nodes_is_not_what_runs() {
    let found = of(&["-input", "a", "-output", "b", "-mapper", "cut -f1"]).unwrap();
    assert_eq!(found.plan.map, Stage::Command("cut -f1".into()));
}

#[test]
fn settings_of_keys_are_taken_under_either_name() {
    let found = of(&[
        "-D",
        "mapred.output.key.comparator.class=org.apache.hadoop.mapred.lib.KeyFieldBasedComparator",
        "-D",
        "mapreduce.partition.keycomparator.options=-k2,2nr",
        "-D",
        "map.output.key.field.separator=.",
        "-D",
        "mapred.text.key.partitioner.options=-k1,2",
        "-D",
        "mapred.child.java.opts=-Xmx1g",
        "-partitioner",
        "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner",
        "-input",
        "a",
        "-output",
        "b",
        "-mapper",
        "cat",
        "-reducer",
        "aggregate",
    ])
    .unwrap();
    assert_eq!(
        found.options,
        [
            "-D",
            "stream.comparator.options=-k2,2nr",
            "-D",
            "gerbil.combine=true",
            "-D",
            "stream.key.field.separator=.",
            "-D",
            "stream.partition.options=-k1,2",
            "-D",
            "stream.partition.by.fields=true"
        ]
    );
    assert_eq!(found.plan.reduce, Stage::Aggregate);
    assert_eq!(found.notes.len(), 4, "{:?}", found.notes);
    // Without the class nobody reads them.
    let found =
        line("-input a -output b -mapper cat -D mapreduce.partition.keycomparator.options=-nr")
            .unwrap();
    assert_eq!(found.options, [""; 0]);
}

#[test]
fn identities_need_keys() {
    let found = line("-input a -output b -inputformat KeyValueTextInputFormat").unwrap();
    assert_eq!(
        (found.plan.map, found.plan.reduce),
        (Stage::Identity, Stage::Identity)
    );
    let named = "-input a -output b -inputformat org.apache.hadoop.mapred.KeyValueTextInputFormat \
                 -mapper org.apache.hadoop.mapred.lib.IdentityMapper -reducer org.apache.hadoop.mapred.lib.IdentityReducer";
    assert_eq!(line(named).unwrap().plan.map, Stage::Identity);
}

#[test]
fn a_combiner_is_a_command_or_what_aggregates_have_by_themselves() {
    let base = "-input a -output o -mapper cat";
    for (more, wanted) in [
        ("", None),
        ("-reducer cat", None),
        ("-combiner cut", Some(Stage::Command("cut".into()))),
        ("-combiner aggregate", Some(Stage::Aggregate)),
        ("-combiner NONE", None),
        (
            "-combiner org.apache.hadoop.mapred.lib.IdentityReducer",
            None,
        ),
        ("-reducer aggregate", Some(Stage::Aggregate)),
        ("-combiner cut -reducer aggregate", Some(Stage::Aggregate)),
    ] {
        let found = line(&format!("{base} {more}")).unwrap();
        assert_eq!(found.plan.combine, wanted, "{more}");
        let is_run = found
            .options
            .iter()
            .any(|word| word == "gerbil.combine=true");
        assert_eq!(is_run, wanted.is_some(), "{more}");
    }
    let said = line(&format!("{base} -combiner mapper.py")).unwrap_err();
    assert!(said.contains("mapper.py"), "{said}");
    let said = line(&format!("{base} -combiner org.example.Adder")).unwrap_err();
    assert!(
        said.starts_with("-combiner org.example.Adder is a Java class"),
        "{said}"
    );
}

#[test]
fn records_between_marks_are_asked_for_by_a_reader() {
    let of = |reader: &str, more: &[&str]| {
        let words = ["-input", "a", "-output", "b", "-mapper", "cat"];
        let words = [&words[..], &["-inputreader", reader], more].concat();
        asked(
            &words.iter().map(Into::into).collect::<Vec<_>>(),
            &crate::ThisMachine,
        )
    };
    for class in [
        "StreamXmlRecord",
        "org.apache.hadoop.streaming.StreamXmlRecordReader",
    ] {
        let found = of(
            &format!("{class},begin=<a b=1,end=</a>,slowmatch=false"),
            &[],
        )
        .unwrap();
        assert_eq!(
            found.options,
            [
                "-D",
                "stream.map.input.format=xml",
                "-D",
                "stream.recordreader.begin=<a b=1",
                "-D",
                "stream.recordreader.end=</a>"
            ]
        );
    }
    let found = of("StreamXmlRecord,begin=<,end=>,maxrec=9", &[]).unwrap();
    let note = "-inputreader maxrec=9: it matters with slowmatch alone";
    assert!(found.notes[0].starts_with(note), "{:?}", found.notes);
    for (reader, more, said) in [
        (
            "my.Reader,begin=a,end=b",
            &[][..],
            "-inputreader my.Reader,begin=a,end=b: gerbil runs no Java, and knows",
        ),
        (
            "StreamXmlRecord,begin=a,end=",
            &[],
            "end= is not taken: begin=MARK and end=MARK are",
        ),
        (
            "StreamXmlRecord,begin=a",
            &[],
            "begin=MARK and end=MARK are needed",
        ),
        ("StreamXmlRecord,begin", &[], "begin is no NAME=VALUE"),
        (
            "StreamXmlRecord,begin=a,end=b,slowmatch=true",
            &[],
            "slowmatch takes marks for patterns",
        ),
        (
            "StreamXmlRecord,begin=a,end=b",
            &["-inputformat", "TextInputFormat"],
            "-inputreader cuts records by itself",
        ),
    ] {
        let found = of(reader, more).unwrap_err();
        assert!(found.contains(said), "{found}");
    }
    let found = line("-input a -output b -mapper cat -inputformat StreamInputFormat").unwrap_err();
    assert!(
        found.contains("-inputreader StreamXmlRecordReader"),
        "{found}"
    );
}

#[test]
fn one_option_overrules_what_finer_settings_say_of_forms() {
    let told = |words: &str| {
        let found = line(&format!("-input a -output b -mapper cat {words}")).unwrap();
        let all = found.options.into_iter();
        let forms = all.filter(|option| {
            let name = option.split('=').next();
            crate::form::ALL.iter().any(|known| Some(*known) == name)
        });
        forms.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        told("-io text"),
        crate::form::ALL
            .map(|name| format!("{name}=text"))
            .join(" ")
    );
    assert_eq!(
        told("-D stream.reduce.input=TYPEDBYTES -D stream.map.input=rawbytes"),
        "stream.map.input=rawbytes stream.reduce.input=typedbytes"
    );
    assert_eq!(
        told("-io rawbytes -D stream.reduce.input=text"),
        crate::form::ALL
            .map(|name| format!("{name}=rawbytes"))
            .join(" ")
    );
}
