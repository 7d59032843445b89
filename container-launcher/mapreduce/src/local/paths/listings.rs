//! Which files inputs name, as Hadoop's `FileInputFormat` finds them: what both launchers are to find in one folder, which
//! stands in these rows as `@`.

use std::path::Path;

/// The files of the folder.
const FILES: [&str; 16] = [
    "in/b",
    "in/a",
    "in/_log",
    "in/.hidden",
    "in/deep/c",
    "x1",
    "x2",
    "y1",
    "logs/_old/part-0",
    "logs/new/part-0",
    "logs/new/_part-1",
    "odd/m,n",
    "odd/b{r}ace.txt",
    "odd/ünï.txt",
    "odd/a*",
    "odd/ab",
];

/// Inputs, and the files that they name.
const FOUND: [(&[&str], &str); 20] = [
    (&["@/x1,@/y1"], "x1 y1"),
    (&["@/{x,y}1", "@/x*"], "x1 y1 x1 x2"),
    (&["@/[x-y]1"], "x1 y1"),
    (&["@/*/a"], "in/a"),
    (&["@/*/deep/*"], "in/deep/c"),
    (&["@/{x1,nothing/*}"], "x1"),
    (&["@/logs/*/part-0"], "logs/_old/part-0 logs/new/part-0"),
    (&["@/logs/*/*"], "logs/_old/part-0 logs/new/part-0"),
    (&["@/logs/[n]*/_part-1"], "logs/new/_part-1"),
    (&[r"@/odd/m\,n"], "odd/m,n"),
    (&["@/odd/m?n"], "odd/m,n"),
    (&[r"@/odd/b\{r\}ace.txt"], "odd/b{r}ace.txt"),
    (&["@/odd/b{r}ace.txt"], "odd/b{r}ace.txt"),
    (&["@/odd/?n?.txt"], "odd/ünï.txt"),
    (&["@/odd/[ä-ü]n*"], "odd/ünï.txt"),
    (&[r"@/odd/a\*"], "odd/a*"),
    (&["@/odd/a*"], "odd/a* odd/ab"),
    (&["@/odd/a{b,}"], "odd/ab"),
    (&["@/y1", "@/x1"], "y1 x1"),
    (&[r"@/odd/*\**"], "odd/a*"),
];

/// Inputs that name nothing, and what is said of them.
const REFUSED: [(&str, &str); 9] = [
    (
        "@/nothing*",
        "nothing*: there is no such file for this pattern",
    ),
    ("@/nothing", "nothing: there is no such file"),
    ("@/odd/m,n", r"m,n (a comma in a name is \,)"),
    ("", "empty"),
    ("@/x1,", "empty"),
    ("@/x1,,@/y1", "empty"),
    ("@/{x,y}1/{a", "@/{x,y}1/{a: a brace is not closed"),
    ("@/x{1,{2,3}", "@/x{1,{2,3}: a brace is not closed"),
    (
        "@/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
        "@/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}: its braces stand for more than",
    ),
];

/// Makes the files in `root`, each with its name in it.
pub(crate) fn make(root: &Path) {
    for name in FILES {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, name).unwrap();
    }
}

/// A row of inputs, and what is to come of them.
pub(crate) struct Listing {
    pub(crate) inputs: Vec<String>,
    /// The names of the files, or a part of a sentence.
    pub(crate) expected: Result<String, String>,
}

/// All rows, of a folder that is called so.
pub(crate) fn listings(root: &str) -> Vec<Listing> {
    let of = |text: &str| text.replace('@', root);
    let found = FOUND.iter().map(|(inputs, names)| Listing {
        inputs: inputs.iter().map(|input| of(input)).collect(),
        expected: Ok((*names).to_owned()),
    });
    let refused = REFUSED.iter().map(|(input, said)| Listing {
        inputs: vec![of(input)],
        expected: Err(of(said)),
    });
    found.chain(refused).collect()
}

/// Whether a launcher has found what a row says; else what it found.
pub(crate) fn check(listing: &Listing, found: Result<Vec<String>, String>) {
    let found = found.map(|names| names.join(" "));
    let is_expected = match (&found, &listing.expected) {
        (Err(said), Err(part)) => said.contains(part.as_str()),
        (found, expected) => found == expected,
    };
    assert!(
        is_expected,
        "{:?}: {found:?}, and not {:?}",
        listing.inputs, listing.expected
    );
}
