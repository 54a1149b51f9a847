#!/usr/bin/env bash
# Reads every Parquet file of folders with both readers and lists what does not match.
#
#   tests/compare_fixtures.sh FOLDER ...
#
# It builds examples/query, unless QUERY names the program.
#
# A file matches if `SELECT *`, `SELECT count(*)` and a filter on each column give the same text, in the same order, by
# Miniblock and by DataFusion's own reader. Folders of files (hive partitions, schema evolution) are read as tables.
# One line for each file that does not match:
#   differs   FILE  the first query whose answers differ
#   fails     FILE  what we say, where DataFusion's reader answers
#   unclear   FILE  what we say, where both fail and our message does not name the file
#   panics    FILE  what we say
# and, without being counted, `beyond` for files that only we read. The exit code is 1 if any line is counted.
set -u

if [ $# -eq 0 ]; then
    sed -n '2,17s/^# \{0,1\}//p' "$0"
    exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
query=${QUERY:-${CARGO_TARGET_DIR:-$root/target}/release/examples/query}
[ -n "${QUERY:-}" ] || (cd "$root" && cargo build --release --quiet --workspace --example query) || exit 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
files=0 mismatches=0 beyond=0

# run READER PATH SQL: the answer in $scratch/READER.out, what was said in $scratch/READER.err
run() {
    timeout 60 "$query" --table "t=$2" --reader "$1" --threads 1 --format csv "$3" >"$scratch/$1.out" 2>"$scratch/$1.err"
}

said() {
    tr '\n' ' ' <"$scratch/miniblock.err" | cut -c1-300
}

# report KIND PATH TEXT
report() {
    printf '%-9s %s  %s\n' "$1" "$2" "$3"
    mismatches=$((mismatches + 1))
}

# check PATH SQL [if-answered]: 0 if the next query is worth asking
check() {
    local path=$1 sql=$2 ours peer
    run datafusion "$path" "$sql"
    peer=$?
    # There are types that cannot be compared.
    if [ "$peer" -ne 0 ] && [ "${3:-}" = if-answered ]; then return 0; fi
    run miniblock "$path" "$sql"
    ours=$?
    if grep -q panicked "$scratch/miniblock.err" || [ "$ours" -gt 1 ]; then
        report panics "$path" "exit code $ours: $(said)"
    elif [ "$peer" -ne 0 ] && [ "$ours" -ne 0 ]; then
        if [ -f "$path" ] && ! grep -qF "$(basename "$path")" "$scratch/miniblock.err"; then
            report unclear "$path" "$(said)"
        fi
    elif [ "$peer" -ne 0 ]; then
        echo "beyond    $path"
        beyond=$((beyond + 1))
    elif [ "$ours" -ne 0 ]; then
        report fails "$path" "$(said)"
    elif ! cmp -s "$scratch/datafusion.out" "$scratch/miniblock.out"; then
        report differs "$path" "$sql"
    else
        return 0
    fi
    return 1
}

compare() {
    local path=$1 column
    files=$((files + 1))
    check "$path" 'SELECT * FROM t' || return
    # The header, one name a line; names with quotes, commas or line breaks are left to `SELECT *`.
    head -n 1 "$scratch/datafusion.out" | tr ',' '\n' | grep -v '"' >"$scratch/columns"
    check "$path" 'SELECT count(*) FROM t' || return
    while IFS= read -r column; do
        check "$path" "SELECT * FROM t WHERE \"$column\" IS NOT NULL" || return
        check "$path" "SELECT \"$column\" FROM t WHERE \"$column\" > (SELECT min(\"$column\") FROM t)" if-answered || return
    done <"$scratch/columns"
}

for folder in "$@"; do
    for path in "$folder"/*; do
        case $path in
        *.parquet | *.parq) compare "$path" ;;
        *) if [ -d "$path" ] && [ -n "$(find "$path" -name '*.parquet' -print -quit)" ]; then compare "$path/"; fi ;;
        esac
    done
done
echo "$files compared, $mismatches do not match, $beyond are read by us alone"
[ "$mismatches" -eq 0 ]
