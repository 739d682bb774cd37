"""What `synapse completion` writes for each shell: the shell's own part of completion, and nothing of ours.

A script knows no command. At each TAB it hands the words so far to `synapse completion SHELL --answer` on standard
input, each ended by a zero byte, and so it is never out of date. The answer is a list of the same form: first what
the shell is to do ("words", "file" or "directory"), then the words, as `completion` says them for each shell.
"""

import shlex
from collections.abc import Callable, Mapping

from appliance.commands.shell_words import fish_word

# Bash breaks words at `=` and `:` too: they are put together again, and the answer is to replace only the last piece.
# Nothing of a word is expanded or run: neither what was typed nor what comes back.
_BASH = """\
# Completion of synapse for bash: `synapse completion bash` wrote this.
_synapse() {
    local line=${COMP_LINE:0:COMP_POINT} rest=$COMP_LINE after=${COMP_LINE:COMP_POINT} piece word kind='' index
    local -a typed=()
    COMPREPLY=()
    after=${after%%[[:space:]]*}
    for ((index = 0; index <= COMP_CWORD; index++)); do
        piece=${COMP_WORDS[index]}
        if [[ $index -gt 1 && $rest != [[:space:]]* ]]; then
            typed[${#typed[@]} - 1]+=$piece
        else
            typed+=("$piece")
        fi
        rest=${rest#"${rest%%[![:space:]]*}"}
        rest=${rest#"$piece"}
    done
    if [[ -n $after ]]; then
        piece=${piece%"$after"}
        typed[${#typed[@]} - 1]=${typed[${#typed[@]} - 1]%"$after"}
    fi
    while IFS= read -r -d '' word; do
        if [[ -n $kind ]]; then COMPREPLY+=("$word"); else kind=$word; fi
    done < <(printf '%s\\0' "${typed[@]:1}" "$piece" | @PROGRAM@ completion bash --answer 2>/dev/null)
    case $kind in
    file) compopt -o default 2>/dev/null ;;
    directory) compopt -o dirnames 2>/dev/null ;;
    esac
}
complete -F _synapse synapse
"""

_ZSH = """\
#compdef synapse
# Completion of synapse for zsh: `synapse completion zsh` wrote this.
_synapse() {
    local -a asked found names shown
    local kind name meaning
    asked=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
    found=("${(@0)$(print -rN -- "${asked[@]}" | @PROGRAM@ completion zsh --answer 2>/dev/null)}")
    kind=$found[1]
    for name meaning in "${(@)found[2,-1]}"; do
        [[ -n $name ]] || continue
        names+=("$name")
        shown+=("${name}${meaning:+  -- $meaning}")
    done
    [[ $PREFIX == --*=* ]] && compset -P '*='
    case $kind in
    file) _files ;;
    directory) _files -/ ;;
    words) compadd -l -d shown -a names ;;
    *) return 1 ;;
    esac
}
if [[ $funcstack[1] == _synapse ]]; then _synapse "$@"; else compdef _synapse synapse; fi
"""

_FISH = """\
# Completion of synapse for fish: `synapse completion fish` wrote this.
function __synapse_complete
    set -l typed (commandline -opc) (commandline -ct)
    set -l found (string join0 -- $typed[2..-1] | @PROGRAM@ completion fish --answer 2>/dev/null | string split0)
    switch "$found[1]"
        case file
            __fish_complete_path (commandline -ct)
        case directory
            __fish_complete_directories (commandline -ct)
        case words
            string join0 -- $found[2..-1] | string split0
    end
end
complete -c synapse -f -a '(__synapse_complete)'
"""

_SCRIPTS: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "bash": (_BASH, shlex.quote),
    "zsh": (_ZSH, shlex.quote),
    "fish": (_FISH, fish_word),
}


def script(shell: str, program: str) -> str:
    """The script for one of the shells, which asks the program at this path."""
    text, quoted = _SCRIPTS[shell]
    return text.replace("@PROGRAM@", quoted(program))
