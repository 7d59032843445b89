//! `regex` for `hdfs-native`, which matches names of files and reads the challenge of DIGEST-MD5 with it, and for
//! `prost-build`, which looks for links in comments.
//!
//! `hdfs-native` names no feature to leave out, and all of them cost half a megabyte of the file that travels to every
//! node. `regex-lite` has the same names and the same syntax; it knows letters and digits of ASCII alone behind `\w` and
//! `\d`, which neither of the two asks for.

pub use regex_lite::*;

#[cfg(test)]
mod tests {
    use super::{Regex, RegexBuilder};

    #[test]
    fn a_challenge_falls_into_its_words() {
        let words = Regex::new(r#",?([a-zA-Z0-9]+)=("([^"]+)"|([^,]+)),?"#).unwrap();
        let challenge = r#"realm="default",nonce="a=b,c",qop="auth,auth-conf",charset=utf-8,algorithm=md5-sess"#;
        let found: Vec<(&str, &str)> = words
            .captures_iter(challenge)
            .map(|of| {
                (
                    of.get(1).unwrap().as_str(),
                    of.get(3).or(of.get(4)).unwrap().as_str(),
                )
            })
            .collect();
        let expected = [
            ("realm", "default"),
            ("nonce", "a=b,c"),
            ("qop", "auth,auth-conf"),
            ("charset", "utf-8"),
            ("algorithm", "md5-sess"),
        ];
        assert_eq!(found, expected);
        let proof = Regex::new("rspauth=([a-f0-9]{32})").unwrap();
        let said = format!("rspauth={}", "0a".repeat(16));
        assert_eq!(
            proof
                .captures(&said)
                .unwrap()
                .get(1)
                .unwrap()
                .as_str()
                .len(),
            32
        );
    }

    #[test]
    fn a_pattern_of_file_names_matches_whole_names() {
        let matches = |pattern: &str, name: &str| {
            RegexBuilder::new(pattern)
                .dot_matches_new_line(true)
                .build()
                .unwrap()
                .is_match(name)
        };
        assert!(matches(r"^part-.*\.(?:gz|bz2)$", "part-m-00000.gz"));
        assert!(!matches(r"^part-.*\.(?:gz|bz2)$", "part-m-00000.gz.tmp"));
        assert!(matches("^[^a-c].$", "dß"));
        assert!(matches("^[ä-ü]$", "ö"));
        assert!(matches("^.$", "\n"));
        assert!(!matches("^[^a-c]$", "b"));
    }
}
