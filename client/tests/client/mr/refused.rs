//! What `gerbil mr` refuses before anything is staged.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_refused_before_anything_is_staged() {
    let night = night().await;
    let refused = async |options: &[&str], words: &[&str], code: i32, sentence: &str| {
        let (found, _, said) = run(&night, options, words).await;
        assert_eq!(found, Some(code), "{said}");
        assert!(said.contains(sentence), "{sentence}: {said}");
    };
    let unknown = "mapreduce.job.reducers means nothing here (is mapreduce.job.reduces meant?)";
    refused(&["-D", "mapreduce.job.reducers=3"], &[], 64, unknown).await;
    refused(&["-D", "nothing"], &[], 64, "a setting is NAME=VALUE").await;
    refused(
        &["-D", "mapreduce.job.priority=soon"],
        &[],
        64,
        "makes no sense",
    )
    .await;
    // The program's own command line is its own matter.
    refused(&[], &["--drive", "x"], 64, "is --driver meant?").await;
    refused(
        &[],
        &[&at(&night, "nothing")],
        64,
        "nothing: there is no such file",
    )
    .await;
    refused(
        &[],
        &[&at(&night, "in*/z*")],
        64,
        "no such file for this pattern",
    )
    .await;
    refused(&[], &["s3a://bucket/x"], 64, "s3a:").await;
    std::fs::create_dir(night.folder.path().join("out")).unwrap();
    let there = night.folder.path().join("out/there");
    std::fs::write(&there, "").unwrap();
    refused(
        &[],
        &[],
        64,
        "out exists already; choose another, or remove it",
    )
    .await;
    std::fs::remove_file(&there).unwrap();
    // Without anything in it, too.
    let sentence = "out exists already; choose another";
    refused(&[], &[], 64, sentence).await;
    std::fs::remove_dir(night.folder.path().join("out")).unwrap();
    // A file has the name of the output, or of a folder above it.
    std::fs::write(night.folder.path().join("out"), "").unwrap();
    refused(&[], &[], 64, "out is a file: the output is a folder").await;
    let (input, below) = (at(&night, "in"), at(&night, "out/x/y"));
    let words = [input.as_str(), below.as_str()];
    let (code, _, said) = told(output(mr(&night, &[], &program(), &words)).await);
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("out is a file; choose another"), "{said}");
    std::fs::remove_file(night.folder.path().join("out")).unwrap();
    refused(
        &["-D", "fake.does=fail"],
        &[],
        1,
        "map 1 failed: line 3 is no number",
    )
    .await;
    let submissions = night.appmaster.submissions.lock().unwrap().len();
    assert_eq!(submissions, 1);

    let (input, out) = (at(&night, "in"), at(&night, "out"));
    let other = mr(&night, &[], Path::new("true"), &[&input, &out]);
    let (code, _, said) = told(output(other).await);
    assert_eq!(code, Some(126), "{said}");
    assert!(
        said.contains(
            "true ended before it said hello: is `main()` of the job the first statement of main?"
        ),
        "{said}"
    );
    let other = mr(&night, &[], Path::new("./nothing"), &[&input, &out]);
    let (code, _, said) = told(output(other).await);
    assert_eq!(code, Some(127), "{said}");
    // An application of its own is not beside a session.
    let mut other = night.command("gerbil");
    other.env("GERBIL_SESSION", "night");
    other.args(["mr", "--memory", "1g"]);
    other.arg(program()).args([&input, &out]);
    let (code, _, said) = told(output(other).await);
    assert_eq!(code, Some(64), "{said}");
    assert!(
        said.contains("--memory: GERBIL_SESSION names session night"),
        "{said}"
    );
    let other = mr(&night, &["--memory", "1g"], &program(), &[&input, &out]);
    let (code, _, said) = told(output(other).await);
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("--session"), "{said}");
    let help = mr(&night, &[], &program(), &["--help"]);
    let (code, printed, _) = told(output(help).await);
    assert_eq!(code, Some(0));
    assert!(printed.starts_with("Usage: mr-words"), "{printed}");
}

/// As an unset variable of a shell is one: what is there already stays.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_word_is_refused_and_touches_nothing() {
    let night = night().await;
    let (input, out) = (at(&night, "in"), at(&night, "out"));
    let old = night.folder.path().join("out/part-r-00000");
    std::fs::create_dir(old.parent().unwrap()).unwrap();
    std::fs::write(&old, "old").unwrap();
    let (begun, listed) = (format!("{input},"), format!("{input},,{input}"));
    for (words, said) in [
        (["", &out], "an input is empty (\"\") and names no file"),
        ([&begun, &out], "which has an empty part"),
        ([&listed, &out], "which has an empty part"),
        (
            [&input, ""],
            "the output is empty (\"\") and names no folder",
        ),
    ] {
        let overwriting = mr(&night, &["--overwrite"], &program(), &words);
        let (code, _, told) = told(output(overwriting).await);
        assert_eq!(code, Some(64), "{told}");
        assert!(told.contains(said), "{said}: {told}");
    }
    for options in [["--staging", ""], ["--report", ""]] {
        let (code, _, told) = run(&night, &options, &[]).await;
        assert_eq!(code, Some(64), "{told}");
        assert!(told.contains(options[0]), "{told}");
    }
    let nameless = mr(&night, &[], Path::new(""), &[&input, &out]);
    let (code, _, said) = told(output(nameless).await);
    assert_eq!(code, Some(64), "{said}");
    assert_eq!(std::fs::read(&old).unwrap(), b"old");
    assert!(submitted(&night).is_empty());
    // What --overwrite does not help is not told to take it.
    let file = at(&night, "out/part-r-00000");
    for (taken, why) in [(file.as_str(), "is a file"), ("file:/", "is the root")] {
        let overwriting = mr(&night, &["--overwrite"], &program(), &[&input, taken]);
        let (code, _, said) = told(output(overwriting).await);
        assert_eq!(code, Some(64), "{said}");
        assert!(
            said.contains(why) && !said.contains("--overwrite"),
            "{said}"
        );
    }
}
