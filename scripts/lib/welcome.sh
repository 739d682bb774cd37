# Sourced by scripts/install.
#
#   welcome SYNAPSE FOLDER
#
# says what a person needs next: where the running gateway is, a first key where there is none, and how tools trust its
# CA, whose certificate it leaves in FOLDER. SYNAPSE is the program of the installation.

welcome() {
    local synapse=$1 folder=$2 status base key
    status=$("$synapse" status --json)
    base=$(_field base_url <<<"$status")
    printf '\n%s\n\n' "Synapse is ready."
    printf '  %-10s %s\n' "Base URL" "$base      (from other machines: ${base/127.0.0.1/$(uname -n | cut -d. -f1).local})"
    if [ "$(_field keys active <<<"$status")" = 0 ]; then
        key=$("$synapse" key create --name first --json | _field secret)
        printf '  %-10s %s\n' "API key" "$key" "" "It is shown this once: keep it."
    else
        printf '  %-10s %s\n' "API key" "one of those that there are; for another: synapse key create --name laptop"
    fi
    printf '  %-10s %s\n' "Model" "pulse-auto"
    printf '  %-10s %s\n' "Admins" "whoever is in the group synapse: usermod -aG synapse NAME"
    if [[ $base == https:* ]] && "$synapse" tls ca >"$folder/ca.pem.new" 2>"$folder/ca.how"; then
        mv "$folder/ca.pem.new" "$folder/ca.pem"
        printf '\n%s\n' "The CA that tools have to trust is in $folder/ca.pem."
        cat "$folder/ca.how"
    fi
    rm -f "$folder/ca.pem.new" "$folder/ca.how"
}

# _field NAME...: what stands there in the JSON on standard input.
_field() {
    "$(dirname "$(readlink -f "$synapse")")/python" -c '
import functools, json, sys
print(functools.reduce(lambda found, name: found[name], sys.argv[1:], json.load(sys.stdin)))' "$@"
}
