# Reads what this machine has (-v has="any root …"), then it/expected-tests, a list of started clusters
# (suite and seconds, one a line) and the log of it/test.  Prints a row a suite, what is missing, each
# failure's first lines, and as the last line how many tests passed and failed; fails if tests are missing.

function base(path) {
    sub(/\/main\.rs$/, "", path)
    sub(/\.rs$/, "", path)
    sub(/^.*\//, "", path)
    return path
}
function meet(name) {
    if (!(name in known)) {
        known[name] = ++suites
        order[suites] = name
    }
}
BEGIN {
    count = split(has, kinds, " ")
    for (i = 1; i <= count; i++) met[kinds[i]] = 1
}
FNR == 1 { file++ }
file == 1 && !/^#/ && NF == 3 {
    meet($1)
    if ($2 in met) least[$1] += $3
}
file == 2 && !/^#/ { clusters[$1]++ }
file < 3 { next }

/^== / { suite = $2 }
# Counted when it ran first.
/^passed the second time: / { passed++; failed-- }
/^(passed|failed) the second time: / { second[++seconds_tried] = $0 }
suite == "again" { next }
# These do not say themselves how long they took.
/^== .* took [0-9]+ s$/ && (suite == "fast" || suite == "compose" || suite == "bare") {
    seconds[suite] = $(NF - 1)
}
/^ +Running unittests / { suite = "it" }
/^ +Running tests\// { suite = base($2) }
/^ +Doc-tests / { suite = "it" }
/^test result:|^(compose|bare): [0-9]+ passed/ {
    meet(suite)
    for (i = 2; i <= NF; i++) {
        if ($i ~ /^passed/) { passed += $(i - 1); ran[suite] += $(i - 1) }
        if ($i ~ /^failed/) { failed += $(i - 1); ran[suite] += $(i - 1) }
        if ($i == "in" && suite != "fast") {
            value = $(i + 1)
            sub(/s$/, "", value)
            # Those that another suite hands on lie within its own time.
            if (value + 0 > seconds[suite] + 0) seconds[suite] = value
        }
    }
}
# What is tried at other commits is not missing.
/^left out: [0-9]+ cases that are not of slice / { left_out[suite] += $3 }
/^---- .* ----$/ { failure = 1; line = 0 }
/^failures:$|^test result:/ { failure = 0 }
failure && line++ < 16 { said[++lines] = substr($0, 1, 300) }
/^(compose|bare): FAILED/ { said[++lines] = $0 }

END {
    printf "%-16s %6s %8s %9s %8s %9s\n", "suite", "tests", "left out", "at least", "seconds", "clusters"
    for (i = 1; i <= suites; i++) {
        name = order[i]
        printf "%-16s %6d %8d %9d %8d %9d\n", name, ran[name], left_out[name], least[name], seconds[name], \
            clusters[name]
        all += clusters[name]
        total += seconds[name]
        if (ran[name] + left_out[name] < least[name])
            missing[++short] = sprintf("missing: %s ran %d tests, and %d are to run here (it/expected-tests)", \
                name, ran[name], least[name] - left_out[name])
        all_left_out += left_out[name]
    }
    printf "%-16s %6d %8d %9s %8d %9d\n", "all", passed + failed, all_left_out, "", total, all
    printf "all of it, lints and builds included, took %d:%02d min\n", wall / 60, wall % 60
    for (i = 1; i <= lines; i++) print said[i]
    for (i = 1; i <= seconds_tried; i++) print second[i]
    for (i = 1; i <= short; i++) print missing[i]
    printf "%d passed, %d failed\n", passed, failed
    exit short > 0
}
