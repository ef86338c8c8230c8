#!/usr/bin/env bash
# Brings the libraries of the status page from npm into the package, as they were published: the
# pinned versions below, the named files only. Run it after changing a version; commit what it
# writes. Its digests are what tests compare the files with.
#   tools/vendor_static.sh
set -euo pipefail
cd "$(dirname "$0")/.."

target=$PWD/dbt/adapters/spark_mt/manager/http/static/vendor
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# package@version, its licence file, then the files to take
take() {
    local package=$1 licence=$2 name=${1##*/} archive folder
    shift 2
    name=${name%@*}
    folder=$work/$name
    mkdir -p "$folder"
    archive=$(cd "$folder" && npm pack --silent "$package")
    tar -xzf "$folder/$archive" -C "$folder"
    cp "$folder/package/$licence" "$target/$name.LICENSE.txt"
    for file in "$@"; do
        cp "$folder/package/$file" "$target/"
    done
}

mkdir -p "$target"
take uplot@1.6.32 LICENSE dist/uPlot.esm.js dist/uPlot.min.css
take idiomorph@0.8.0 LICENSE dist/idiomorph.esm.js
take @dagrejs/dagre@3.1.3 LICENSE dist/dagre.esm.js dist/dagre.esm.js.LEGAL.txt
chmod 644 "$target"/*
cd "$target"
sha256sum -- *.js *.css *.txt >SHA256SUMS
