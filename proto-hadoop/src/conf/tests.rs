use super::*;
use proptest::prelude::*;
use std::fs;

fn no_env(_: &str) -> Option<String> {
    None
}

fn settings(properties: &[(&str, &str)]) -> Configuration {
    settings_in(properties, &no_env)
}

fn settings_in(properties: &[(&str, &str)], env: &dyn Fn(&str) -> Option<String>) -> Configuration {
    let rows: String = properties
        .iter()
        .map(|(name, value)| {
            format!("<property><name>{name}</name><value>{value}</value></property>")
        })
        .collect();
    Configuration::from_xml(&format!("<configuration>{rows}</configuration>"), env).unwrap()
}

fn value(settings: &Configuration, key: &str) -> String {
    settings.get(key).unwrap().unwrap()
}

/// A folder of settings that is removed at the end.
struct SettingsFolder(tempfile::TempDir);

impl SettingsFolder {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, body) in files {
            let path = folder.0.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("<configuration>{body}</configuration>")).unwrap();
        }
        folder
    }

    fn path(&self) -> String {
        self.0.path().display().to_string()
    }

    fn load(&self) -> Result<Configuration, ConfError> {
        let path = self.path();
        Configuration::load(&move |name| (name == "HADOOP_CONF_DIR").then(|| path.clone()))
    }
}

fn property(name: &str, value: &str) -> String {
    format!("<property><name>{name}</name><value>{value}</value></property>")
}

#[test]
fn no_yarn_site_says_where_was_looked() {
    let empty = SettingsFolder::with(&[("core-site.xml", "")]);
    let error = empty.load().unwrap_err().to_string();
    for words in [
        "YARN_CONF_DIR is not set",
        &empty.path(),
        "HADOOP_HOME is not set",
    ] {
        assert!(error.contains(words), "{error} lacks {words}");
    }
    assert!(!error.contains("8032"));
}

#[test]
fn the_usual_folder_is_tried_where_no_variable_is_set() {
    let name = "yarn.resourcemanager.hostname";
    let folder = SettingsFolder::with(&[("yarn-site.xml", &property(name, "usual"))]);
    let usual = Path::new(&folder.path()).to_owned();
    let settings = Configuration::load_or_usual(&no_env, &usual).unwrap();
    assert_eq!(value(&settings, name), "usual");
    // Who says where they are is taken at his word.
    let set = |name: &str| (name == "HADOOP_CONF_DIR").then(|| "/no/such/folder".to_owned());
    assert!(Configuration::load_or_usual(&set, &usual).is_err());
    let error = Configuration::load_or_usual(&no_env, Path::new("/no/usual")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("/no/usual/yarn-site.xml does not exist"),
        "{error}"
    );
}

#[test]
fn a_log_in_that_is_not_spoken_is_refused() {
    let simple = |properties: &[(&str, &str)]| settings(properties).simple_authentication();
    assert!(simple(&[]).is_ok());
    assert!(simple(&[(AUTHENTICATION, " Simple ")]).is_ok());
    let error = simple(&[(AUTHENTICATION, "kerberos")])
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("hadoop.security.authentication is kerberos"),
        "{error}"
    );
    assert!(simple(&[(AUTHENTICATION, "kerberos"), (FALLBACK, "false")]).is_err());
    assert!(simple(&[(AUTHENTICATION, "kerberos"), (FALLBACK, "true")]).is_ok());
}

#[test]
fn each_file_comes_from_the_first_folder_that_has_it() {
    let yarn = SettingsFolder::with(&[("yarn-site.xml", &property("where", "yarn"))]);
    let hadoop = SettingsFolder::with(&[
        ("yarn-site.xml", &property("where", "hadoop")),
        ("core-site.xml", &property("fs.defaultFS", "hdfs://nn")),
    ]);
    let home = SettingsFolder::with(&[
        (
            "etc/hadoop/hdfs-site.xml",
            &property("dfs.replication", "1"),
        ),
        (
            "etc/hadoop/mapred-site.xml",
            &property("mapreduce.job.reduces", "7"),
        ),
    ]);
    let env = |name: &str| match name {
        "YARN_CONF_DIR" => Some(yarn.path()),
        "HADOOP_CONF_DIR" => Some(hadoop.path()),
        "HADOOP_HOME" => Some(home.path()),
        _ => None,
    };
    let settings = Configuration::load(&env).unwrap();
    assert_eq!(value(&settings, "where"), "yarn");
    assert_eq!(value(&settings, "fs.defaultFS"), "hdfs://nn");
    assert_eq!(value(&settings, "dfs.replication"), "1");
    assert_eq!(value(&settings, "mapreduce.job.reduces"), "7");
    let names: Vec<_> = settings
        .files()
        .iter()
        .map(|file| file.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(names, FILES);
}

#[test]
fn later_files_win_unless_an_earlier_one_is_final() {
    let core = "<property><name>a</name><value>core</value><final>true</final></property>\
                <property><name>b</name><value>core</value></property>\
                <property name='c' value='core' final='true'/>";
    let yarn = ["a", "b", "c"].map(|name| property(name, "yarn")).concat();
    let folder = SettingsFolder::with(&[("core-site.xml", core), ("yarn-site.xml", &yarn)]);
    let settings = folder.load().unwrap();
    let values = ["a", "b", "c"].map(|key| value(&settings, key));
    assert_eq!(values, ["core", "yarn", "core"]);
}

#[test]
fn includes_are_read_with_their_fallback() {
    let yarn = "<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='more/a.xml'/>\
                <xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='none.xml'>\
                <xi:fallback><property><name>f</name><value>fallback</value></property>\
                </xi:fallback></xi:include>";
    let folder = SettingsFolder::with(&[
        ("yarn-site.xml", yarn),
        ("more/a.xml", "<include href='b.xml'/>"),
        ("more/b.xml", &property("b", "deep")),
    ]);
    let settings = folder.load().unwrap();
    assert_eq!(value(&settings, "b"), "deep");
    assert_eq!(value(&settings, "f"), "fallback");
    assert_eq!(settings.files().len(), 3);
}

#[test]
fn includes_that_cannot_be_are_errors() {
    let circle = SettingsFolder::with(&[("yarn-site.xml", "<include href='yarn-site.xml'/>")]);
    assert!(circle.load().unwrap_err().to_string().contains("circle"));
    let missing = SettingsFolder::with(&[("yarn-site.xml", "<include href='none.xml'/>")]);
    assert!(missing.load().unwrap_err().to_string().contains("none.xml"));
    let remote = SettingsFolder::with(&[("yarn-site.xml", "<include href='http://h/x.xml'/>")]);
    assert!(
        remote
            .load()
            .unwrap_err()
            .to_string()
            .contains("only files")
    );
}

#[test]
fn variables() {
    let env = |name: &str| match name {
        "SET" => Some("set".to_owned()),
        "EMPTY" => Some(String::new()),
        "USER" => Some("alice".to_owned()),
        _ => None,
    };
    let settings = settings_in(
        &[
            ("host", "rm1"),
            ("plain", "${host}:8032"),
            ("nested", "${ho${st}}"),
            ("st", "st"),
            ("env", "${env.SET}"),
            ("unset", "${env.NOT}"),
            ("default", "${env.NOT-a}${env.EMPTY-b}${env.SET-c}"),
            ("colon", "${env.NOT:-a}${env.EMPTY:-b}${env.SET:-c}"),
            ("unknown", "${no.such.key}/${host}"),
            ("itself", "x${itself}"),
            ("blank", "${a b} ${host}"),
        ],
        &env,
    );
    for (key, expected) in [
        ("plain", "rm1:8032"),
        ("nested", "rm1"),
        ("env", "set"),
        ("unset", "${env.NOT}"),
        ("default", "aset"),
        ("colon", "abset"),
        ("unknown", "${no.such.key}/${host}"),
        ("itself", "x${itself}"),
        ("blank", "${a b} rm1"),
        ("hadoop.tmp.dir", "/tmp/hadoop-alice"),
    ] {
        assert_eq!(value(&settings, key), expected, "{key}");
    }
}

#[test]
fn variables_in_a_circle_are_an_error_and_grow_no_text_without_end() {
    let settings = settings(&[("a", "${b}${b}"), ("b", "${c}"), ("c", "x${a}")]);
    assert!(matches!(
        settings.get("a"),
        Err(ConfError::Expansion { .. })
    ));
}

#[test]
fn addresses_without_high_availability() {
    let addresses = |properties: &[(&str, &str)]| {
        let found = settings(properties).resource_managers().unwrap();
        (found.client.join(","), found.scheduler.join(","))
    };
    let expect = |client: &str, scheduler: &str| (client.to_owned(), scheduler.to_owned());
    assert_eq!(
        addresses(&[("yarn.resourcemanager.hostname", " head ")]),
        expect("head:8032", "head:8030")
    );
    assert_eq!(
        addresses(&[("yarn.resourcemanager.address", "rm:1234")]),
        expect("rm:1234", "rm:8030")
    );
    assert_eq!(
        addresses(&[
            ("yarn.resourcemanager.hostname", "::1"),
            (
                "yarn.resourcemanager.scheduler.address",
                "${yarn.resourcemanager.hostname}"
            ),
            ("yarn.resourcemanager.address", "rm"),
        ])
        .0,
        "rm:8032"
    );
}

#[test]
fn addresses_with_high_availability_keep_the_order_of_ids() {
    let found = settings(&[
        ("yarn.resourcemanager.ha.enabled", "true"),
        ("yarn.resourcemanager.ha.rm-ids", "rm2, rm1"),
        ("yarn.resourcemanager.hostname.rm1", "one"),
        ("yarn.resourcemanager.address.rm2", "two:9032"),
        ("yarn.resourcemanager.scheduler.address.rm2", "two:9030"),
        ("yarn.resourcemanager.hostname", "ignored"),
    ])
    .resource_managers()
    .unwrap();
    assert_eq!(found.client, ["two:9032", "one:8032"]);
    assert_eq!(found.scheduler, ["two:9030", "one:8030"]);
}

#[test]
fn an_unnamed_resource_manager_is_an_error_with_the_keys() {
    let error = settings(&[]).resource_managers().unwrap_err().to_string();
    assert!(
        error.contains("yarn.resourcemanager.hostname") && error.contains("(text)"),
        "{error}"
    );
    let error = settings(&[("yarn.resourcemanager.ha.enabled", "true")]);
    assert!(
        error
            .resource_managers()
            .unwrap_err()
            .to_string()
            .contains("rm-ids")
    );
    let error = settings(&[("yarn.resourcemanager.address", "rm:port")]).resource_managers();
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("\"rm:port\" is not host:port")
    );
}

#[test]
fn values_of_the_wrong_form_are_named() {
    let settings = settings(&[("n", "12x"), ("f", "yes"), ("e", ""), ("ok", " 7 ")]);
    assert!(
        settings
            .integer("n")
            .unwrap_err()
            .to_string()
            .contains("n = \"12x\"")
    );
    assert!(
        settings
            .flag("f")
            .unwrap_err()
            .to_string()
            .contains("true or false")
    );
    assert_eq!(settings.integer("e").unwrap(), None);
    assert_eq!(settings.integer("ok").unwrap(), Some(7));
    assert_eq!(
        settings
            .integer("yarn.scheduler.maximum-allocation-mb")
            .unwrap(),
        Some(8192)
    );
}

#[test]
fn other_files_are_named() {
    for (text, words) in [
        ("<configuration>", "not well-formed"),
        ("<html/>", "<html>, not <configuration>"),
        ("", "not well-formed"),
    ] {
        let error = Configuration::from_xml(text, &no_env)
            .unwrap_err()
            .to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn real_files_begin_and_are_written_as_they_like() {
    let text = "\n<?xml version=\"1.0\"?>\n<?xml-stylesheet type=\"text/xsl\" href=\"c.xsl\"?>\n\
                <!DOCTYPE configuration [<!ENTITY host \"rm9\">]>\n<!-- c -->\n<configuration>\n\
                <property>\n <name> a </name>\n <value>&host;<!-- c -->:1</value>\n\
                <description>d</description></property>\
                <property><name>novalue</name></property></configuration>";
    let settings = Configuration::from_xml(text, &no_env).unwrap();
    assert_eq!(value(&settings, "a"), "rm9:1");
    assert_eq!(settings.get("novalue").unwrap(), None);
}

proptest! {
    #[test]
    fn random_texts_never_panic(text in ".{0,200}", value in r"[${}a-z .:-]{0,40}") {
        let _outcome = Configuration::from_xml(&text, &no_env);
        let escaped = value.replace('<', "");
        let settings = settings(&[("k", &escaped), ("a", "${k}"), ("b", "$")]);
        let _outcome = settings.get("k");
    }
}

#[test]
fn a_renamed_key_sets_and_reads_the_new_one() {
    let old = settings(&[("fs.default.name", "hdfs://nn:9000")]);
    assert_eq!(value(&old, "fs.defaultFS"), "hdfs://nn:9000");
    assert_eq!(value(&old, "fs.default.name"), "hdfs://nn:9000");
    assert!(old.is_set("fs.defaultFS") && old.is_set("fs.default.name"));
    // Of two lines the later one wins, whichever name it has.
    let both = settings(&[
        ("fs.defaultFS", "hdfs://a"),
        ("fs.default.name", "hdfs://b"),
    ]);
    assert_eq!(value(&both, "fs.defaultFS"), "hdfs://b");
    let other = settings(&[
        ("dfs.block.size", "1048576"),
        ("where", "${fs.default.name}/x"),
    ]);
    assert_eq!(other.integer("dfs.blocksize").unwrap(), Some(1_048_576));
    assert_eq!(value(&other, "where"), "file:////x");
    // A final one stays, under both names.
    let core = "<property name='fs.default.name' value='hdfs://core' final='true'/>";
    let yarn = property("fs.defaultFS", "hdfs://yarn");
    let folder = SettingsFolder::with(&[("core-site.xml", core), ("yarn-site.xml", &yarn)]);
    assert_eq!(
        value(&folder.load().unwrap(), "fs.defaultFS"),
        "hdfs://core"
    );
}
